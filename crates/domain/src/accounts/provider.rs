//! Providers: services elsewhere that say who somebody is.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Identity;
use crate::{
    Error, Random, Result, secret,
    text::{display_text, parsed_text},
};

/// The longest name, in characters.
const NAME_MAX: usize = 32;

parsed_text! {
    /// A provider's name in settings and paths: 1 to 32 lower-case letters, digits and hyphens.
    pub struct ProviderName(Box<str>);
}
display_text!(ProviderName);

impl ProviderName {
    /// Takes a name.
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

/// A provider, as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// Its name.
    pub name: ProviderName,
    /// What it is called on pages.
    pub title: String,
    /// What its identities are kept under.
    pub issuer: String,
}

/// What ties a provider's answer to one question, each part of 256 random bits.
#[derive(derive_more::Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[debug("Flow(…)")]
pub struct Flow {
    /// Comes back with the answer: it is to the question of this very browser.
    pub state: String,
    /// Comes back inside what the provider signs: it signed it for this question.
    pub nonce: String,
    /// Proves that whoever asks for the answer has asked the question (RFC 7636).
    pub verifier: String,
}

impl Flow {
    /// A new one.
    pub fn new(random: &dyn Random) -> Self {
        let [state, nonce, verifier] = [(); 3].map(|()| secret::random_token("", random));
        Self { state, nonce, verifier }
    }
}

/// Somebody is sent to a provider.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
#[debug("Departure(…)")]
pub struct Departure {
    /// Where they go.
    pub url: String,
    /// What their browser keeps meanwhile, for ten minutes; it means nothing to anybody but the accounts
    /// tier.
    pub kept: String,
}

/// Somebody comes back from a provider.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
pub struct Arrival {
    /// From which, as it seems.
    pub provider: ProviderName,
    /// What their browser kept.
    #[debug(skip)]
    pub kept: String,
    /// To which question they bring an answer.
    #[debug(skip)]
    pub state: String,
    /// The answer: it can be changed for who they are, once.
    #[debug(skip)]
    pub code: Option<String>,
    /// Why there is none.
    #[debug(skip)]
    pub error: Option<String>,
    /// Who the provider says that it is, if it does (RFC 9207).
    #[debug(skip)]
    pub issuer: Option<String>,
}

/// A code is to be changed for who somebody is.
#[derive(Clone)]
pub struct Exchange {
    /// Of which provider it is.
    pub provider: ProviderName,
    /// The code.
    pub code: String,
    /// Who the provider said that it is, if it did.
    pub issuer: Option<String>,
    /// Where they came back to, as it was said when they left.
    pub redirect_uri: String,
    /// What the answer is known by.
    pub flow: Flow,
}

/// Who somebody is, as a provider says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identified {
    /// By this they are known for ever.
    pub identity: Identity,
    /// What they are called there, if it says so; it proves nothing.
    pub called: Option<String>,
}

/// Asks the providers that are set up. Each question has a deadline of some seconds, and how many are asked
/// at once is bounded; a provider that cannot be reached, or past the bound: [`Error::Unavailable`].
#[async_trait]
pub trait Providers: Send + Sync {
    /// Those that there are, in the order in which they are shown.
    fn list(&self) -> &[Provider];

    /// Where to send somebody who is to come back to `redirect_uri`; [`Error::NotFound`] if there is no
    /// such provider.
    async fn authorization_url(
        &self,
        provider: &ProviderName,
        redirect_uri: &str,
        flow: &Flow,
    ) -> Result<String>;

    /// Who somebody is who came back; [`Error::Forbidden`] if what they brought proves nothing.
    async fn identify(&self, exchange: &Exchange) -> Result<Identified>;
}

/// None are set up.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProviders;

#[async_trait]
impl Providers for NoProviders {
    fn list(&self) -> &[Provider] {
        &[]
    }

    async fn authorization_url(&self, _: &ProviderName, _: &str, _: &Flow) -> Result<String> {
        Err(NO_PROVIDER)
    }

    async fn identify(&self, _: &Exchange) -> Result<Identified> {
        Err(NO_PROVIDER)
    }
}

/// There is no provider of that name.
pub const NO_PROVIDER: Error = Error::not_found("there is no such provider here");

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
    fn what_a_sign_in_rests_on_is_not_shown() {
        let flow = Flow::new(&OsRandom);
        assert_eq!([&flow.state, &flow.nonce, &flow.verifier].map(String::len), [43; 3]);
        let departure = Departure { url: "there".to_owned(), kept: "kept".to_owned() };
        let arrival = Arrival {
            provider: ProviderName::parse("a").unwrap(),
            kept: "kept".to_owned(),
            state: flow.state.clone(),
            code: Some("code".to_owned()),
            error: None,
            issuer: None,
        };
        let shown = format!("{flow:?} {departure:?} {arrival:?}");
        for secret in [&flow.state, &flow.nonce, &flow.verifier, "kept", "there", "code"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
