//! API keys.

use lodge_domain::{
    Error,
    keys::{KeyId, KeyStore},
    secret::token_digest,
};

use crate::samples::{at, fresh};

/// Lookups by digest and by number return the same key.
pub async fn a_key_is_found_by_its_digest_and_its_number(fixture: &impl AsRef<dyn KeyStore>) {
    let keys = fixture.as_ref();
    let name = fresh("key").to_string();
    let digest = token_digest(&name);
    assert_eq!(keys.find(digest).await.unwrap(), None);
    let key = keys.add(&name, digest, at(1)).await.unwrap();
    assert_eq!((key.name.as_str(), key.created_at, key.revoked_at), (name.as_str(), at(1), None));
    assert_eq!(keys.find(digest).await.unwrap(), Some(key.clone()));
    assert_eq!(keys.get(key.id).await.unwrap(), Some(key.clone()));
    assert_eq!(keys.find(token_digest("another")).await.unwrap(), None);
    assert_eq!(keys.get(KeyId(i64::MAX)).await.unwrap(), None);

    let next_name = fresh("key").to_string();
    let next = keys.add(&next_name, token_digest(&next_name), at(2)).await.unwrap();
    assert_ne!(next.id, key.id);
    let listed = keys.list().await.unwrap();
    let place = |id| listed.iter().position(|key| key.id == id).unwrap();
    assert!(place(key.id) < place(next.id));
}

/// A second key with the same name is refused.
pub async fn a_name_is_given_once(fixture: &impl AsRef<dyn KeyStore>) {
    let keys = fixture.as_ref();
    let name = fresh("key").to_string();
    let [one, two] = ["a", "b"].map(|which| token_digest(&format!("{name}{which}")));
    let key = keys.add(&name, one, at(1)).await.unwrap();
    let again = keys.add(&name, two, at(2)).await;
    assert!(matches!(again, Err(Error::Conflict(_))));
    assert_eq!(keys.get(key.id).await.unwrap(), Some(key));
    assert_eq!(keys.find(two).await.unwrap(), None);
}

/// The revocation takes effect at once and is final.
pub async fn a_revoked_key_stays_revoked(fixture: &impl AsRef<dyn KeyStore>) {
    let keys = fixture.as_ref();
    let name = fresh("key").to_string();
    let digest = token_digest(&name);
    let key = keys.add(&name, digest, at(1)).await.unwrap();
    assert_eq!(keys.find(digest).await.unwrap(), Some(key.clone()));
    let revoked = keys.revoke(&name, at(5)).await.unwrap().unwrap();
    assert_eq!((revoked.id, revoked.revoked_at), (key.id, Some(at(5))));
    for _ in 0..2 {
        assert_eq!(keys.find(digest).await.unwrap(), Some(revoked.clone()));
        assert_eq!(keys.get(key.id).await.unwrap(), Some(revoked.clone()));
        assert_eq!(keys.revoke(&name, at(9)).await.unwrap(), Some(revoked.clone()));
    }
    assert_eq!(keys.revoke(fresh("absent").as_str(), at(9)).await.unwrap(), None);
    let again = keys.add(&name, token_digest("anew"), at(10)).await;
    assert!(matches!(again, Err(Error::Conflict(_))));
}
