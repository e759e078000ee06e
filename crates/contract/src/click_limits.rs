//! Links that may be followed a number of times.

use std::sync::Arc;

use lodge_domain::links::{ClickLimit, Link, TakenClick};

use crate::{
    Fixture,
    samples::{at, change, create, found, fresh, link},
};

/// Never more, and without a fault never fewer.
pub async fn a_hundred_takers_get_exactly_as_many_clicks_as_there_are(fixture: &Fixture) {
    for max in [1, 37] {
        let limited = create(
            &*fixture.links,
            Link { click_limit: ClickLimit::new(max).ok(), ..link(&fresh("few")) },
        )
        .await;
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let (store, short, id) =
                    (Arc::clone(&fixture.links), limited.short.clone(), limited.id);
                tokio::spawn(async move { store.take_click(&short, id, at(5)).await.unwrap() })
            })
            .collect();
        let mut taken = 0;
        for task in tasks {
            taken += u64::from(task.await.unwrap() == TakenClick::Yes);
        }
        assert_eq!(taken, max);
        let limit = found(&*fixture.links, &limited.short).await.click_limit;
        assert_eq!(limit, Some(ClickLimit { max, used: max, exhausted_at: Some(at(5)) }));
    }
}

/// Nor for a link that has another's short, nor for one without a limit.
pub async fn no_click_is_given_after_the_end(fixture: &Fixture) {
    let store = &*fixture.links;
    let limited = |name| Link { click_limit: ClickLimit::new(9).ok(), ..link(&fresh(name)) };
    let expiring = create(store, Link { expires_at: Some(at(10)), ..limited("expiring") }).await;
    assert_eq!(
        store.take_click(&expiring.short, expiring.id, at(9)).await.unwrap(),
        TakenClick::Yes
    );
    assert_eq!(
        store.take_click(&expiring.short, expiring.id, at(10)).await.unwrap(),
        TakenClick::No
    );

    let deleted = create(store, limited("deleted")).await;
    assert_eq!(
        store.take_click(&deleted.short, link(&deleted.short).id, at(1)).await.unwrap(),
        TakenClick::No
    );
    change(store, &deleted, |link| link.deleted_at = Some(at(2))).await;
    assert_eq!(store.take_click(&deleted.short, deleted.id, at(3)).await.unwrap(), TakenClick::No);

    let unlimited = create(store, link(&fresh("unlimited"))).await;
    assert_eq!(
        store.take_click(&unlimited.short, unlimited.id, at(1)).await.unwrap(),
        TakenClick::No
    );
    assert_eq!(
        store.take_click(&fresh("absent"), unlimited.id, at(1)).await.unwrap(),
        TakenClick::No
    );
    assert_eq!(found(store, &unlimited.short).await, unlimited);
}

/// From then on its short is reserved for a while.
pub async fn the_last_click_is_dated(fixture: &Fixture) {
    let limited = create(
        &*fixture.links,
        Link { click_limit: ClickLimit::new(2).ok(), ..link(&fresh("dated")) },
    )
    .await;
    for (seconds, exhausted_at) in [(3, None), (4, Some(at(4)))] {
        fixture.links.take_click(&limited.short, limited.id, at(seconds)).await.unwrap();
        let limit = found(&*fixture.links, &limited.short).await.click_limit.unwrap();
        assert_eq!(limit.exhausted_at, exhausted_at);
    }
}
