//! Writes that come with an Idempotency-Key.

use std::sync::Arc;

use lodge_domain::{
    Done, Error,
    links::{Claim, Outcome},
    once::KEPT_SECONDS,
};

use crate::{
    Fixture,
    samples::{RESERVED, attempt, change, changed, chosen, create, found, fresh, link, target},
};

/// Even if the link has changed since.
pub async fn a_repeated_claim_is_answered_as_the_first(fixture: &Fixture) {
    let key = fresh("key");
    let wanted = link(&fresh("once"));
    assert_eq!(fixture.links.recall(&attempt(&key, "body", 0)).await.unwrap(), None);
    let first = fixture
        .links
        .claim(vec![chosen(wanted.clone())], RESERVED, Some(attempt(&key, "body", 0)))
        .await
        .unwrap();
    assert_eq!(first, Done::now(vec![Claim::Created(wanted.clone())]));
    let now =
        change(&*fixture.links, &wanted, |link| link.target = target("https://other.example/"))
            .await;

    // A repetition brings another candidate: ids and made-up shorts are new each time.
    let other = link(&fresh("twice"));
    let again = fixture
        .links
        .claim(vec![chosen(other.clone())], RESERVED, Some(attempt(&key, "body", 5)))
        .await
        .unwrap();
    assert_eq!(again, Done { outcome: first.outcome.clone(), replayed: true });
    assert_eq!(fixture.links.find(&other.short).await.unwrap(), None);
    assert_eq!(found(&*fixture.links, &wanted.short).await, now);
    assert_eq!(
        fixture.links.recall(&attempt(&key, "body", 6)).await.unwrap(),
        Some(Outcome::Claims(first.outcome))
    );

    let refused = fresh("key");
    for replayed in [false, true] {
        let claim = fixture
            .links
            .claim(vec![chosen(link(&wanted.short))], RESERVED, Some(attempt(&refused, "", 0)))
            .await
            .unwrap();
        assert_eq!(claim, Done { outcome: vec![Claim::Exists(now.clone())], replayed });
    }
}

/// So are the other writes.
pub async fn a_repeated_replacement_and_change_are_answered_as_the_first(fixture: &Fixture) {
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
    let first = fixture
        .links
        .change(next.clone(), Some(attempt(&key, "change", 0)))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(first, Done::now(next.clone()));
    change(&*fixture.links, &next, |link| link.key_version = 3).await;
    let again = fixture
        .links
        .change(next.clone(), Some(attempt(&key, "change", 0)))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(again, Done { outcome: next.clone(), replayed: true });
    assert_eq!(found(&*fixture.links, &put.short).await.key_version, 3);
    assert_eq!(
        fixture.links.recall(&attempt(&key, "change", 0)).await.unwrap(),
        Some(Outcome::Changed(next))
    );
}

/// Those that come while the first runs wait for it.
pub async fn concurrent_repetitions_write_once(fixture: &Fixture) {
    let key = fresh("key");
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (store, attempt) = (Arc::clone(&fixture.links), attempt(&key, "same", 0));
            let wanted = link(&fresh("many"));
            let short = wanted.short.clone();
            tokio::spawn(async move {
                (short, store.claim(vec![chosen(wanted)], RESERVED, Some(attempt)).await.unwrap())
            })
        })
        .collect();
    let mut outcomes = Vec::new();
    let mut written = 0;
    for task in tasks {
        let (short, done) = task.await.unwrap();
        written += usize::from(fixture.links.find(&short).await.unwrap().is_some());
        outcomes.push(done);
    }
    assert_eq!(outcomes.iter().filter(|done| !done.replayed).count(), 1);
    assert!(outcomes.iter().all(|done| done.outcome == outcomes[0].outcome));
    assert_eq!(written, 1);
}

/// And nothing of the other request is stored.
pub async fn a_key_with_another_request_is_refused(fixture: &Fixture) {
    let key = fresh("key");
    let first = link(&fresh("first"));
    fixture
        .links
        .claim(vec![chosen(first.clone())], RESERVED, Some(attempt(&key, "one", 0)))
        .await
        .unwrap();
    let other = link(&fresh("other"));
    let reused = || Some(attempt(&key, "two", 0));
    let claimed = fixture.links.claim(vec![chosen(other.clone())], RESERVED, reused()).await;
    assert!(matches!(claimed, Err(Error::KeyReused)));
    assert!(matches!(fixture.links.replace(other.clone(), reused()).await, Err(Error::KeyReused)));
    assert!(matches!(
        fixture.links.change(changed(&first, |_| ()), reused()).await,
        Err(Error::KeyReused)
    ));
    assert!(matches!(fixture.links.recall(&attempt(&key, "two", 0)).await, Err(Error::KeyReused)));
    // The same text to another kind of write is another request, too.
    let same_body = fixture.links.replace(other.clone(), Some(attempt(&key, "one", 0))).await;
    assert!(matches!(same_body, Err(Error::KeyReused)));
    assert_eq!(fixture.links.find(&other.short).await.unwrap(), None);
    assert_eq!(found(&*fixture.links, &first.short).await, first);
}

/// So that a retry after a refusal may still succeed.
pub async fn a_refused_change_is_not_kept(fixture: &Fixture) {
    let key = fresh("key");
    let first = create(&*fixture.links, link(&fresh("retry"))).await;
    let second = change(&*fixture.links, &first, |_| ()).await;
    let attempt = attempt(&key, "change", 0);
    assert_eq!(
        fixture.links.change(changed(&first, |_| ()), Some(attempt.clone())).await.unwrap(),
        None
    );
    assert_eq!(fixture.links.recall(&attempt).await.unwrap(), None);
    let third = changed(&second, |_| ());
    assert_eq!(
        fixture.links.change(third.clone(), Some(attempt)).await.unwrap(),
        Some(Done::now(third))
    );
}

/// After that the key is free again.
pub async fn an_outcome_is_kept_for_a_day(fixture: &Fixture) {
    let key = fresh("key");
    let claim = async |body: &str, seconds| {
        let candidate = chosen(link(&fresh("day")));
        fixture.links.claim(vec![candidate], RESERVED, Some(attempt(&key, body, seconds))).await
    };
    assert!(!claim("one", 0).await.unwrap().replayed);
    assert!(claim("one", KEPT_SECONDS - 1).await.unwrap().replayed);
    assert_eq!(fixture.links.recall(&attempt(&key, "two", KEPT_SECONDS)).await.unwrap(), None);
    assert!(!claim("two", KEPT_SECONDS).await.unwrap().replayed);
    assert!(claim("two", KEPT_SECONDS + 1).await.unwrap().replayed);
}
