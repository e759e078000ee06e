//! Page sessions of API keys, on a real data folder.

use std::sync::Arc;

use lodge_contract::samples::at;
use lodge_domain::{
    OsRandom,
    clock::ManualClock,
    key_sessions::KeySessions,
    keys::{ApiKey, Keys},
};
use lodge_local::CachedKeys;
use lodge_sqlite::Sqlite;
use tempfile::TempDir;

use crate::support::open;

struct Fixture {
    keys: Keys,
    sessions: KeySessions,
    clock: Arc<ManualClock>,
    _engine: (Sqlite, TempDir),
}

impl Fixture {
    fn new() -> Self {
        let (engine, folder) = open();
        let clock = Arc::new(ManualClock::at(at(0)));
        let store = Arc::new(CachedKeys::new(engine.keys()));
        let keys = Keys::new(store, Arc::clone(&clock) as _, Arc::new(OsRandom));
        let sessions = KeySessions::new(
            engine.key_sessions(),
            keys.clone(),
            Arc::clone(&clock) as _,
            Arc::new(OsRandom),
        );
        Self { keys, sessions, clock, _engine: (engine, folder) }
    }

    /// Creates a key. Returns it with the token of a session.
    async fn begun(&self, name: &str) -> (ApiKey, String) {
        let (key, _) = self.keys.create(name).await.unwrap();
        let token = self.sessions.begin(key.id).await.unwrap();
        (key, token)
    }
}

#[tokio::test]
async fn a_session_of_a_key_lasts_twelve_hours() {
    let it = Fixture::new();
    let (key, token) = it.begun("me").await;
    it.clock.advance_seconds(12 * 60 * 60 - 1);
    assert_eq!(it.sessions.find(&token).await.unwrap(), Some(key.clone()));
    it.clock.advance_seconds(1);
    assert_eq!(it.sessions.find(&token).await.unwrap(), None);
}

#[tokio::test]
async fn a_session_ends_with_its_key() {
    let it = Fixture::new();
    let ((_, token), (other, stays)) = (it.begun("me").await, it.begun("other").await);
    assert!(it.sessions.find(&token).await.unwrap().is_some());
    it.keys.revoke("me").await.unwrap();
    assert_eq!(it.sessions.find(&token).await.unwrap(), None);
    assert_eq!(it.sessions.find(&stays).await.unwrap(), Some(other));
}

#[tokio::test]
async fn only_the_token_of_a_session_finds_and_ends_it() {
    let it = Fixture::new();
    let (key, token) = it.begun("me").await;
    let (_, token_of_key) = it.keys.create("other").await.unwrap();
    let forged = format!("key_session_{}", "A".repeat(43));
    for text in ["", "key_session_", &token[1..], &token[..token.len() - 1], &forged, &token_of_key]
    {
        assert_eq!(it.sessions.find(text).await.unwrap(), None, "{text}");
        it.sessions.end(text).await.unwrap();
    }
    assert_eq!(it.sessions.find(&token).await.unwrap(), Some(key));
    it.sessions.end(&token).await.unwrap();
    assert_eq!(it.sessions.find(&token).await.unwrap(), None);
}
