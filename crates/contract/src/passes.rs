//! Passes. Skier numbers are outside those of the other tests, whose skiers must not be hidden.

use std::{iter, ops::Range};

use futures_util::future::join_all;
use lodge_domain::{
    accounts::{AccountId, PictureId},
    rides::{
        Day, GateId, HIDDEN_MAX, LEADERS_MAX, LeaderProfile, LiftId, Minute, PASSES_MAX, Pass,
        PassClaim, PassHolder, PassStore, ResortDay, ResortId, Ride, RideEvent, RideEventContent,
        RideEventId, Season, SkierId, Span,
    },
};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    RidesFixture,
    samples::{all_pages, at},
};

fn fresh_account() -> AccountId {
    AccountId(rand::random_range(1..i64::MAX))
}

fn fresh_skiers(count: u32) -> Range<u32> {
    let first = rand::random_range(1_000_000..4_000_000_000);
    first..first + count
}

fn fresh_skier() -> SkierId {
    SkierId(fresh_skiers(1).start)
}

/// A later claim with the code takes the pass over.
pub async fn a_pass_belongs_to_the_account_that_claimed_it_last(
    fixture: &impl AsRef<dyn PassStore>,
) {
    let (skier, other) = (fresh_skier(), fresh_skier());
    let (anna, bert, passes) = (fresh_account(), fresh_account(), fixture.as_ref());
    assert_eq!(passes.of_account(anna).await.unwrap(), []);
    let first = Pass { skier, account: anna, hidden: false, claimed_at: at(1) };
    assert_eq!(passes.claim(skier, anna, 0, at(1)).await.unwrap(), PassClaim::New(first));
    passes.claim(other, bert, 0, at(1)).await.unwrap();
    let hidden = Pass { hidden: true, ..first };
    assert_eq!(passes.hide(skier, anna, true).await.unwrap(), Some(hidden));
    assert_eq!(passes.claim(skier, anna, 0, at(2)).await.unwrap(), PassClaim::Already(hidden));
    assert_eq!(passes.of_account(anna).await.unwrap(), [hidden]);

    let second = Pass { skier, account: bert, hidden: true, claimed_at: at(3) };
    assert_eq!(passes.claim(skier, bert, 0, at(3)).await.unwrap(), PassClaim::New(second));
    assert_eq!(passes.of_account(anna).await.unwrap(), []);
    assert_eq!(passes.of_account(bert).await.unwrap().len(), 2);
    assert_eq!(passes.hide(skier, anna, false).await.unwrap(), None);
    assert!(!passes.release(skier, anna).await.unwrap());
    assert!(passes.of_account(bert).await.unwrap().contains(&second));

    assert!(passes.release(skier, bert).await.unwrap());
    assert!(!passes.release(skier, bert).await.unwrap());
    assert_eq!(passes.hide(skier, bert, true).await.unwrap(), None);
    assert_eq!(passes.of_account(bert).await.unwrap().len(), 1);
    let third = Pass { claimed_at: at(4), ..first };
    let claimed = passes.claim(skier, anna, 0, at(4)).await.unwrap();
    assert_eq!(claimed, PassClaim::New(third), "a released pass is shown again");
}

/// Other accounts' passes stay, and hidden skiers stay hidden.
pub async fn an_account_releases_all_of_its_passes(fixture: &impl AsRef<dyn PassStore>) {
    let (anna, bert, passes) = (fresh_account(), fresh_account(), fixture.as_ref());
    let (shown, hidden, other) = (fresh_skier(), fresh_skier(), fresh_skier());
    for (skier, account) in [(shown, anna), (hidden, anna), (other, bert)] {
        passes.claim(skier, account, 0, at(1)).await.unwrap();
    }
    passes.hide(hidden, anna, true).await.unwrap();
    for _ in 0..2 {
        passes.release_all(anna).await.unwrap();
        assert_eq!(passes.of_account(anna).await.unwrap(), []);
        assert_eq!(passes.of_account(bert).await.unwrap().len(), 1);
    }
    for (skier, is_hidden) in [(shown, false), (hidden, true)] {
        let pass = Pass { skier, account: bert, hidden: is_hidden, claimed_at: at(2) };
        assert_eq!(passes.claim(skier, bert, 0, at(2)).await.unwrap(), PassClaim::New(pass));
    }
}

/// Each account with a pass or a profile once, by number, in pages.
pub async fn all_accounts_with_passes_are_listed(fixture: &impl AsRef<dyn PassStore>) {
    let passes = fixture.as_ref();
    let mut accounts: Vec<_> = (0..5).map(|_| fresh_account()).collect();
    accounts.sort_unstable();
    for (account, skier) in accounts.iter().cycle().zip(fresh_skiers(10)) {
        passes.claim(SkierId(skier), *account, 0, at(1)).await.unwrap();
    }
    passes.release_all(accounts[1]).await.unwrap();
    // An account with a profile alone, and one with both.
    for pass in passes.of_account(accounts[3]).await.unwrap() {
        passes.release(pass.skier, accounts[3]).await.unwrap();
    }
    for account in [accounts[3], accounts[4]] {
        passes.show_profile(profile_of(account)).await.unwrap();
    }
    let left = [accounts[0], accounts[2], accounts[3], accounts[4]];
    let page = async |last| passes.holders(last, 2).await.unwrap();
    let mut told = all_pages(2, page, |account| *account).await;
    assert!(told.is_sorted_by(|one, next| one < next), "{told:?}");
    told.retain(|account| accounts.contains(account));
    assert_eq!(told, left);
}

fn profile_of(account: AccountId) -> LeaderProfile {
    LeaderProfile {
        account,
        username: "anna".to_owned(),
        nickname: "Änna 🎿".to_owned(),
        picture: Some(PictureId::stored([7; 32])),
        since: at(1),
    }
}

/// From permission to withdrawal or deletion; the number of a hidden pass has no profile.
pub async fn a_profile_is_shown_while_its_account_allows_it(fixture: &impl AsRef<dyn PassStore>) {
    let (anna, bert, passes) = (fresh_account(), fresh_account(), fixture.as_ref());
    let skiers: Vec<_> = fresh_skiers(4).map(SkierId).collect();
    for (skier, account) in [(skiers[0], anna), (skiers[1], anna), (skiers[2], bert)] {
        passes.claim(skier, account, 0, at(1)).await.unwrap();
    }
    passes.hide(skiers[1], anna, true).await.unwrap();
    let held = |account, profile| PassHolder { account, profile };
    let found = async |profile: Option<&LeaderProfile>| {
        let expected = [
            (skiers[0], held(anna, profile.cloned())),
            (skiers[1], held(anna, None)),
            (skiers[2], held(bert, None)),
        ];
        assert_eq!(passes.holders_of(skiers.clone()).await.unwrap(), expected);
        assert_eq!(passes.profile(anna).await.unwrap().as_ref(), profile);
    };
    let first = profile_of(anna);
    passes.update_profile(first.clone()).await.unwrap();
    found(None).await;
    passes.show_profile(first.clone()).await.unwrap();
    found(Some(&first)).await;
    let renamed = LeaderProfile { nickname: "A".to_owned(), picture: None, ..first.clone() };
    passes.update_profile(renamed.clone()).await.unwrap();
    found(Some(&renamed)).await;
    passes.show_profile(LeaderProfile { since: at(9), ..renamed.clone() }).await.unwrap();
    found(Some(&renamed)).await;
    for _ in 0..2 {
        passes.hide_profile(anna).await.unwrap();
        found(None).await;
    }
    passes.show_profile(first.clone()).await.unwrap();
    passes.release_all(anna).await.unwrap();
    assert_eq!(passes.profile(anna).await.unwrap(), None, "deleted with the account");
    passes.claim(skiers[0], anna, 0, at(2)).await.unwrap();
    let holders = passes.holders_of(skiers[..1].to_vec()).await.unwrap();
    assert_eq!(holders, [(skiers[0], held(anna, None))]);
}

/// Renewal invalidates the codes of the given skiers, claimed or not.
pub async fn a_renewal_invalidates_the_old_code(fixture: &impl AsRef<dyn PassStore>) {
    let (anna, bert, passes) = (fresh_account(), fresh_account(), fixture.as_ref());
    let skiers: Vec<_> = fresh_skiers(3).map(SkierId).collect();
    passes.claim(skiers[0], anna, 0, at(1)).await.unwrap();
    passes.renew(skiers[0]..=skiers[1]).await.unwrap();
    passes.renew(skiers[1]..=skiers[1]).await.unwrap();
    let renewals = passes.renewals(skiers[0]..=skiers[2]).await.unwrap();
    assert_eq!(renewals, [(skiers[0], 1), (skiers[1], 2)]);
    assert_eq!(passes.of_account(anna).await.unwrap().len(), 1, "the claimed pass stays");
    let claim = async |skier, renewals| passes.claim(skier, bert, renewals, at(2)).await.unwrap();
    for (skier, renewals) in [(0, 0), (0, 2), (1, 0), (1, 1), (2, 1)] {
        assert_eq!(claim(skiers[skier], renewals).await, PassClaim::Renewed);
    }
    for (skier, renewals) in [(0, 1), (1, 2), (2, 0)] {
        assert!(matches!(claim(skiers[skier], renewals).await, PassClaim::New(_)));
    }
    assert!(passes.release(skiers[0], bert).await.unwrap());
    assert_eq!(claim(skiers[0], 0).await, PassClaim::Renewed, "also when no account has the pass");
}

/// Also with concurrent claims.
pub async fn an_account_has_ten_passes_at_most(fixture: &impl AsRef<dyn PassStore>) {
    let (account, passes) = (fresh_account(), fixture.as_ref());
    let claim = async |skier| passes.claim(SkierId(skier), account, 0, at(1)).await.unwrap();
    let claims = join_all(fresh_skiers(20).map(claim)).await;
    let new = claims.iter().filter(|claimed| matches!(claimed, PassClaim::New(_))).count();
    let refused = claims.iter().filter(|claimed| **claimed == PassClaim::TooMany).count();
    assert_eq!((new, refused), (PASSES_MAX, 20 - PASSES_MAX));
    let has = passes.of_account(account).await.unwrap();
    assert_eq!(has.len(), PASSES_MAX);
    assert!(has.is_sorted_by_key(|pass| pass.skier));
    let again = passes.claim(has[0].skier, account, 0, at(2)).await.unwrap();
    assert_eq!(again, PassClaim::Already(has[0]));
    passes.release(has[0].skier, account).await.unwrap();
    let next = passes.claim(fresh_skier(), account, 0, at(3)).await.unwrap();
    assert!(matches!(next, PassClaim::New(_)));
}

/// A day on which only these skiers ride, once each, each one farther up than the one before.
async fn day_of(fixture: &RidesFixture, skiers: Range<u32>) -> (ResortDay, Vec<RideEvent>) {
    let season = Season(rand::random_range(1..=9_999));
    let on = ResortDay { season, resort: ResortId(7), day: Day(1) };
    let events = skiers.enumerate().map(|(place, skier)| {
        let vertical = 10 + u32::try_from(place).unwrap();
        let (skier, minute, lift) = (SkierId(skier), Minute(1), LiftId(1));
        let what = RideEventContent::Ride(Ride { on, skier, minute, lift, vertical });
        RideEvent {
            gate: GateId::ANONYMOUS,
            id: RideEventId::Uuid(Uuid::now_v7()),
            what,
            at: at(1),
        }
    });
    let events: Vec<_> = events.collect();
    for events in events.chunks(500) {
        fixture.log.record(events.to_vec()).await.unwrap();
    }
    (on, events)
}

async fn leaders(fixture: &RidesFixture, span: Span, limit: usize) -> Vec<u32> {
    let leaders = fixture.tallies.leaders(span, limit).await.unwrap();
    leaders.into_iter().map(|leader| leader.skier.0).collect()
}

/// On the leaderboards of the day and of the season, while they are hidden.
pub async fn a_hidden_skier_is_on_no_leaderboard_and_others_move_up(fixture: &RidesFixture) {
    let skiers = fresh_skiers(5);
    let (on, _) = day_of(fixture, skiers.clone()).await;
    let at_place = |place| skiers.end - place;
    let skier = |place| SkierId(at_place(place));
    let (anna, bert, passes) = (fresh_account(), fresh_account(), &fixture.passes);
    let first = async |places: &[u32]| {
        let expected: Vec<_> = places.iter().map(|place| at_place(*place)).collect();
        for span in [Span::from(on), Span { day: None, ..on.into() }] {
            assert_eq!(leaders(fixture, span, 3).await, expected, "{span:?}");
        }
    };
    for place in [1, 3, 5] {
        passes.claim(skier(place), anna, 0, at(1)).await.unwrap();
    }
    first(&[1, 2, 3]).await;
    passes.hide(skier(1), anna, true).await.unwrap();
    first(&[2, 3, 4]).await;
    passes.hide(skier(3), anna, true).await.unwrap();
    first(&[2, 4, 5]).await;
    passes.hide(skier(5), anna, true).await.unwrap();
    first(&[2, 4]).await;
    passes.hide(skier(1), anna, false).await.unwrap();
    first(&[1, 2, 4]).await;
    passes.claim(skier(3), bert, 0, at(2)).await.unwrap();
    first(&[1, 2, 4]).await;
    passes.hide(skier(2), anna, true).await.unwrap();
    first(&[1, 2, 4]).await;
    passes.hide(skier(3), bert, false).await.unwrap();
    first(&[1, 2, 3]).await;
    passes.hide(skier(3), bert, true).await.unwrap();
    passes.release_all(bert).await.unwrap();
    first(&[1, 2, 4]).await;
    passes.claim(skier(3), anna, 0, at(3)).await.unwrap();
    passes.release(skier(3), anna).await.unwrap();
    first(&[1, 2, 3]).await;
}

/// With the most hidden skiers, after the rides of many leaders were voided.
pub async fn a_leaderboard_is_full_with_many_hidden_skiers(fixture: &RidesFixture) {
    let skiers = fresh_skiers(3_000);
    let (on, events) = day_of(fixture, skiers.clone()).await;
    let (fallen, hidden) = (850, HIDDEN_MAX);
    let voids = events.iter().rev().take(fallen).map(|event| RideEvent {
        id: RideEventId::Uuid(Uuid::now_v7()),
        what: RideEventContent::Void(event.id.clone()),
        ..event.clone()
    });
    fixture.log.record(voids.collect()).await.unwrap();
    let left: Vec<_> = skiers.rev().skip(fallen).collect();
    let mut hides = JoinSet::new();
    let accounts = iter::repeat_with(fresh_account);
    for (skiers, account) in left[..hidden].chunks(PASSES_MAX).zip(accounts) {
        let (passes, skiers) = (fixture.passes.clone(), skiers.to_vec());
        hides.spawn(async move {
            for skier in skiers.into_iter().map(SkierId) {
                passes.claim(skier, account, 0, at(1)).await.unwrap();
                passes.hide(skier, account, true).await.unwrap();
            }
        });
    }
    hides.join_all().await;
    let expected = &left[hidden..hidden + LEADERS_MAX];
    for span in [Span::from(on), Span { day: None, ..on.into() }] {
        assert_eq!(leaders(fixture, span, LEADERS_MAX).await, expected);
    }
}
