//! Page sessions of API keys.

use lodge_domain::{
    key_sessions::{KeySession, KeySessionStore},
    keys::KeyId,
    secret::token_digest,
};

use crate::samples::{at, fresh};

/// Begins a session that lasts an hour.
async fn begun(sessions: &dyn KeySessionStore, key: i64) -> KeySession {
    let digest = token_digest(fresh("session").as_str());
    let session = KeySession { digest, key: KeyId(key), began_at: at(0), expires_at: at(3600) };
    sessions.begin(session).await.unwrap();
    session
}

/// The token identifies its key until it expires.
pub async fn a_session_of_a_key_is_found_until_it_expires(
    fixture: &impl AsRef<dyn KeySessionStore>,
) {
    let sessions = fixture.as_ref();
    let (one, other) = (begun(sessions, 3).await, begun(sessions, i64::MAX).await);
    for now in [at(0), at(3599)] {
        assert_eq!(sessions.find(one.digest, now).await.unwrap(), Some(one.key));
        assert_eq!(sessions.find(other.digest, now).await.unwrap(), Some(other.key));
    }
    assert_eq!(sessions.find(one.digest, at(3600)).await.unwrap(), None);
    assert_eq!(sessions.find(token_digest("another"), at(1)).await.unwrap(), None);
    // Expired sessions may be removed when another begins; this one has not expired.
    begun(sessions, 3).await;
    assert_eq!(sessions.find(one.digest, at(1)).await.unwrap(), Some(one.key));
}

/// Also of two sessions of one key, and however often it is ended.
pub async fn a_session_of_a_key_ends_alone_and_for_good(fixture: &impl AsRef<dyn KeySessionStore>) {
    let sessions = fixture.as_ref();
    let (ended, stays) = (begun(sessions, 3).await, begun(sessions, 3).await);
    for _ in 0..2 {
        sessions.end(ended.digest).await.unwrap();
        assert_eq!(sessions.find(ended.digest, at(1)).await.unwrap(), None);
        assert_eq!(sessions.find(stays.digest, at(1)).await.unwrap(), Some(stays.key));
    }
    sessions.end(token_digest(fresh("absent").as_str())).await.unwrap();
}
