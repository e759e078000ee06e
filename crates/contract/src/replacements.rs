//! `PUT` in replace mode.

use std::sync::Arc;

use lodge_domain::links::Link;
use proptest::{
    prelude::{Just, Strategy},
    strategy::ValueTree,
    test_runner::TestRunner,
};

use crate::{
    Fixture,
    samples::{at, at_once, found, fresh, link, target},
};

/// For any order of arrival, the `PUT` with the newest time wins; of two with the same time, the one whose target
/// sorts last.
pub async fn the_newest_put_wins_in_any_order(fixture: &Fixture) {
    let put = (0..6_i64, 0..4_u8);
    let strategy = proptest::collection::vec(put, 1..12)
        .prop_flat_map(|puts| (Just(puts.clone()), Just(puts).prop_shuffle()));
    let mut runner = TestRunner::deterministic();
    // Each case is dozens of writes, on a cluster too.
    for _ in 0..runner.config().cases / 32 {
        let (puts, shuffled) = strategy.new_tree(&mut runner).unwrap().current();
        let newest = puts.iter().max().unwrap();
        for order in [puts.clone(), shuffled] {
            let short = fresh("put");
            let mut version = 0;
            for (seconds, path) in &order {
                let wanted = replacement(&link(&short), *seconds, *path);
                let is = fixture.links.replace(wanted.clone(), None).await.unwrap().outcome.link;
                let wins = is.target == wanted.target && is.changed_at == wanted.changed_at;
                assert!(
                    wins || (is.changed_at, is.target.as_str())
                        > (wanted.changed_at, wanted.target.as_str())
                );
                assert!(fixture.stores_later || is.version >= version);
                version = is.version;
                let seen = found(&*fixture.links, &short).await;
                assert_eq!((&seen.target, seen.changed_at), (&is.target, is.changed_at));
                assert!(fixture.stores_later || seen == is);
            }
            let is = found(&*fixture.links, &short).await;
            let expected = replacement(&is, newest.0, newest.1);
            assert_eq!(
                (is.target, is.changed_at),
                (expected.target, expected.changed_at),
                "{order:?}"
            );
        }
    }
}

/// The row stays the same link, and keeps counting its clicks.
pub async fn a_replaced_row_keeps_its_identity(fixture: &Fixture) {
    let first = replacement(&link(&fresh("same")), 0, 0);
    let kept = fixture.links.replace(first.clone(), None).await.unwrap();
    assert_eq!((kept.outcome.link, kept.replayed), (first.clone(), false));
    let second = Link { id: link(&first.short).id, created_at: at(5), ..replacement(&first, 5, 1) };
    let is = fixture.links.replace(second.clone(), None).await.unwrap().outcome.link;
    assert_eq!(is, Link { id: first.id, created_at: first.created_at, version: 2, ..second });
    let older = fixture.links.replace(replacement(&link(&first.short), 4, 3), None).await.unwrap();
    let older = older.outcome.link;
    assert_eq!(older, is);
    assert_eq!(found(&*fixture.links, &first.short).await, is);
}

/// A `PUT` that changes nothing reports so, and still counts as the newest.
pub async fn a_put_reports_whether_it_changed_anything(fixture: &Fixture) {
    let first = replacement(&link(&fresh("already")), 0, 0);
    let already = async |link| fixture.links.replace(link, None).await.unwrap().outcome.already;
    assert!(!already(first.clone()).await);
    assert!(already(replacement(&first, 2, 0)).await);
    assert!(!already(replacement(&first, 1, 1)).await, "an older one with another target");
    assert!(!already(replacement(&first, 3, 1)).await);
}

/// The order does not matter among concurrent `PUT`s either.
pub async fn concurrent_puts_end_at_the_newest(fixture: &Fixture) {
    let short = fresh("race");
    at_once(100, |number| {
        let store = Arc::clone(&fixture.links);
        let wanted = replacement(&link(&short), i64::try_from(number * 37 % 100).unwrap(), 0);
        async move { store.replace(wanted, None).await.unwrap() }
    })
    .await;
    assert_eq!(found(&*fixture.links, &short).await.changed_at, at(99));
}

fn replacement(link: &Link, seconds: i64, path: u8) -> Link {
    Link {
        target: target(&format!("https://example.com/{path}")),
        changed_at: at(seconds),
        created_at: at(seconds),
        ..link.clone()
    }
}
