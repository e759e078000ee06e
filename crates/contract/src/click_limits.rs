//! Links with a click limit.

use std::sync::Arc;

use lodge_domain::links::{ClickLimit, Link, Short, TakenClick};

use crate::{
    Fixture,
    samples::{at, at_once, change, create, found, fresh, link},
};

/// A link that may be followed at most `max` times.
fn limited(name: &str, max: u64) -> Link {
    Link { click_limit: ClickLimit::new(max).ok(), ..link(&fresh(name)) }
}

/// Never more, and without a fault never fewer.
pub async fn a_hundred_concurrent_clicks_use_exactly_the_limit(fixture: &Fixture) {
    for max in [1, 37] {
        let limited = create(&*fixture.links, limited("few", max)).await;
        let taken = at_once(100, |_| {
            let (store, short, id) =
                (Arc::clone(&fixture.links), limited.short.clone(), limited.id);
            async move { store.take_click(&short, id, at(5)).await.unwrap() }
        });
        let taken = taken.await.into_iter().filter(|taken| *taken == TakenClick::Yes).count();
        assert_eq!(taken as u64, max);
        let limit = found(&*fixture.links, &limited.short).await.click_limit;
        assert_eq!(limit, Some(ClickLimit { max, used: max, exhausted_at: Some(at(5)) }));
    }
}

/// Nor for a link with the wrong id, nor for one without a limit.
pub async fn no_click_is_taken_after_the_link_has_ended(fixture: &Fixture) {
    let store = &*fixture.links;
    let is_taken = async |short: &Short, id, seconds| {
        store.take_click(short, id, at(seconds)).await.unwrap() == TakenClick::Yes
    };
    let expiring = Link { expires_at: Some(at(10)), ..limited("expiring", 9) };
    let expiring = create(store, expiring).await;
    assert!(is_taken(&expiring.short, expiring.id, 9).await);
    assert!(!is_taken(&expiring.short, expiring.id, 10).await);

    let deleted = create(store, limited("deleted", 9)).await;
    assert!(!is_taken(&deleted.short, link(&deleted.short).id, 1).await);
    change(store, &deleted, |link| link.deleted_at = Some(at(2))).await;
    assert!(!is_taken(&deleted.short, deleted.id, 3).await);

    let unlimited = create(store, link(&fresh("unlimited"))).await;
    assert!(!is_taken(&unlimited.short, unlimited.id, 1).await);
    assert!(!is_taken(&fresh("absent"), unlimited.id, 1).await);
    assert_eq!(found(store, &unlimited.short).await, unlimited);
}

/// Its short is reserved from that time on.
pub async fn the_time_of_the_last_click_is_stored(fixture: &Fixture) {
    let limited = create(&*fixture.links, limited("dated", 2)).await;
    for (seconds, exhausted_at) in [(3, None), (4, Some(at(4)))] {
        fixture.links.take_click(&limited.short, limited.id, at(seconds)).await.unwrap();
        let limit = found(&*fixture.links, &limited.short).await.click_limit.unwrap();
        assert_eq!(limit.exhausted_at, exhausted_at);
    }
}
