//! The `OpenID` Connect state that the browser keeps, signed, while the user is at a provider.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::{AuthorizationSecrets, ProviderName, SessionId};
use crate::{Error, Result, secret::InstallationSecret};

/// The lifetime of an authorization state.
pub const AUTHORIZATION_LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// The purpose of the HMAC.
const PURPOSE: &str = "at a provider";

/// The state of a sign-in between its begin and its completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuthorizationState {
    /// The provider.
    pub(super) provider: ProviderName,
    /// The redirect URI.
    pub(super) redirect_uri: String,
    /// The secrets of the authorization request.
    pub(super) flow: AuthorizationSecrets,
    /// The session that links an identity; `None` for a sign-in.
    pub(super) linking: Option<SessionId>,
    /// The path to continue at; may be empty.
    pub(super) next: String,
    /// For a reauthentication, when it began: the provider must have authenticated the user since then.
    #[serde(default)]
    pub(super) authenticated_since: Option<Timestamp>,
}

impl AuthorizationState {
    /// Returns the state and its expiry as `JSON.HMAC`, both in base64, which a cookie can carry.
    pub(super) fn seal(&self, secret: &InstallationSecret, now: Timestamp) -> Result<String> {
        let expires_at =
            now.saturating_add(AUTHORIZATION_LIFETIME).unwrap_or(Timestamp::MAX).as_second();
        let said = serde_json::to_vec(&(self, expires_at)).map_err(Error::internal)?;
        let said = URL_SAFE_NO_PAD.encode(said);
        let mac = mac(secret, &said);
        Ok(format!("{said}.{mac}"))
    }

    /// Returns the state, if the HMAC is valid and the state has not expired.
    pub(super) fn open(secret: &InstallationSecret, sealed: &str, now: Timestamp) -> Option<Self> {
        let (said, signed) = sealed.rsplit_once('.')?;
        if !bool::from(mac(secret, said).as_bytes().ct_eq(signed.as_bytes())) {
            return None;
        }
        let said = URL_SAFE_NO_PAD.decode(said).ok()?;
        let (authorization, expires_at): (Self, i64) = serde_json::from_slice(&said).ok()?;
        (now.as_second() < expires_at).then_some(authorization)
    }

    /// Whether a callback with this provider and `state` belongs to this request.
    pub(super) fn matches_callback(&self, provider: &ProviderName, state: &str) -> bool {
        let is_state: bool = self.flow.state.as_bytes().ct_eq(state.as_bytes()).into();
        self.provider == *provider && is_state
    }
}

fn mac(secret: &InstallationSecret, said: &str) -> String {
    URL_SAFE_NO_PAD.encode(secret.sign(PURPOSE, &[said.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::OsRandom;

    fn secret(byte: u8) -> InstallationSecret {
        InstallationSecret::new([byte; 32])
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn authorization(linking: Option<SessionId>) -> AuthorizationState {
        AuthorizationState {
            provider: ProviderName::parse("acme").unwrap(),
            redirect_uri: "https://go.example.org/login/by/acme/callback?é=.".to_owned(),
            flow: AuthorizationSecrets::new(&OsRandom),
            linking,
            next: "/links?page=2".to_owned(),
            authenticated_since: None,
        }
    }

    #[test]
    fn an_authorization_state_opens_until_it_expires() {
        for linking in [None, Some(SessionId(Uuid::from_u128(7)))] {
            let authorization = authorization(linking);
            let sealed = authorization.seal(&secret(1), at(1_000)).unwrap();
            assert!(sealed.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b)));
            let open = |secret, now| AuthorizationState::open(&secret, &sealed, at(now));
            assert_eq!(open(secret(1), 1_599), Some(authorization));
            assert_eq!(open(secret(1), 1_600), None, "ten minutes are over");
            assert_eq!(open(secret(2), 1_000), None, "it is another installation's");
        }
    }

    #[test]
    fn a_modified_authorization_state_is_refused() {
        let (one, other) = (authorization(None), authorization(None));
        let [one, other] =
            [one, other].map(|authorization| authorization.seal(&secret(1), at(1_000)).unwrap());
        let (parts, others): (Vec<_>, Vec<_>) =
            (one.split('.').collect(), other.split('.').collect());
        for place in 0..parts.len() {
            for with in [others[place], "", "x"] {
                let mut changed = parts.clone();
                changed[place] = with;
                let changed = changed.join(".");
                let opened = AuthorizationState::open(&secret(1), &changed, at(1_000));
                assert_eq!(opened.is_some(), changed == one, "{place}: {changed}");
            }
        }
        for place in 0..one.len() {
            let mut changed = one.clone();
            let with = if &changed[place..=place] == "A" { "B" } else { "A" };
            changed.replace_range(place..=place, with);
            assert_eq!(
                AuthorizationState::open(&secret(1), &changed, at(1_000)),
                None,
                "{place}: {changed}"
            );
        }
        for text in ["", ".", "x", &format!("{one}."), &format!("x.{one}"), &one[..one.len() - 1]] {
            assert_eq!(AuthorizationState::open(&secret(1), text, at(1_000)), None, "{text}");
        }
    }

    #[test]
    fn a_callback_must_match_the_provider_and_the_state() {
        let authorization = authorization(None);
        let acme = ProviderName::parse("acme").unwrap();
        assert!(authorization.matches_callback(&acme, &authorization.flow.state));
        assert!(
            !authorization
                .matches_callback(&ProviderName::parse("b").unwrap(), &authorization.flow.state)
        );
        for state in ["", "x", &authorization.flow.nonce] {
            assert!(!authorization.matches_callback(&acme, state));
        }
    }
}
