//! Writes with an Idempotency-Key.

use std::sync::Arc;

use lodge_domain::{
    Attempt, Done, Error, Result,
    links::{Claim, Link, Outcome},
    once::KEPT_SECONDS,
};

use crate::{
    Fixture,
    samples::{
        RESERVED, at_once, attempt, change, changed, chosen, create, found, fresh, link, target,
    },
};

/// Claims a link's short under an idempotency key.
async fn claim(fixture: &Fixture, link: Link, attempt: Attempt) -> Result<Done<Vec<Claim>>> {
    fixture.links.claim(vec![chosen(link)], RESERVED, Some(attempt)).await
}

/// The first outcome is returned even if the link has changed since.
pub async fn a_repeated_claim_returns_the_first_outcome(fixture: &Fixture) {
    let key = fresh("key");
    let wanted = link(&fresh("once"));
    assert_eq!(fixture.links.recall(&attempt(&key, "body", 0)).await.unwrap(), None);
    let first = claim(fixture, wanted.clone(), attempt(&key, "body", 0)).await.unwrap();
    assert_eq!(first, Done::now(vec![Claim::Created(wanted.clone())]));
    let elsewhere = target("https://other.example/");
    let now = change(&*fixture.links, &wanted, |link| link.target = elsewhere).await;

    // A repetition brings another candidate: ids and generated shorts are new each time.
    let other = link(&fresh("twice"));
    let again = claim(fixture, other.clone(), attempt(&key, "body", 5)).await.unwrap();
    assert_eq!(again, Done { outcome: first.outcome.clone(), replayed: true });
    assert_eq!(fixture.links.find(&other.short).await.unwrap(), None);
    assert_eq!(found(&*fixture.links, &wanted.short).await, now);
    assert_eq!(
        fixture.links.recall(&attempt(&key, "body", 6)).await.unwrap(),
        Some(Outcome::Claims(first.outcome))
    );

    let refused = fresh("key");
    for replayed in [false, true] {
        let claimed = claim(fixture, link(&wanted.short), attempt(&refused, "", 0)).await.unwrap();
        assert_eq!(claimed, Done { outcome: vec![Claim::Exists(now.clone())], replayed });
    }
}

/// The same holds for the other writes.
pub async fn a_repeated_replacement_and_change_return_the_first_outcome(fixture: &Fixture) {
    let key = fresh("key");
    let put = link(&fresh("put"));
    let first = fixture.links.replace(put.clone(), Some(attempt(&key, "put", 0))).await.unwrap();
    assert!(!first.replayed);
    let again =
        fixture.links.replace(link(&put.short), Some(attempt(&key, "put", 1))).await.unwrap();
    assert_eq!(again, Done { outcome: first.outcome.clone(), replayed: true });
    assert_eq!(
        fixture.links.recall(&attempt(&key, "put", 1)).await.unwrap(),
        Some(Outcome::Replaced(first.outcome.clone()))
    );

    let key = fresh("key");
    let next = changed(&first.outcome.link, |link| link.key_version = 2);
    let store = async || fixture.links.change(next.clone(), Some(attempt(&key, "change", 0))).await;
    assert_eq!(store().await.unwrap(), Some(Done::now(next.clone())));
    change(&*fixture.links, &next, |link| link.key_version = 3).await;
    let again = Done { outcome: next.clone(), replayed: true };
    assert_eq!(store().await.unwrap(), Some(again));
    assert_eq!(found(&*fixture.links, &put.short).await.key_version, 3);
    assert_eq!(
        fixture.links.recall(&attempt(&key, "change", 0)).await.unwrap(),
        Some(Outcome::Changed(next))
    );
}

/// Requests that arrive while the first one runs wait for its outcome.
pub async fn concurrent_repetitions_write_once(fixture: &Fixture) {
    let key = fresh("key");
    let claims = at_once(20, |_| {
        let (store, attempt) = (Arc::clone(&fixture.links), attempt(&key, "same", 0));
        let wanted = link(&fresh("many"));
        let short = wanted.short.clone();
        async move { (short, store.claim(vec![chosen(wanted)], RESERVED, Some(attempt)).await.unwrap()) }
    });
    let (mut outcomes, mut written) = (Vec::new(), 0);
    for (short, done) in claims.await {
        written += usize::from(fixture.links.find(&short).await.unwrap().is_some());
        outcomes.push(done);
    }
    assert_eq!(outcomes.iter().filter(|done| !done.replayed).count(), 1);
    assert!(outcomes.iter().all(|done| done.outcome == outcomes[0].outcome));
    assert_eq!(written, 1);
}

/// Nothing of the second request is stored.
pub async fn a_key_with_another_request_is_refused(fixture: &Fixture) {
    let key = fresh("key");
    let first = link(&fresh("first"));
    claim(fixture, first.clone(), attempt(&key, "one", 0)).await.unwrap();
    let other = link(&fresh("other"));
    let reused = attempt(&key, "two", 0);
    let claimed = claim(fixture, other.clone(), reused.clone()).await;
    assert!(matches!(claimed, Err(Error::KeyReused)));
    let replaced = fixture.links.replace(other.clone(), Some(reused.clone())).await;
    assert!(matches!(replaced, Err(Error::KeyReused)));
    let change = fixture.links.change(changed(&first, |_| ()), Some(reused.clone())).await;
    assert!(matches!(change, Err(Error::KeyReused)));
    assert!(matches!(fixture.links.recall(&reused).await, Err(Error::KeyReused)));
    // The same body for another kind of write is another request, too.
    let same_body = fixture.links.replace(other.clone(), Some(attempt(&key, "one", 0))).await;
    assert!(matches!(same_body, Err(Error::KeyReused)));
    assert_eq!(fixture.links.find(&other.short).await.unwrap(), None);
    assert_eq!(found(&*fixture.links, &first.short).await, first);
}

/// A retry after a refusal may still succeed.
pub async fn a_refused_change_stores_no_outcome(fixture: &Fixture) {
    let key = fresh("key");
    let first = create(&*fixture.links, link(&fresh("retry"))).await;
    let second = change(&*fixture.links, &first, |_| ()).await;
    let attempt = attempt(&key, "change", 0);
    let refused = fixture.links.change(changed(&first, |_| ()), Some(attempt.clone())).await;
    assert_eq!(refused.unwrap(), None);
    assert_eq!(fixture.links.recall(&attempt).await.unwrap(), None);
    let third = changed(&second, |_| ());
    let stored = fixture.links.change(third.clone(), Some(attempt)).await.unwrap();
    assert_eq!(stored, Some(Done::now(third)));
}

/// After a day the key can be used again.
pub async fn an_outcome_is_kept_for_a_day(fixture: &Fixture) {
    let key = fresh("key");
    let is_replayed = async |body: &str, seconds| {
        claim(fixture, link(&fresh("day")), attempt(&key, body, seconds)).await.unwrap().replayed
    };
    assert!(!is_replayed("one", 0).await);
    assert!(is_replayed("one", KEPT_SECONDS - 1).await);
    assert_eq!(fixture.links.recall(&attempt(&key, "two", KEPT_SECONDS)).await.unwrap(), None);
    assert!(!is_replayed("two", KEPT_SECONDS).await);
    assert!(is_replayed("two", KEPT_SECONDS + 1).await);
}
