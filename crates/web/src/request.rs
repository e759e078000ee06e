//! What handlers want to know of a request, read once.

use std::{net::IpAddr, sync::Arc};

use axum::extract::{FromRef, FromRequest, FromRequestParts, Path, Query, Request};
use http::{HeaderMap, Method, header, request::Parts, uri::Authority};
use jiff::Timestamp;
use lodge_domain::{
    Attempt, Error,
    accounts::SessionDigest,
    keys::TOKEN_PREFIX,
    links::{Caller, MANAGE_PREFIX, Origin, Owner},
    secret::InstallationSecret,
};
use serde::de::DeserializeOwned;

use crate::{
    body::Whole,
    context::SiteContext,
    edge::{
        address::{Client, Peer},
        idempotency, limits,
    },
    error::Problem,
};

/// What a request is besides its body.
pub(crate) struct Asked {
    /// Whom its limits count for.
    pub(crate) client: Client,
    /// The method.
    pub(crate) method: Method,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// Where the world reaches this site, without a last slash.
    pub(crate) base_url: String,
    /// When it came in.
    pub(crate) at: Timestamp,
    host: Option<String>,
    secret: InstallationSecret,
}

impl Asked {
    /// Whether it came over TLS, as far as is known: by the configuration, or by a proxy that is trusted.
    pub(crate) fn over_tls(&self) -> bool {
        self.base_url.starts_with("https://")
    }

    /// The origins that the caller reaches us by.
    pub(crate) fn here(&self) -> Vec<Origin> {
        self.host.as_deref().map(Origin::from_host_header).unwrap_or_default()
    }

    /// Whether somebody on this very machine asks, by its own name for itself.
    pub(crate) fn is_asked_here(&self) -> bool {
        let Some(authority) = self.host.as_deref().and_then(|host| host.parse().ok()) else {
            return false;
        };
        names_loopback(&authority)
    }

    /// What the device says that it is.
    pub(crate) fn agent(&self) -> &str {
        let agent = self.headers.get(header::USER_AGENT);
        agent.and_then(|agent| agent.to_str().ok()).unwrap_or_default()
    }

    /// What stands in `Authorization: Bearer`; `None` where there is no such header, and nothing where it
    /// says something else.
    pub(crate) fn bearer(&self) -> Option<&str> {
        bearer(&self.headers)
    }

    /// Who asks, by the key or the session's token in `Authorization: Bearer`.
    pub(crate) async fn caller(&self, site: &SiteContext) -> Result<Caller, Problem> {
        match self.bearer() {
            None => Ok(Caller::Anonymous),
            Some(token) if let Some(digest) = SessionDigest::of_token(token) => {
                let accounts = site.accounts.as_ref().ok_or(NO_SESSIONS)?;
                Ok(Caller::Owner(Owner::Account(accounts.who(digest).await?.account.id)))
            }
            Some(token) if token.starts_with(TOKEN_PREFIX) => {
                Ok(Caller::Owner(Owner::Key(site.keys.authenticate(token).await?.id)))
            }
            Some(token) if token.starts_with(MANAGE_PREFIX) => {
                Ok(Caller::ManageKey(token.to_owned()))
            }
            Some(_) => Err(Error::unauthenticated(
                "Authorization must be: Bearer, and an API key, a manage key, or the token of a session",
            )
            .into()),
        }
    }

    /// The session by which somebody asks for something of their own, in `Authorization: Bearer`.
    pub(crate) fn session(&self) -> Result<SessionDigest, Error> {
        let token =
            self.bearer().ok_or(Error::unauthenticated("this needs the token of a session"))?;
        SessionDigest::of_token(token).ok_or(Error::unauthenticated(
            "Authorization must be: Bearer, and the token of a session",
        ))
    }

    /// The attempt that this request is, if it carries an Idempotency-Key. What it says may hold a link's
    /// password: only whoever has the installation's secret could try guesses on what is kept of it.
    pub(crate) fn attempt(
        &self,
        caller: &Caller,
        route: &str,
        said: &[&[u8]],
    ) -> Result<Option<Attempt>, Problem> {
        let said = self.secret.sign("idempotency", said);
        self.attempt_of(&caller.scope(), route, &[&said])
    }

    /// The same for a caller whom the links do not know; `scope` names them. `said` may be tried guesses on:
    /// no password is in it. Processes that share accounts need not share a secret.
    pub(crate) fn attempt_of(
        &self,
        scope: &str,
        route: &str,
        said: &[&[u8]],
    ) -> Result<Option<Attempt>, Problem> {
        Ok(idempotency::attempt(&self.headers, scope, &self.method, route, said, self.at)?)
    }
}

/// The same of any headers.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?;
    let token = value.to_str().ok().and_then(|value| value.split_once(' '));
    let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    Some(token.map_or("", |(_, token)| token.trim()))
}

/// Whom a request's limits count for.
pub(crate) fn client(parts: &Parts) -> Result<Client, Error> {
    let client = parts.extensions.get::<Client>();
    client.copied().ok_or_else(|| Error::internal("a request without a client"))
}

const NO_SESSIONS: Error = Error::unauthenticated("there are no accounts here to sign in to");

impl<S: Send + Sync> FromRequestParts<S> for Asked
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let site = Arc::<SiteContext>::from_ref(state);
        let host = parts.uri.authority().map(|authority| authority.as_str().to_owned());
        let host =
            host.or_else(|| parts.headers.get(header::HOST)?.to_str().ok().map(str::to_owned));
        let known = (parts.extensions.get::<Client>(), parts.extensions.get::<Peer>());
        let (Some(client), Some(peer)) = known else {
            return Err(Error::internal("a request without a client").into());
        };
        let base_url = site.public_url.clone().unwrap_or_else(|| {
            let scheme = parts
                .headers
                .get("x-forwarded-proto")
                .filter(|proto| peer.is_trusted() && proto.as_bytes() == b"https")
                .map_or("http", |_| "https");
            format!(
                "{scheme}://{}",
                host.as_deref().filter(|host| is_host(host)).unwrap_or("localhost")
            )
        });
        Ok(Self {
            client: *client,
            method: parts.method.clone(),
            headers: parts.headers.clone(),
            base_url,
            at: site.clock.now(),
            host,
            secret: site.secret.clone(),
        })
    }
}

fn names_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Whether a `Host` header can stand in a URL that we show.
fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'))
}

/// Names what is wrong as the caller does.
pub(crate) fn called(field: &'static str, error: Error) -> Error {
    match error {
        Error::Invalid { reason, .. } => Error::invalid(field, reason),
        other => other,
    }
}

/// The number of rows that a caller asks for, 1 to `most`.
pub(crate) fn limit(
    name: &'static str,
    asked: Option<usize>,
    default: usize,
    most: usize,
) -> Result<usize, Error> {
    let limit = asked.unwrap_or(default);
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::invalid(name, format!("must be 1 to {most}")))
}

/// One of the passwords, codes and keys that the client's address may try, taken from its share before the body is read.
pub(crate) struct OneAttempt;

impl<S: Send + Sync> FromRequestParts<S> for OneAttempt
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        limits::take(Arc::from_ref(state).attempts.as_ref(), client(parts)?)?;
        Ok(Self)
    }
}

/// The part of the path that a route leaves open; or the parts, as a tuple.
pub(crate) struct Segment<T = String>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segment<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // What is not UTF-8 names nothing that we have.
        let path = Path::from_request_parts(parts, state).await;
        path.map(|Path(segment)| Self(segment))
            .map_err(|_| Error::not_found("there is nothing here").into())
    }
}

/// The query, of parameters that the route knows.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(parameters)| Self(parameters)).map_err(|rejection| {
            let text = rejection.body_text();
            let why = text.trim_start_matches("Failed to deserialize query string: ");
            Error::invalid("query", format!("cannot be read: {why}")).into()
        })
    }
}

/// A request's body, read as a form.
pub(crate) struct FormBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for FormBody<T>
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Whole(body) = Whole::from_request(request, state).await?;
        form(&body).map(Self)
    }
}

/// Reads a form, and says what is wrong with it.
pub(crate) fn form<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let read = serde_urlencoded::from_bytes(body);
    read.map_err(|error| unquoted(Error::invalid("form", format!("cannot be read: {error}"))))
}

/// What the caller may read of it quotes what they sent, which may be a password: that is not for the log.
pub(crate) fn unquoted(error: Error) -> Problem {
    Problem { cause: Some("the body cannot be read".into()), ..Problem::from(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_own_names() {
        let is_here = |host: &str| host.parse().is_ok_and(|authority| names_loopback(&authority));
        for host in ["localhost", "localhost:8080", "127.0.0.1:1", "127.9.9.9", "[::1]:8080"] {
            assert!(is_here(host), "{host}");
        }
        for host in
            ["", "go.example.org", "localhost.example.org", "127.0.0.1.example.org", "10.0.0.1:80"]
        {
            assert!(!is_here(host), "{host}");
        }
    }
}
