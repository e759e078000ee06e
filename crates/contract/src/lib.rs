//! What every implementation of a port must do, as tests with the names of promises.
//!
//! An engine's tests say once how a fixture is made, and what must live as long as its stores; [`promises!`] turns
//! each promise into a test:
//!
//! ```text
//! async fn fixture() -> (lodge_contract::Fixture, Guard) { … }
//! lodge_contract::promises!(fixture);
//! ```
//!
//! Names are made up anew by every test, so that tests may share a store.

#![expect(clippy::unwrap_used, reason = "a suite of tests")]
#![expect(clippy::panic, reason = "a suite of tests")]
#![expect(clippy::missing_panics_doc, reason = "a failed assertion is what a test is for")]

pub mod accounts;
pub mod attempts;
pub mod board;
pub mod board_hooks;
pub mod board_people;
pub mod board_pictures;
pub mod changes;
pub mod claims;
pub mod click_limits;
pub mod clicks;
mod fixture;
pub mod gates;
pub mod identities;
pub mod keys;
pub mod lists;
pub mod passes;
pub mod pictures;
pub mod replacements;
pub mod ride_searches;
pub mod rides;
pub mod samples;
pub mod sessions;
mod watched;

pub use self::fixture::{AccountsFixture, BoardFixture, Fixture, PassesFixture, RidesFixture};
pub use self::watched::Watched;

/// Makes a test of each promise; `$make` is an async function that makes a [`Fixture`] and its guard.
#[macro_export]
macro_rules! promises {
    ($make:path) => {
        $crate::tests! { $make;
            claims::a_claimed_link_is_found_with_all_its_parts,
            claims::a_hundred_claims_of_one_short_create_it_once,
            claims::a_taken_short_is_answered_with_its_holder,
            claims::spares_are_tried_in_their_order,
            claims::a_batch_is_answered_in_its_order,
            claims::a_short_is_reserved_until_its_link_is_forgotten,
            claims::a_forgotten_link_goes_with_its_clicks,
            claims::parts_of_a_millisecond_are_not_kept,
            replacements::the_newest_put_wins_in_any_order,
            replacements::a_replaced_row_keeps_its_identity,
            replacements::a_put_says_whether_it_was_already_so,
            replacements::concurrent_puts_end_at_the_newest,
            changes::a_change_is_stored,
            changes::a_change_of_an_older_version_is_refused,
            changes::no_concurrent_change_is_lost,
            changes::a_change_keeps_the_clicks_used,
            changes::a_deleted_link_is_still_found,
            attempts::a_repeated_claim_is_answered_as_the_first,
            attempts::a_repeated_replacement_and_change_are_answered_as_the_first,
            attempts::concurrent_repetitions_write_once,
            attempts::a_key_with_another_request_is_refused,
            attempts::a_refused_change_is_not_kept,
            attempts::an_outcome_is_kept_for_a_day,
            click_limits::a_hundred_takers_get_exactly_as_many_clicks_as_there_are,
            click_limits::no_click_is_given_after_the_end,
            click_limits::the_last_click_is_dated,
            lists::a_list_is_paged_newest_first_while_links_are_added,
            lists::a_list_is_the_owners_alone,
            lists::a_list_can_be_narrowed,
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
    };
}

/// The same of the promises of API keys, which are among those of [`promises!`] too; `$make` makes an
/// `Arc<dyn KeyStore>`.
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

/// The same of the accounts' promises; `$make` makes an [`AccountsFixture`].
#[macro_export]
macro_rules! accounts_promises {
    ($make:path) => {
        $crate::tests! { $make;
            accounts::an_account_is_found_by_its_name_and_its_number,
            accounts::two_hundred_accounts_of_one_name_are_made_once,
            accounts::a_repeated_sign_up_is_answered_as_the_first,
            accounts::concurrent_repetitions_of_a_sign_up_make_one_account,
            accounts::a_change_changes_what_it_names,
            accounts::a_picture_is_set_where_it_is_known_which_one_goes,
            accounts::a_change_is_made_where_the_role_is_the_one_it_rests_on,
            accounts::pictures_that_are_somebodys_are_known,
            accounts::a_deleted_account_leaves_its_name_alone,
            accounts::what_happened_to_an_account_is_kept,
            accounts::many_accounts_are_made_together,
            accounts::accounts_are_listed_by_name,
            sessions::a_session_is_found_by_its_token_until_it_expires,
            sessions::the_sessions_of_an_account_are_listed,
            sessions::one_session_is_ended,
            sessions::a_session_that_has_ended_changes_nothing,
            sessions::all_sessions_end_with_a_change,
            sessions::no_session_begins_on_what_was_true_before,
            sessions::whatever_ends_sessions_is_told,
            sessions::what_many_sign_ins_follow_is_told,
            sessions::an_account_has_a_hundred_sessions_at_most,
            sessions::a_place_of_another_feed_begins_anew,
            identities::an_account_is_made_with_a_ticket_once,
            identities::of_many_who_redeem_one_ticket_one_makes_an_account,
            identities::a_ticket_is_of_no_use_past_its_time,
            identities::the_latest_ticket_of_an_identity_counts,
            identities::an_identity_opens_one_account,
            identities::nobody_links_whose_session_has_ended,
            identities::unlinking_ends_the_other_sessions,
            identities::the_only_way_in_stays,
            identities::a_deleted_account_leaves_its_identities_to_others,
            identities::what_a_session_began_by_is_noted,
            identities::a_recovered_account_is_opened_by_no_provider,
            identities::an_identity_is_compared_to_the_letter,
            identities::linking_and_redeeming_at_once_leave_an_identity_with_one_account,
            identities::a_sign_in_that_began_before_an_unlink_begins_nothing_after_it,
            identities::of_two_ways_that_go_at_once_one_stays,
        }
    };
}

/// The same of the promises of what keeps pictures; `$make` makes an `Arc<dyn PictureStore>`.
#[macro_export]
macro_rules! pictures_promises {
    ($make:path) => {
        $crate::tests! { $make;
            pictures::a_picture_is_kept_in_its_sizes,
            pictures::a_removed_picture_is_gone,
            pictures::old_pictures_are_found,
        }
    };
}

/// The same for a [`RidesFixture`].
#[macro_export]
macro_rules! rides_promises {
    ($make:path) => {
        $crate::passes_promises!($make);
        $crate::tests! { $make;
            rides::an_event_is_stored_once,
            rides::a_repetition_is_known_though_the_lift_has_changed,
            rides::ids_of_one_gate_are_none_of_anothers,
            rides::a_key_of_a_batch_is_for_one_body,
            rides::a_void_takes_a_ride_back_once,
            rides::concurrent_repetitions_count_once,
            rides::the_sums_are_those_of_the_rides,
            rides::the_leaders_are_right_when_many_fall,
            rides::late_events_count_on_their_own_day,
            rides::a_day_on_the_mountain_is_told_at_once,
            rides::the_ledger_counts_every_event,
            rides::a_season_that_was_added_is_kept_at_its_resort,
            ride_searches::a_search_finds_what_the_rides_say,
            ride_searches::a_season_is_exported_whole_in_pages,
            ride_searches::events_are_found_by_their_day_and_by_their_id,
            rides::a_rebuild_finds_nothing_to_put_right,
            passes::a_hidden_skier_is_on_no_leaderboard_and_others_move_up,
            passes::a_leaderboard_is_full_though_many_are_hidden,
        }
    };
}

/// The same of the promises of gates and passes that need no rides, which are among those of [`rides_promises!`]
/// too; `$make` makes a [`PassesFixture`].
#[macro_export]
macro_rules! passes_promises {
    ($make:path) => {
        $crate::tests! { $make;
            gates::a_gate_is_found_by_its_token,
            gates::a_gates_name_is_given_once,
            gates::a_revoked_gate_stays_revoked,
            gates::a_renewed_gate_is_found_by_its_new_token_alone,
            passes::a_pass_belongs_to_who_claimed_it_last,
            passes::an_account_has_ten_passes_at_most,
            passes::an_account_gives_up_all_of_its_passes,
            passes::all_who_have_passes_are_told,
            passes::a_renewed_code_is_void,
        }
    };
}

/// Makes a test of each of the board's promises.
#[macro_export]
macro_rules! board_promises {
    ($make:path) => {
        $crate::tests! { $make;
            board::events_are_numbered_without_a_gap_in_each_channel,
            board::a_message_is_stored_once,
            board::concurrent_repetitions_are_one_message,
            board::a_cursor_goes_through_everything_once,
            board::an_edit_is_an_event_and_keeps_what_was,
            board::a_message_is_edited_so_often_and_no_more,
            board::a_hidden_message_is_read_by_nobody,
            board::a_deleted_message_is_gone_for_everybody,
            board::everybody_has_one_sign_of_a_kind_under_a_message,
            board::an_answer_names_a_message_of_its_channel,
            board::a_search_finds_what_has_all_the_words,
            board_people::who_is_banned_changes_nothing,
            board_people::slow_mode_holds_members_back,
            board_people::nobody_waits_in_slow_mode_for_the_clock_of_another,
            board_people::what_is_unread_is_counted,
            board_people::what_was_read_a_moment_ago_is_not_unread,
            board_people::a_bot_is_told_that_it_is_named,
            board_people::people_are_called_as_they_are_called_now,
            board::a_channel_of_a_name_is_one_channel,
            board::a_message_is_reported_until_it_is_settled,
            board::who_wrote_something_can_take_it_away,
            board_pictures::what_would_come_of_a_message_is_what_comes_of_it,
            board_pictures::a_picture_is_its_messages_until_that_is_deleted,
            board_pictures::a_message_of_a_picture_alone_is_another_than_one_with_words,
            board_pictures::pictures_of_who_has_left_go_and_others_stay,
            board_hooks::a_hook_is_kept_until_it_is_removed,
            board_hooks::how_it_goes_with_a_hook_is_kept,
            board_hooks::a_disabled_hook_stays_disabled,
            board_hooks::a_hook_that_is_gone_is_not_noted,
            board_hooks::there_are_so_many_hooks_at_most,
        }
    };
}

/// Makes a test of each of these promises.
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
