//! Writes with an Idempotency-Key.

use std::sync::Arc;

use lodge_domain::{
    Error, IdempotencyKey, Idempotent, Result,
    idempotency::OUTCOME_KEPT_SECONDS,
    links::{Claim, Link, StoredLinkOutcome},
};

use crate::{
    Fixture,
    samples::{
        RESERVED, at_once, change, changed, chosen, create, found, fresh, idempotency_key, link,
        target,
    },
};

/// Claims a link's short under an idempotency key.
async fn claim(
    fixture: &Fixture,
    link: Link,
    idempotency: IdempotencyKey,
) -> Result<Idempotent<Vec<Claim>>> {
    fixture.links.claim(vec![chosen(link)], RESERVED, Some(idempotency)).await
}

/// The first outcome is returned even if the link has changed since.
pub async fn a_repeated_claim_returns_the_first_outcome(fixture: &Fixture) {
    let key = fresh("key");
    let wanted = link(&fresh("once"));
    assert_eq!(
        fixture.links.stored_outcome(&idempotency_key(&key, "body", 0)).await.unwrap(),
        None
    );
    let first = claim(fixture, wanted.clone(), idempotency_key(&key, "body", 0)).await.unwrap();
    assert_eq!(first, Idempotent::fresh(vec![Claim::Created(wanted.clone())]));
    let elsewhere = target("https://other.example/");
    let now = change(&*fixture.links, &wanted, |link| link.target = elsewhere).await;

    // A repetition brings another candidate: ids and generated shorts are new each time.
    let other = link(&fresh("twice"));
    let again = claim(fixture, other.clone(), idempotency_key(&key, "body", 5)).await.unwrap();
    assert_eq!(again, Idempotent { outcome: first.outcome.clone(), replayed: true });
    assert_eq!(fixture.links.find(&other.short).await.unwrap(), None);
    assert_eq!(found(&*fixture.links, &wanted.short).await, now);
    assert_eq!(
        fixture.links.stored_outcome(&idempotency_key(&key, "body", 6)).await.unwrap(),
        Some(StoredLinkOutcome::Claims(first.outcome))
    );

    let refused = fresh("key");
    for replayed in [false, true] {
        let claimed =
            claim(fixture, link(&wanted.short), idempotency_key(&refused, "", 0)).await.unwrap();
        assert_eq!(claimed, Idempotent { outcome: vec![Claim::Exists(now.clone())], replayed });
    }
}

/// The same holds for the other writes.
pub async fn a_repeated_replacement_and_change_return_the_first_outcome(fixture: &Fixture) {
    let key = fresh("key");
    let put = link(&fresh("put"));
    let first =
        fixture.links.replace(put.clone(), Some(idempotency_key(&key, "put", 0))).await.unwrap();
    assert!(!first.replayed);
    let again = fixture
        .links
        .replace(link(&put.short), Some(idempotency_key(&key, "put", 1)))
        .await
        .unwrap();
    assert_eq!(again, Idempotent { outcome: first.outcome.clone(), replayed: true });
    assert_eq!(
        fixture.links.stored_outcome(&idempotency_key(&key, "put", 1)).await.unwrap(),
        Some(StoredLinkOutcome::Replaced(first.outcome.clone()))
    );

    let key = fresh("key");
    let next = changed(&first.outcome.link, |link| link.key_version = 2);
    let store =
        async || fixture.links.change(next.clone(), Some(idempotency_key(&key, "change", 0))).await;
    assert_eq!(store().await.unwrap(), Some(Idempotent::fresh(next.clone())));
    change(&*fixture.links, &next, |link| link.key_version = 3).await;
    let again = Idempotent { outcome: next.clone(), replayed: true };
    assert_eq!(store().await.unwrap(), Some(again));
    assert_eq!(found(&*fixture.links, &put.short).await.key_version, 3);
    assert_eq!(
        fixture.links.stored_outcome(&idempotency_key(&key, "change", 0)).await.unwrap(),
        Some(StoredLinkOutcome::Changed(next))
    );
}

/// Requests that arrive while the first one runs wait for its outcome.
pub async fn concurrent_repetitions_write_once(fixture: &Fixture) {
    let key = fresh("key");
    let claims = at_once(20, |_| {
        let (store, idempotency) = (Arc::clone(&fixture.links), idempotency_key(&key, "same", 0));
        let wanted = link(&fresh("many"));
        let short = wanted.short.clone();
        async move {
            (short, store.claim(vec![chosen(wanted)], RESERVED, Some(idempotency)).await.unwrap())
        }
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
    claim(fixture, first.clone(), idempotency_key(&key, "one", 0)).await.unwrap();
    let other = link(&fresh("other"));
    let reused = idempotency_key(&key, "two", 0);
    let claimed = claim(fixture, other.clone(), reused.clone()).await;
    assert!(matches!(claimed, Err(Error::KeyReused)));
    let replaced = fixture.links.replace(other.clone(), Some(reused.clone())).await;
    assert!(matches!(replaced, Err(Error::KeyReused)));
    let change = fixture.links.change(changed(&first, |_| ()), Some(reused.clone())).await;
    assert!(matches!(change, Err(Error::KeyReused)));
    assert!(matches!(fixture.links.stored_outcome(&reused).await, Err(Error::KeyReused)));
    // The same body for another kind of write is another request, too.
    let same_body =
        fixture.links.replace(other.clone(), Some(idempotency_key(&key, "one", 0))).await;
    assert!(matches!(same_body, Err(Error::KeyReused)));
    assert_eq!(fixture.links.find(&other.short).await.unwrap(), None);
    assert_eq!(found(&*fixture.links, &first.short).await, first);
}

/// A retry after a refusal may still succeed.
pub async fn a_refused_change_stores_no_outcome(fixture: &Fixture) {
    let key = fresh("key");
    let first = create(&*fixture.links, link(&fresh("retry"))).await;
    let second = change(&*fixture.links, &first, |_| ()).await;
    let idempotency = idempotency_key(&key, "change", 0);
    let refused = fixture.links.change(changed(&first, |_| ()), Some(idempotency.clone())).await;
    assert_eq!(refused.unwrap(), None);
    assert_eq!(fixture.links.stored_outcome(&idempotency).await.unwrap(), None);
    let third = changed(&second, |_| ());
    let stored = fixture.links.change(third.clone(), Some(idempotency)).await.unwrap();
    assert_eq!(stored, Some(Idempotent::fresh(third)));
}

/// After a day the key can be used again.
pub async fn an_outcome_is_kept_for_a_day(fixture: &Fixture) {
    let key = fresh("key");
    let is_replayed = async |body: &str, seconds| {
        claim(fixture, link(&fresh("day")), idempotency_key(&key, body, seconds))
            .await
            .unwrap()
            .replayed
    };
    assert!(!is_replayed("one", 0).await);
    assert!(is_replayed("one", OUTCOME_KEPT_SECONDS - 1).await);
    assert_eq!(
        fixture
            .links
            .stored_outcome(&idempotency_key(&key, "two", OUTCOME_KEPT_SECONDS))
            .await
            .unwrap(),
        None
    );
    assert!(!is_replayed("two", OUTCOME_KEPT_SECONDS).await);
    assert!(is_replayed("two", OUTCOME_KEPT_SECONDS + 1).await);
}
