//! Claiming shorts.

use std::sync::Arc;

use jiff::SignedDuration;
use lodge_domain::{
    links::{Candidate, Claim, ClickLimit, Grouping, Link, RedirectCode, Tags},
    passwords::PasswordHash,
};
use uuid::Uuid;

use crate::{
    Fixture,
    clicks::batch,
    samples::{
        BEGIN, RESERVED, at, at_once, change, chosen, claim, create, found, fresh, fresh_owner,
        link, target,
    },
};

/// Every field of a link is stored and returned.
pub async fn a_claimed_link_is_found_with_all_its_fields(fixture: &Fixture) {
    let short = fresh("All.of_it~1");
    assert_eq!(fixture.links.find(&short).await.unwrap(), None);
    let whole = Link {
        target: target("https://xn--bcher-kva.example/a%20b?c=d&e=%C3%BC#f"),
        redirect: RedirectCode::Permanent,
        key_version: 3,
        owner: Some(fresh_owner()),
        expires_at: Some(at(1_000_000)),
        click_limit: Some(ClickLimit { max: 1_000_000_000, used: 7, exhausted_at: None }),
        password: Some(PasswordHash("$argon2id$v=19$m=1,t=1,p=1$c2FsdA$aGFzaA".to_owned())),
        tags: Tags::parse(["ü \"quoted\"", "zwei", "a'b"]).unwrap(),
        ..link(&short)
    };
    assert_eq!(create(&*fixture.links, whole.clone()).await, whole);
    assert_eq!(found(&*fixture.links, &short).await, whole);

    let plain = link(&fresh("plain"));
    create(&*fixture.links, plain.clone()).await;
    assert_eq!(found(&*fixture.links, &plain.short).await, plain);
}

/// One claim wins; all others get the winner's link.
pub async fn a_hundred_claims_of_one_short_create_it_once(fixture: &Fixture) {
    let short = fresh("one");
    let claims = at_once(100, |number| {
        let store = Arc::clone(&fixture.links);
        let target = target(&format!("https://example.com/{number}"));
        let wanted = Link { target, ..link(&short) };
        async move { claim(&*store, wanted).await }
    });
    let (mut created, mut holders) = (Vec::new(), Vec::new());
    for claim in claims.await {
        match claim {
            Claim::Created(link) => created.push(link),
            Claim::Exists(link) => holders.push(link),
            Claim::Refused(_) => {}
        }
    }
    assert_eq!((created.len(), holders.len()), (1, 99));
    assert!(holders.iter().all(|holder| *holder == created[0]));
    assert_eq!(found(&*fixture.links, &short).await, created[0]);
}

/// A refused claim changes nothing.
pub async fn a_claim_of_a_taken_short_returns_its_link(fixture: &Fixture) {
    let holder = create(&*fixture.links, link(&fresh("taken"))).await;
    let other = Link { target: target("https://other.example/"), ..link(&holder.short) };
    assert_eq!(claim(&*fixture.links, other).await, Claim::Exists(holder.clone()));
    assert_eq!(found(&*fixture.links, &holder.short).await, holder);
}

/// The first free spare short is used.
pub async fn spare_shorts_are_tried_in_order(fixture: &Fixture) {
    let (first, second, third, fourth) = (fresh("a"), fresh("b"), fresh("c"), fresh("d"));
    let holder = create(&*fixture.links, link(&first)).await;
    create(&*fixture.links, link(&second)).await;
    let spares = vec![second.clone(), third.clone(), fourth.clone()];
    let wanting = Candidate { link: link(&first), spares };
    let claims =
        fixture.links.claim(vec![Ok(wanting.clone())], RESERVED, None).await.unwrap().outcome;
    assert_eq!(claims, [Claim::Created(Link { short: third.clone(), ..wanting.link.clone() })]);
    assert_eq!(found(&*fixture.links, &third).await.id, wanting.link.id);
    assert_eq!(fixture.links.find(&fourth).await.unwrap(), None);

    let without = Candidate { link: link(&first), spares: vec![second, third] };
    let claims = fixture.links.claim(vec![Ok(without)], RESERVED, None).await.unwrap().outcome;
    assert_eq!(claims, [Claim::Exists(holder)]);
}

/// Candidates succeed and fail independently, and outcomes are in the order of candidates.
pub async fn a_batch_is_answered_in_order(fixture: &Fixture) {
    let (free, taken, twice) = (fresh("free"), fresh("taken"), fresh("twice"));
    let holder = create(&*fixture.links, link(&taken)).await;
    let wanted = [link(&free), link(&taken), link(&twice), link(&twice)];
    let candidates = wanted.iter().cloned().map(chosen).collect();
    let claims = fixture.links.claim(candidates, RESERVED, None).await.unwrap().outcome;
    let [free, _, first, _] = wanted;
    let expected = [
        Claim::Created(free),
        Claim::Exists(holder),
        Claim::Created(first.clone()),
        Claim::Exists(first),
    ];
    assert_eq!(claims, expected);
    assert_eq!(fixture.links.claim(Vec::new(), RESERVED, None).await.unwrap().outcome, []);
}

/// A link that ended keeps its short for the time `reserved`, counted from its end.
pub async fn a_short_stays_reserved_after_its_link_ends(fixture: &Fixture) {
    let store = &*fixture.links;
    let deleted = create(store, link(&fresh("deleted"))).await;
    let deleted = change(store, &deleted, |link| link.deleted_at = Some(at(100))).await;
    let expired =
        create(store, Link { expires_at: Some(at(100)), ..link(&fresh("expired")) }).await;
    let limited = Link { click_limit: ClickLimit::new(1).ok(), ..link(&fresh("exhausted")) };
    let exhausted = create(store, limited).await;
    store.take_click(&exhausted.short, exhausted.id, at(100)).await.unwrap();
    let exhausted = found(store, &exhausted.short).await;

    let end = 100 + RESERVED.as_secs();
    for over in [deleted, expired, exhausted] {
        let claimed_at = |seconds| Link {
            created_at: at(seconds),
            changed_at: at(seconds),
            ..link(&over.short)
        };
        assert_eq!(claim(store, claimed_at(end - 1)).await, Claim::Exists(over.clone()));
        let anew = claimed_at(end);
        assert_eq!(claim(store, anew.clone()).await, Claim::Created(anew.clone()));
        assert_eq!(found(store, &over.short).await, anew);
        assert_ne!(anew.id, over.id);
    }
    let live = create(store, link(&fresh("live"))).await;
    let later = Link { created_at: at(10 * end), ..link(&live.short) };
    assert_eq!(claim(store, later).await, Claim::Exists(live));
}

/// A reused short starts without the clicks of the former link.
pub async fn a_reused_short_starts_without_clicks(fixture: &Fixture) {
    let expiring = Link { expires_at: Some(at(10)), ..link(&fresh("old")) };
    let old = create(&*fixture.links, expiring).await;
    fixture.clicks.add(batch(Uuid::now_v7(), 1, old.id, 5)).await.unwrap();
    assert_eq!(fixture.clicks.report(old.id, Grouping::Referrer, BEGIN).await.unwrap().total, 5);
    let later = at(11 + RESERVED.as_secs());
    let new = Link { created_at: later, changed_at: later, ..link(&old.short) };
    let new = create(&*fixture.links, new).await;
    for id in [old.id, new.id] {
        for by in [Grouping::Day, Grouping::Referrer] {
            let report = fixture.clicks.report(id, by, BEGIN).await.unwrap();
            assert_eq!((report.total, report.lines), (0, Vec::new()));
        }
    }
}

/// The answer equals what is stored.
pub async fn times_are_stored_in_whole_milliseconds(fixture: &Fixture) {
    let precise = at(60) + SignedDuration::from_nanos(1_234_567);
    let claimed = Link { expires_at: Some(precise), ..link(&fresh("precise")) };
    let claimed = create(&*fixture.links, claimed).await;
    assert_eq!(claimed.expires_at, Some(at(60) + SignedDuration::from_millis(1)));
    assert_eq!(found(&*fixture.links, &claimed.short).await, claimed);
}
