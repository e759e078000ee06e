//! Identity providers (`OpenID` Connect).

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Identity;
use crate::{
    Error, Random, Result, secret,
    text::{display_text, parsed_text},
};

/// The maximum length of a name, in characters.
const NAME_MAX: usize = 32;

parsed_text! {
    /// A provider's name in settings and paths: 1 to 32 lower-case letters, digits and hyphens.
    pub struct ProviderName(Box<str>);
}
display_text!(ProviderName);

impl ProviderName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self> {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !(1..=NAME_MAX).contains(&text.len()) || !text.bytes().all(is_plain) {
            return Err(Error::invalid(
                "provider",
                "must be 1 to 32 lower-case letters, digits and hyphens",
            ));
        }
        Ok(Self(text.into()))
    }
}

/// A provider, as shown on the sign-in page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// The name.
    pub name: ProviderName,
    /// The display name.
    pub title: String,
    /// The issuer, under which its identities are stored.
    pub issuer: String,
}

/// The secrets that tie a provider's response to one request, 256 random bits each.
#[derive(derive_more::Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[debug("Flow(…)")]
pub struct AuthorizationSecrets {
    /// The `state` parameter: returned in the callback, it ties the response to this browser's request.
    pub state: String,
    /// The `nonce`: returned in the signed ID token, it ties the token to this request.
    pub nonce: String,
    /// The PKCE code verifier (RFC 7636): the token request comes from the sender of this request.
    pub verifier: String,
}

impl AuthorizationSecrets {
    /// Draws new secrets.
    pub fn new(random: &dyn Random) -> Self {
        let [state, nonce, verifier] = [(); 3].map(|()| secret::random_token("", random));
        Self { state, nonce, verifier }
    }
}

/// The begin of a sign-in: the browser is redirected to the provider.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
#[debug("LoginRedirect(…)")]
pub struct LoginRedirect {
    /// The provider's authorization URL.
    pub url: String,
    /// The signed authorization state, kept by the browser for ten minutes; opaque to all but the accounts tier.
    pub kept: String,
}

/// A request that sends a browser to a provider.
#[derive(Debug, Clone, Copy)]
pub struct AuthorizationRequest<'a> {
    /// The provider.
    pub provider: &'a ProviderName,
    /// Where the provider sends the browser back.
    pub redirect_uri: &'a str,
    /// The secrets that tie the response to this request.
    pub flow: &'a AuthorizationSecrets,
    /// Whether the provider must authenticate the user now, instead of relying on an earlier sign-in.
    pub reauthenticate: bool,
}

/// The callback from a provider.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
pub struct LoginCallback {
    /// The provider of the callback's path, unverified.
    pub provider: ProviderName,
    /// The signed authorization state from the browser.
    #[debug(skip)]
    pub kept: String,
    /// The `state` parameter.
    #[debug(skip)]
    pub state: String,
    /// The authorization code, to be exchanged once for the identity.
    #[debug(skip)]
    pub code: Option<String>,
    /// The error code, if the provider sent no authorization code.
    #[debug(skip)]
    pub error: Option<String>,
    /// The `iss` parameter, if the provider sent it (RFC 9207).
    #[debug(skip)]
    pub issuer: Option<String>,
}

/// An authorization code to exchange for an identity.
#[derive(Clone)]
pub struct CodeExchange {
    /// The provider.
    pub provider: ProviderName,
    /// The authorization code.
    pub code: String,
    /// The `iss` parameter, if the provider sent it.
    pub issuer: Option<String>,
    /// The redirect URI of the authorization request.
    pub redirect_uri: String,
    /// The secrets of the authorization request.
    pub flow: AuthorizationSecrets,
}

/// When a provider authenticated a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authenticated {
    /// At this time, as the provider says.
    At(Timestamp),
    /// The provider did not say when. The request may have been altered on its way through the browser.
    Unsaid,
    /// This provider never says when.
    Unknowable,
}

/// How far a provider's clock may be behind.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);

impl Authenticated {
    /// Returns the time, as far as it is known; for a reauthentication that began at `since`, [`Error::Forbidden`] if the
    /// provider relied on an earlier sign-in. A provider that never says when is believed to have asked for a new one.
    pub(super) fn at(self, since: Option<Timestamp>, now: Timestamp) -> Result<Option<Timestamp>> {
        match (self, since) {
            (Self::At(at), Some(since)) if since.duration_since(at) > CLOCK_SKEW => Err(RELIED),
            // The provider's clock may be ahead.
            (Self::At(at), _) => Ok(Some(at.min(now))),
            (Self::Unsaid, Some(_)) => Err(RELIED),
            (Self::Unknowable, Some(_)) => Ok(Some(now)),
            (Self::Unsaid | Self::Unknowable, None) => Ok(None),
        }
    }
}

const RELIED: Error = Error::forbidden(
    "the provider did not ask you to sign in again; sign out there, and then sign in here again",
);

/// A user as identified by a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderUser {
    /// The permanent identity.
    pub identity: Identity,
    /// The user's name at the provider, if sent; it proves nothing.
    pub called: Option<String>,
    /// When the provider authenticated the user.
    pub authenticated: Authenticated,
}

/// A client of the configured providers. Each request has a deadline of some seconds, and the number of concurrent
/// requests is bounded; an unreachable provider, or a request past the bound, is [`Error::Unavailable`].
#[async_trait]
pub trait Providers: Send + Sync {
    /// Returns the providers in display order.
    fn list(&self) -> &[Provider];

    /// Returns the URL of the authorization request; [`Error::NotFound`] for an unknown provider.
    async fn authorization_url(&self, request: AuthorizationRequest<'_>) -> Result<String>;

    /// Exchanges the code for the identity; [`Error::Forbidden`] if the response proves none.
    async fn identify(&self, exchange: &CodeExchange) -> Result<ProviderUser>;
}

/// The implementation without any provider.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProviders;

#[async_trait]
impl Providers for NoProviders {
    fn list(&self) -> &[Provider] {
        &[]
    }

    async fn authorization_url(&self, _: AuthorizationRequest<'_>) -> Result<String> {
        Err(NO_PROVIDER)
    }

    async fn identify(&self, _: &CodeExchange) -> Result<ProviderUser> {
        Err(NO_PROVIDER)
    }
}

/// The error for an unknown provider.
pub const NO_PROVIDER: Error = Error::not_found("this sign-in provider is not configured");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsRandom;

    #[test]
    fn a_name_is_one_plain_segment_of_a_path() {
        for text in ["a", "acme-2", "0"] {
            assert!(ProviderName::parse(text).is_ok(), "{text}");
        }
        for text in ["", "A", "a/b", "a.b", "ä", "a b", &"a".repeat(33)] {
            assert!(ProviderName::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_reauthentication_is_newer_than_its_request() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let (since, now) = (at(1_000), at(1_500));
        for (authenticated, ordinary, reauthentication) in [
            (Authenticated::At(at(1_200)), Some(at(1_200)), Some(Some(at(1_200)))),
            (Authenticated::At(at(1_600)), Some(now), Some(Some(now))),
            (Authenticated::At(at(940)), Some(at(940)), Some(Some(at(940)))),
            (Authenticated::At(at(939)), Some(at(939)), None),
            (Authenticated::Unsaid, None, None),
            (Authenticated::Unknowable, None, Some(Some(now))),
        ] {
            assert_eq!(authenticated.at(None, now).unwrap(), ordinary, "{authenticated:?}");
            let since = authenticated.at(Some(since), now).ok();
            assert_eq!(since, reauthentication, "{authenticated:?}");
        }
    }

    #[test]
    fn debug_output_contains_no_sign_in_secrets() {
        let flow = AuthorizationSecrets::new(&OsRandom);
        assert_eq!([&flow.state, &flow.nonce, &flow.verifier].map(String::len), [43; 3]);
        let redirect = LoginRedirect { url: "there".to_owned(), kept: "kept".to_owned() };
        let callback = LoginCallback {
            provider: ProviderName::parse("a").unwrap(),
            kept: "kept".to_owned(),
            state: flow.state.clone(),
            code: Some("code".to_owned()),
            error: None,
            issuer: None,
        };
        let shown = format!("{flow:?} {redirect:?} {callback:?}");
        for secret in [&flow.state, &flow.nonce, &flow.verifier, "kept", "there", "code"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
