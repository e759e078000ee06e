//! The contract of every port, as tests that are named after its promises.
//!
//! An engine's tests define how to make a fixture, and a guard that must outlive its stores; [`promises!`] turns each
//! promise into a test:
//!
//! ```text
//! async fn fixture() -> (lodge_contract::Fixture, Guard) { … }
//! lodge_contract::promises!(fixture);
//! ```
//!
//! Every test makes up fresh names, so that tests may share a store.

#![expect(clippy::unwrap_used, reason = "a suite of tests")]
#![expect(clippy::panic, reason = "a suite of tests")]
#![expect(clippy::missing_panics_doc, reason = "a failed assertion is what a test is for")]

pub mod accounts;
pub mod board;
pub mod board_hooks;
pub mod board_people;
pub mod board_pictures;
pub mod changes;
pub mod claims;
pub mod click_limits;
pub mod clicks;
pub mod failures;
mod fixture;
pub mod gates;
pub mod idempotency;
pub mod identities;
pub mod key_sessions;
pub mod keys;
pub mod lists;
pub mod passes;
pub mod pictures;
pub mod replacements;
pub mod ride_searches;
pub mod rides;
pub mod samples;
pub mod security_events;
pub mod sessions;
mod spy_store;

pub use self::fixture::{AccountsFixture, BoardFixture, Fixture, PassesFixture, RidesFixture};
pub use self::spy_store::SpyLinkStore;

/// Makes a test of each promise of links; `$make` is an async function that returns a [`Fixture`] and its guard.
#[macro_export]
macro_rules! promises {
    ($make:path) => {
        $crate::tests! { $make;
            claims::a_claimed_link_is_found_with_all_its_fields,
            claims::a_hundred_claims_of_one_short_create_it_once,
            claims::a_claim_of_a_taken_short_returns_its_link,
            claims::spare_shorts_are_tried_in_order,
            claims::a_batch_is_answered_in_order,
            claims::a_short_stays_reserved_after_its_link_ends,
            claims::a_reused_short_starts_without_clicks,
            claims::times_are_stored_in_whole_milliseconds,
            replacements::the_newest_put_wins_in_any_order,
            replacements::a_replaced_row_keeps_its_identity,
            replacements::a_put_reports_whether_it_changed_anything,
            replacements::concurrent_puts_end_at_the_newest,
            changes::a_change_is_stored,
            changes::a_change_of_an_older_version_is_refused,
            changes::no_concurrent_change_is_lost,
            changes::a_change_keeps_the_clicks_used,
            changes::a_deleted_link_is_still_found,
            idempotency::a_repeated_claim_returns_the_first_outcome,
            idempotency::a_repeated_replacement_and_change_return_the_first_outcome,
            idempotency::concurrent_repetitions_write_once,
            idempotency::a_key_with_another_request_is_refused,
            idempotency::a_refused_change_stores_no_outcome,
            idempotency::an_outcome_is_kept_for_a_day,
            click_limits::a_hundred_concurrent_clicks_use_exactly_the_limit,
            click_limits::no_click_is_taken_after_the_link_has_ended,
            click_limits::the_time_of_the_last_click_is_stored,
            lists::a_list_is_paged_newest_first_while_links_are_added,
            lists::a_list_contains_only_links_of_its_owner,
            lists::a_list_can_be_filtered,
            lists::a_list_follows_changes,
            lists::a_search_takes_its_words_literally,
            lists::an_export_pages_through_every_link,
            clicks::a_batch_counts_once,
            clicks::batches_of_two_processes_add_up,
            clicks::a_large_batch_counts_whole,
            clicks::a_report_groups_clicks,
            clicks::totals_come_in_order_and_without_bots,
        }
        $crate::keys_promises!($make);
        $crate::key_sessions_promises!($make);
    };
}

/// Makes a test of each promise of page sessions of API keys, which [`promises!`] includes; `$make` makes an
/// `Arc<dyn KeySessionStore>`.
#[macro_export]
macro_rules! key_sessions_promises {
    ($make:path) => {
        $crate::tests! { $make;
            key_sessions::a_session_of_a_key_is_found_until_it_expires,
            key_sessions::a_session_of_a_key_ends_alone_and_for_good,
        }
    };
}

/// Makes a test of each promise of counters of wrong passwords; `$make` makes an `Arc<dyn Failures>`.
#[macro_export]
macro_rules! failures_promises {
    ($make:path) => {
        $crate::tests! { $make;
            failures::ten_failures_from_an_address_block_it_for_a_quarter_of_an_hour,
            failures::a_hundred_failures_block_a_name_for_all_addresses,
            failures::thirty_failures_block_the_48_of_an_ipv6_site_and_no_other,
            failures::a_reverted_failure_allows_only_one_more,
            failures::a_success_resets_its_own_address_and_no_other,
            failures::of_fifty_concurrent_guesses_ten_are_counted,
        }
    };
}

/// Makes a test of each promise of API keys, which [`promises!`] includes; `$make` makes an `Arc<dyn KeyStore>`.
#[macro_export]
macro_rules! keys_promises {
    ($make:path) => {
        $crate::tests! { $make;
            keys::a_key_is_found_by_its_digest_and_its_number,
            keys::a_name_is_given_once,
            keys::a_revoked_key_stays_revoked,
        }
    };
}

/// Makes a test of each promise of accounts; `$make` makes an [`AccountsFixture`].
#[macro_export]
macro_rules! accounts_promises {
    ($make:path) => {
        $crate::tests! { $make;
            accounts::an_account_is_found_by_its_name_and_its_number,
            accounts::of_two_hundred_sign_ups_with_one_name_one_succeeds,
            accounts::a_look_alike_of_a_username_is_taken,
            accounts::a_repeated_sign_up_returns_the_first_outcome,
            accounts::concurrent_repetitions_of_a_sign_up_make_one_account,
            accounts::a_change_leaves_other_fields_alone,
            accounts::a_picture_is_replaced_only_if_it_is_the_expected_one,
            accounts::a_change_is_made_only_if_the_role_is_the_expected_one,
            accounts::a_change_by_staff_is_made_only_while_they_have_their_role,
            accounts::of_admins_who_demote_each_other_one_stays,
            accounts::pictures_of_accounts_are_reported,
            accounts::the_name_of_a_deleted_account_stays_taken,
            accounts::the_events_of_an_account_are_stored,
            accounts::many_accounts_are_created_together,
            accounts::accounts_are_listed_by_name,
            security_events::security_events_are_listed_newest_first_by_filter,
            security_events::a_repeated_event_is_one_row_with_the_highest_count,
            sessions::a_session_is_found_by_its_token_until_it_expires,
            sessions::the_sessions_of_an_account_are_listed,
            sessions::accounts_with_sessions_are_listed,
            sessions::one_session_is_ended,
            sessions::a_session_goes_on_with_another_token,
            sessions::a_session_that_has_ended_changes_nothing,
            sessions::the_expiry_of_a_session_is_only_put_off,
            sessions::a_change_can_end_all_sessions,
            sessions::no_session_begins_on_outdated_credentials,
            sessions::every_end_of_a_session_is_in_the_feed,
            sessions::a_change_before_many_sign_ins_is_in_the_feed,
            sessions::an_account_has_a_hundred_sessions_at_most,
            sessions::a_position_of_another_feed_starts_anew,
            identities::a_ticket_creates_one_account,
            identities::concurrent_uses_of_a_ticket_create_one_account,
            identities::an_expired_sign_up_ticket_is_refused,
            identities::only_the_latest_ticket_of_an_identity_is_valid,
            identities::an_identity_belongs_to_one_account,
            identities::an_ended_session_links_no_identity,
            identities::unlinking_ends_the_other_sessions,
            identities::the_last_way_to_sign_in_cannot_be_unlinked,
            identities::the_identities_of_a_deleted_account_are_free,
            identities::a_sign_in_by_a_provider_is_recorded,
            identities::recovering_an_account_unlinks_its_identities,
            identities::identities_are_compared_exactly,
            identities::concurrent_linking_and_sign_up_leave_an_identity_with_one_account,
            identities::an_identity_linked_during_a_recovery_opens_nothing,
            identities::a_sign_in_from_before_an_unlink_begins_no_session,
            identities::two_concurrent_unlinks_leave_one_way_to_sign_in,
        }
    };
}

/// Makes a test of each promise of a picture store; `$make` makes an `Arc<dyn PictureStore>`.
#[macro_export]
macro_rules! pictures_promises {
    ($make:path) => {
        $crate::tests! { $make;
            pictures::a_picture_is_stored_in_its_sizes,
            pictures::a_removed_picture_is_gone,
            pictures::old_pictures_are_found,
            pictures::of_several_processes_one_sweeps,
        }
    };
}

/// Makes a test of each promise of rides; `$make` makes a [`RidesFixture`].
#[macro_export]
macro_rules! rides_promises {
    ($make:path) => {
        $crate::passes_promises!($make);
        $crate::tests! { $make;
            rides::an_event_is_stored_once,
            rides::a_repetition_is_a_duplicate_after_the_lift_has_changed,
            rides::event_ids_are_scoped_to_a_gate,
            rides::a_batch_key_is_for_one_body,
            rides::a_ride_is_voided_once,
            rides::concurrent_repetitions_count_once,
            rides::totals_match_the_stored_rides,
            rides::the_leaderboard_is_right_after_many_voids,
            rides::late_events_count_on_their_own_day,
            rides::a_day_at_all_resorts_is_one_query,
            rides::the_ledger_counts_every_event,
            rides::an_added_season_belongs_to_its_resort,
            ride_searches::a_search_matches_the_stored_rides,
            ride_searches::a_season_is_exported_whole_in_pages,
            ride_searches::events_are_found_by_their_day_and_by_their_id,
            rides::a_rebuild_finds_no_wrong_totals,
            passes::a_hidden_skier_is_on_no_leaderboard_and_others_move_up,
            passes::a_leaderboard_is_full_with_many_hidden_skiers,
        }
    };
}

/// Makes a test of the promise of stores without an admin; `$make` makes an [`AccountsFixture`] on an empty database.
#[macro_export]
macro_rules! first_admin_promises {
    ($make:path) => {
        $crate::tests! { $make; accounts::of_many_at_once_one_becomes_the_first_admin, }
    };
}

/// Makes a test of each promise of gates and passes without rides, which [`rides_promises!`] includes; `$make` makes
/// a [`PassesFixture`].
#[macro_export]
macro_rules! passes_promises {
    ($make:path) => {
        $crate::tests! { $make;
            gates::a_gate_is_found_by_its_token,
            gates::a_gates_name_is_given_once,
            gates::a_revoked_gate_stays_revoked,
            gates::a_renewed_gate_is_found_by_its_new_token_alone,
            passes::a_pass_belongs_to_the_account_that_claimed_it_last,
            passes::an_account_has_ten_passes_at_most,
            passes::an_account_releases_all_of_its_passes,
            passes::all_accounts_with_passes_are_listed,
            passes::a_profile_is_shown_while_its_account_allows_it,
            passes::a_renewal_invalidates_the_old_code,
        }
    };
}

/// Makes a test of each promise of the board; `$make` makes a [`BoardFixture`].
#[macro_export]
macro_rules! board_promises {
    ($make:path) => {
        $crate::tests! { $make;
            board::events_are_numbered_without_a_gap_in_each_channel,
            board::a_message_is_stored_once,
            board::concurrent_repetitions_are_one_message,
            board::a_cursor_passes_every_event_once,
            board::an_edit_is_an_event_and_keeps_the_earlier_text,
            board::the_edits_of_a_message_are_limited,
            board::a_hidden_message_is_read_only_by_staff,
            board::a_deleted_message_is_gone_for_all_readers,
            board::a_member_has_one_reaction_of_a_kind_on_a_message,
            board::a_reply_refers_to_a_message_of_its_channel,
            board::a_search_finds_messages_with_all_words,
            board::messages_are_read_around_a_message,
            board_people::a_banned_member_changes_nothing,
            board_people::slow_mode_holds_members_back,
            board_people::slow_mode_ignores_the_clocks_of_other_members,
            board_people::unread_messages_are_counted,
            board_people::a_pending_read_position_counts_at_once,
            board_people::mentions_of_a_bot_are_counted,
            board_people::only_names_of_members_are_mentions,
            board_people::members_are_found_by_the_beginning_of_their_name,
            board_people::messages_show_the_current_profile_of_their_author,
            board::a_channel_name_is_unique,
            board::a_message_is_reported_until_it_is_settled,
            board::an_export_has_all_messages_of_its_author,
            board_pictures::a_dry_run_returns_what_a_post_would,
            board_pictures::a_picture_belongs_to_its_message_until_deletion,
            board_pictures::a_picture_alone_and_a_picture_with_text_are_two_messages,
            board_pictures::a_deletion_detaches_only_pictures_of_that_account,
            board_hooks::a_hook_is_kept_until_it_is_removed,
            board_hooks::the_status_of_a_hook_is_stored,
            board_hooks::a_disabled_hook_stays_disabled,
            board_hooks::a_removed_hook_is_not_updated,
            board_hooks::the_number_of_hooks_is_limited,
        }
    };
}

/// Makes a test of each listed promise.
#[doc(hidden)]
#[macro_export]
macro_rules! tests {
    ($make:path; $($module:ident::$promise:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let (fixture, _guard) = $make().await;
                $crate::$module::$promise(&fixture).await;
                drop(fixture);
            }
        )+
    };
}
