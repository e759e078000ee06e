//! API keys.

use lodge_domain::{Error, keys::KeyId, secret::token_digest};

use crate::{
    Fixture,
    samples::{at, fresh},
};

/// Both ways lead to the same key.
pub async fn a_key_is_found_by_its_digest_and_its_number(fixture: &Fixture) {
    let name = fresh("key").to_string();
    let digest = token_digest(&name);
    assert_eq!(fixture.keys.find(digest).await.unwrap(), None);
    let key = fixture.keys.add(&name, digest, at(1)).await.unwrap();
    assert_eq!((key.name.as_str(), key.created_at, key.revoked_at), (name.as_str(), at(1), None));
    assert_eq!(fixture.keys.find(digest).await.unwrap(), Some(key.clone()));
    assert_eq!(fixture.keys.get(key.id).await.unwrap(), Some(key.clone()));
    assert_eq!(fixture.keys.find(token_digest("another")).await.unwrap(), None);
    assert_eq!(fixture.keys.get(KeyId(i64::MAX)).await.unwrap(), None);

    let next_name = fresh("key").to_string();
    let next = fixture.keys.add(&next_name, token_digest(&next_name), at(2)).await.unwrap();
    assert_ne!(next.id, key.id);
    let listed = fixture.keys.list().await.unwrap();
    let place = |id| listed.iter().position(|key| key.id == id).unwrap();
    assert!(place(key.id) < place(next.id));
}

/// To the first who asks.
pub async fn a_name_is_given_once(fixture: &Fixture) {
    let name = fresh("key").to_string();
    let key = fixture.keys.add(&name, token_digest("a"), at(1)).await.unwrap();
    let again = fixture.keys.add(&name, token_digest("b"), at(2)).await;
    assert!(matches!(again, Err(Error::Conflict(_))));
    assert_eq!(fixture.keys.get(key.id).await.unwrap(), Some(key));
    assert_eq!(fixture.keys.find(token_digest("b")).await.unwrap(), None);
}

/// Seen at once, and never undone.
pub async fn a_revoked_key_stays_revoked(fixture: &Fixture) {
    let name = fresh("key").to_string();
    let digest = token_digest(&name);
    let key = fixture.keys.add(&name, digest, at(1)).await.unwrap();
    assert_eq!(fixture.keys.find(digest).await.unwrap(), Some(key.clone()));
    let revoked = fixture.keys.revoke(&name, at(5)).await.unwrap().unwrap();
    assert_eq!((revoked.id, revoked.revoked_at), (key.id, Some(at(5))));
    for _ in 0..2 {
        assert_eq!(fixture.keys.find(digest).await.unwrap(), Some(revoked.clone()));
        assert_eq!(fixture.keys.get(key.id).await.unwrap(), Some(revoked.clone()));
        assert_eq!(fixture.keys.revoke(&name, at(9)).await.unwrap(), Some(revoked.clone()));
    }
    assert_eq!(fixture.keys.revoke(fresh("absent").as_str(), at(9)).await.unwrap(), None);
    let again = fixture.keys.add(&name, token_digest("anew"), at(10)).await;
    assert!(matches!(again, Err(Error::Conflict(_))));
}
