//! Page sessions. The cookie holds the session token of an account or of an API key.

use http::{HeaderMap, HeaderValue, header};
use lodge_domain::{
    Error, Result,
    accounts::{DEVICE_LIFETIME, FreshSession, Role, SessionDigest, SignedIn},
    key_sessions::KEY_SESSION_LIFETIME,
    keys::{ApiKey, KeyId},
    links::Owner,
    secret::SecretText,
};

use crate::{context::SiteContext, cookies::CookieName, request::RequestContext};

const COOKIE: CookieName = CookieName("__Host-lodge_session", "lodge_session");
const DEVICE: CookieName = CookieName("__Host-lodge_device", "lodge_device");

/// The signed-in caller of a page.
pub(crate) enum PageCaller {
    /// The owner of an API key.
    Key(ApiKey),
    /// An account with its session.
    Account(Box<SignedIn>),
}

impl PageCaller {
    /// Returns the caller as an owner of links.
    pub(crate) fn owner(&self) -> Owner {
        match self {
            Self::Key(key) => Owner::Key(key.id),
            Self::Account(me) => Owner::Account(me.account.id),
        }
    }

    /// Returns the name to display.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Key(key) => &key.name,
            Self::Account(me) => me.account.nickname.as_str(),
        }
    }

    /// Returns the path of the caller's own page.
    pub(crate) fn home(&self) -> &'static str {
        match self {
            Self::Key(_) => "/links",
            Self::Account(_) => "/account",
        }
    }

    /// Whether the caller is a moderator or an administrator.
    pub(crate) fn is_staff(&self) -> bool {
        matches!(self, Self::Account(me) if me.account.role >= Role::Moderator)
    }
}

/// Returns the signed-in caller; `None` without a valid session.
pub(crate) async fn page_caller(
    site: &SiteContext,
    asked: &RequestContext,
) -> Result<Option<PageCaller>> {
    match cookie(&asked.headers, asked.over_tls()) {
        Some(session) => caller_of(site, session).await,
        None => Ok(None),
    }
}

/// The same for the value of a session cookie.
pub(crate) async fn caller_of(site: &SiteContext, value: &str) -> Result<Option<PageCaller>> {
    if let Some(session) = SessionDigest::of_token(value) {
        let me = account(site, session).await?;
        return Ok(me.map(Box::new).map(PageCaller::Account));
    }
    Ok(site.key_sessions.find(value).await?.map(PageCaller::Key))
}

/// Returns the value of the session cookie.
pub(crate) fn cookie(headers: &HeaderMap, over_tls: bool) -> Option<&str> {
    COOKIE.read(headers, over_tls)
}

/// Whether a response sets or deletes the session cookie.
pub(crate) fn is_set(headers: &HeaderMap) -> bool {
    let is_ours = |set: &HeaderValue| {
        let starts = |name: &str| set.as_bytes().starts_with(name.as_bytes());
        starts(COOKIE.0) || starts(COOKIE.1)
    };
    headers.get_all(header::SET_COOKIE).iter().any(is_ours)
}

/// Returns the account session in the cookie, without checking that it is still valid.
pub(crate) fn account_session(asked: &RequestContext) -> Option<SessionDigest> {
    cookie(&asked.headers, asked.over_tls()).and_then(SessionDigest::of_token)
}

/// Returns the account of a session; `None` if the session is no longer valid.
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

/// Begins a session of the owner of `key`, and makes its cookie; both expire together.
pub(crate) async fn begin_key(
    site: &SiteContext,
    asked: &RequestContext,
    key: KeyId,
) -> Result<HeaderValue> {
    let token = site.key_sessions.begin(key).await?;
    COOKIE.header(&token, KEY_SESSION_LIFETIME.as_secs(), asked.over_tls())
}

/// Makes the cookie of an account session, which lasts as long as the session can, and the one by which the account
/// knows this device.
pub(crate) fn begin_account(
    asked: &RequestContext,
    fresh: &FreshSession,
) -> Result<[HeaderValue; 2]> {
    let session = COOKIE.header(&fresh.token, fresh.lifetime.as_secs(), asked.over_tls())?;
    let known = DEVICE_LIFETIME.as_secs();
    Ok([session, DEVICE.header(fresh.device.reveal(), known, asked.over_tls())?])
}

/// Returns what proves that an account has signed in on this device, if any.
pub(crate) fn device(asked: &RequestContext) -> Option<SecretText> {
    DEVICE.read(&asked.headers, asked.over_tls()).map(|value| value.to_owned().into())
}

/// Makes the cookie that signs out.
pub(crate) fn end(asked: &RequestContext) -> Result<HeaderValue> {
    COOKIE.header("", 0, asked.over_tls())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_tls_only_the_host_prefixed_cookie_counts() {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_static("lodge_session=x"));
        let value = |secure| COOKIE.read(&headers, secure);
        assert_eq!((value(false), value(true)), (Some("x"), None));
    }

    #[test]
    fn the_session_cookie_is_http_only_and_same_site() {
        let set = COOKIE.header("x", 60, true).unwrap();
        assert_eq!(
            set.to_str().unwrap(),
            "__Host-lodge_session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
    }
}
