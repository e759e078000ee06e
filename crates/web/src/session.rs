//! Page sessions: who is signed in on a browser, by a cookie. Somebody with an account is known by their
//! session's token, the owner of an API key by a signed note of which key.

mod key;

use http::HeaderValue;
use lodge_domain::{
    Error, Result,
    accounts::{FreshSession, SessionDigest, SignedIn},
    keys::{ApiKey, KeyId},
    links::Owner,
};

use crate::{context::SiteContext, cookies::CookieName, request::Asked};

const COOKIE: CookieName = CookieName("__Host-lodge_session", "lodge_session");

/// Somebody who is signed in.
pub(crate) enum Person {
    /// The owner of an API key.
    Key(ApiKey),
    /// Somebody with an account.
    Account(Box<SignedIn>),
}

impl Person {
    /// As whom their links know them.
    pub(crate) fn owner(&self) -> Owner {
        match self {
            Self::Key(key) => Owner::Key(key.id),
            Self::Account(me) => Owner::Account(me.account.id),
        }
    }

    /// What they are called.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Key(key) => &key.name,
            Self::Account(me) => me.account.nickname.as_str(),
        }
    }
}

/// Who is signed in on this browser.
pub(crate) async fn person(site: &SiteContext, asked: &Asked) -> Result<Option<Person>> {
    if let Some(session) = of_account(asked) {
        let me = account(site, session).await?;
        return Ok(me.map(Box::new).map(Person::Account));
    }
    let Some(note) = COOKIE.read(&asked.headers, asked.over_tls()) else { return Ok(None) };
    let owner = key::owner(&site.keys, &site.secret, note, asked.at).await?;
    Ok(owner.map(Person::Key))
}

/// The session of an account that this browser carries, whatever has become of it.
pub(crate) fn of_account(asked: &Asked) -> Option<SessionDigest> {
    COOKIE.read(&asked.headers, asked.over_tls()).and_then(SessionDigest::of_token)
}

/// Who is signed in by it, if anybody still is.
pub(crate) async fn account(
    site: &SiteContext,
    session: SessionDigest,
) -> Result<Option<SignedIn>> {
    let Some(accounts) = &site.accounts else { return Ok(None) };
    match accounts.who(session).await {
        Ok(me) => Ok(Some(me)),
        Err(Error::Unauthenticated(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The cookie that signs the owner of `key` in.
pub(crate) fn begin_key(site: &SiteContext, asked: &Asked, key: KeyId) -> Result<HeaderValue> {
    let note = key::note(&site.secret, key, asked.at);
    COOKIE.header(&note, key::SECONDS, asked.over_tls())
}

/// The cookie that carries a session of an account, for as long as it lasts.
pub(crate) fn begin_account(asked: &Asked, fresh: &FreshSession) -> Result<HeaderValue> {
    let lasts = fresh.signed_in.session.expires_at.duration_since(asked.at);
    COOKIE.header(&fresh.token, lasts.as_secs(), asked.over_tls())
}

/// The cookie that signs out.
pub(crate) fn end(asked: &Asked) -> Result<HeaderValue> {
    COOKIE.header("", 0, asked.over_tls())
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, header};

    use super::*;

    #[test]
    fn over_tls_only_a_cookie_of_this_very_host_counts() {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_static("lodge_session=x"));
        let value = |secure| COOKIE.read(&headers, secure);
        assert_eq!((value(false), value(true)), (Some("x"), None));
    }

    #[test]
    fn the_cookie_is_for_no_script_and_no_other_site() {
        let set = COOKIE.header("x", 60, true).unwrap();
        assert_eq!(
            set.to_str().unwrap(),
            "__Host-lodge_session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
    }
}
