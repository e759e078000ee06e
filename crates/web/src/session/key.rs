//! Page sessions of API keys: a signed cookie value. Nothing is stored, and revoking a key ends its sessions.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use lodge_domain::{
    Result,
    keys::{ApiKey, KeyId, Keys},
    secret::InstallationSecret,
};
use subtle::ConstantTimeEq;

/// The lifetime of a session, in seconds.
pub(super) const SECONDS: i64 = 12 * 60 * 60;

/// Returns the key that a cookie value names, if the value is genuine and the key is not revoked.
pub(super) async fn owner(
    keys: &Keys,
    secret: &InstallationSecret,
    note: &str,
    now: Timestamp,
) -> Result<Option<ApiKey>> {
    match open(secret, note, now) {
        Some(key) => keys.live(key).await,
        None => Ok(None),
    }
}

/// Makes the cookie value of `key`.
pub(super) fn cookie_value(secret: &InstallationSecret, key: KeyId, now: Timestamp) -> String {
    seal(secret, key, now.as_second() + SECONDS)
}

/// `keyid.expiry.hmac`.
fn seal(secret: &InstallationSecret, key: KeyId, expires_at: i64) -> String {
    let mac = secret.sign("page session", &[&key.0.to_be_bytes(), &expires_at.to_be_bytes()]);
    format!("{}.{expires_at}.{}", key.0, URL_SAFE_NO_PAD.encode(mac))
}

fn open(secret: &InstallationSecret, value: &str, now: Timestamp) -> Option<KeyId> {
    let mut parts = value.splitn(3, '.');
    let key = KeyId(parts.next()?.parse().ok()?);
    let expires_at: i64 = parts.next()?.parse().ok()?;
    let genuine: bool = seal(secret, key, expires_at).as_bytes().ct_eq(value.as_bytes()).into();
    (genuine && now.as_second() < expires_at).then_some(key)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use lodge_domain::{Clock, Error, OsRandom, SystemClock, keys::KeyStore};

    use super::*;

    /// A store with one key.
    struct OneKey(ApiKey);

    #[async_trait]
    impl KeyStore for OneKey {
        async fn add(&self, _: &str, _: [u8; 32], _: Timestamp) -> Result<ApiKey> {
            Err(Error::conflict("the store already has a key"))
        }
        async fn find(&self, _: [u8; 32]) -> Result<Option<ApiKey>> {
            Ok(None)
        }
        async fn get(&self, id: KeyId) -> Result<Option<ApiKey>> {
            Ok((id == self.0.id).then(|| self.0.clone()))
        }
        async fn list(&self) -> Result<Vec<ApiKey>> {
            Ok(vec![self.0.clone()])
        }
        async fn revoke(&self, _: &str, _: Timestamp) -> Result<Option<ApiKey>> {
            Ok(None)
        }
    }

    const SECRET: [u8; 32] = [7; 32];

    async fn who(note: &str, revoked: bool) -> Option<KeyId> {
        let now = SystemClock.now();
        let key = ApiKey {
            id: KeyId(3),
            name: "x".to_owned(),
            created_at: now,
            revoked_at: revoked.then_some(now),
        };
        let keys = Keys::new(Arc::new(OneKey(key)), Arc::new(SystemClock), Arc::new(OsRandom));
        let secret = InstallationSecret::new(SECRET);
        owner(&keys, &secret, note, now).await.unwrap().map(|key| key.id)
    }

    fn sealed(secret: [u8; 32], key: i64, seconds_left: i64) -> String {
        seal(
            &InstallationSecret::new(secret),
            KeyId(key),
            SystemClock.now().as_second() + seconds_left,
        )
    }

    #[tokio::test]
    async fn a_session_belongs_to_its_key() {
        assert_eq!(who(&sealed(SECRET, 3, 60), false).await, Some(KeyId(3)));
        assert_eq!(who(&sealed(SECRET, 4, 60), false).await, None, "no such key");
    }

    #[tokio::test]
    async fn a_forged_session_is_rejected() {
        assert_eq!(who(&sealed([8; 32], 3, 60), false).await, None);
        let genuine = sealed(SECRET, 4, 60);
        assert_eq!(who(&genuine.replacen('4', "3", 1), false).await, None, "another key");
        let genuine = sealed(SECRET, 3, 60);
        for value in [
            "",
            "3",
            "3.9999999999",
            "3.9999999999.",
            &genuine[..genuine.len() - 1],
            &format!("{genuine}A"),
            &format!("0{genuine}"),
            "3.x.y",
        ] {
            assert_eq!(who(value, false).await, None, "{value}");
        }
    }

    #[tokio::test]
    async fn an_expired_session_is_rejected() {
        assert_eq!(who(&sealed(SECRET, 3, 0), false).await, None);
    }

    #[tokio::test]
    async fn a_session_of_a_revoked_key_is_rejected() {
        assert_eq!(who(&sealed(SECRET, 3, 60), true).await, None);
    }
}
