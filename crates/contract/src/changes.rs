//! Changes and deletions of links.

use std::sync::Arc;

use lodge_domain::links::{ClickLimit, Link, RedirectCode, Tags, TakenClick};

use crate::{
    Fixture,
    samples::{at, at_once, change, changed, create, found, fresh, fresh_owner, link, target},
};

/// Every field can change.
pub async fn a_change_is_stored(fixture: &Fixture) {
    let owned = Link { owner: Some(fresh_owner()), ..link(&fresh("change")) };
    let old = create(&*fixture.links, owned).await;
    let new = change(&*fixture.links, &old, |link| {
        link.target = target("https://other.example/");
        link.redirect = RedirectCode::Found;
        link.expires_at = Some(at(1_000));
        link.key_version = 2;
        link.tags = Tags::parse(["new"]).unwrap();
    })
    .await;
    assert_eq!(
        (new.version, new.key_version, new.target.as_str()),
        (2, 2, "https://other.example/")
    );
    assert_eq!(found(&*fixture.links, &old.short).await, new);
    let back = change(&*fixture.links, &new, |link| link.expires_at = None).await;
    assert_eq!(found(&*fixture.links, &old.short).await, back);
    assert_eq!((back.version, back.expires_at), (3, None));
}

/// A concurrent change is not overwritten.
pub async fn a_change_of_an_older_version_is_refused(fixture: &Fixture) {
    let old = create(&*fixture.links, link(&fresh("stale"))).await;
    let new = change(&*fixture.links, &old, |link| link.key_version = 2).await;
    let stale = changed(&old, |link| link.target = target("https://stale.example/"));
    assert_eq!(fixture.links.change(stale.clone(), None).await.unwrap(), None);
    let too_new = changed(&changed(&new, |_| ()), |_| ());
    assert_eq!(fixture.links.change(too_new, None).await.unwrap(), None);
    let of_another = Link { id: link(&old.short).id, ..changed(&new, |_| ()) };
    assert_eq!(fixture.links.change(of_another, None).await.unwrap(), None);
    let absent = changed(&link(&fresh("absent")), |_| ());
    assert_eq!(fixture.links.change(absent, None).await.unwrap(), None);
    assert_eq!(found(&*fixture.links, &old.short).await, new);
}

/// Each change that was not refused is part of the final version.
pub async fn no_concurrent_change_is_lost(fixture: &Fixture) {
    let first = create(&*fixture.links, link(&fresh("counted"))).await;
    at_once(16, |_| {
        let (store, short) = (Arc::clone(&fixture.links), first.short.clone());
        async move {
            loop {
                let next = changed(&found(&*store, &short).await, |link| link.key_version += 1);
                if store.change(next, None).await.unwrap().is_some() {
                    return;
                }
            }
        }
    })
    .await;
    let last = found(&*fixture.links, &first.short).await;
    assert_eq!((last.version, last.key_version), (17, 17));
}

/// A change that was read before a click does not undo the click.
pub async fn a_change_keeps_the_clicks_used(fixture: &Fixture) {
    let store = &*fixture.links;
    let limited = Link { click_limit: ClickLimit::new(2).ok(), ..link(&fresh("limited")) };
    let limited = create(store, limited).await;
    let take_click =
        async |seconds| store.take_click(&limited.short, limited.id, at(seconds)).await.unwrap();
    assert_eq!(take_click(1).await, TakenClick::Yes);
    let same = change(store, &limited, |link| link.target = target("https://other.example/")).await;
    assert_eq!(same.click_limit, Some(ClickLimit { max: 2, used: 1, exhausted_at: None }));
    assert_eq!([take_click(2).await, take_click(3).await], [TakenClick::Yes, TakenClick::No]);
    let more = change(store, &same, |link| link.click_limit = ClickLimit::new(3).ok()).await;
    assert_eq!(more.click_limit, Some(ClickLimit { max: 3, used: 2, exhausted_at: None }));
    assert_eq!(found(store, &limited.short).await, more);
    assert_eq!([take_click(4).await, take_click(4).await], [TakenClick::Yes, TakenClick::No]);
    let unlimited = change(store, &more, |link| link.click_limit = None).await;
    assert_eq!(found(store, &limited.short).await, unlimited);
    let limited_again =
        change(store, &unlimited, |link| link.click_limit = ClickLimit::new(1).ok()).await;
    assert_eq!(found(store, &limited.short).await, limited_again);
}

/// A deleted link can be told from an unknown one.
pub async fn a_deleted_link_is_still_found(fixture: &Fixture) {
    let live = create(&*fixture.links, link(&fresh("gone"))).await;
    let deleted = change(&*fixture.links, &live, |link| link.deleted_at = Some(at(9))).await;
    assert_eq!(found(&*fixture.links, &live.short).await, deleted);
    assert_eq!(deleted.deleted_at, Some(at(9)));
}
