//! What handlers want to know of a request, read once.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{
    RequestExt as _,
    body::{Body, Bytes, HttpBody as _},
    extract::{FromRef, FromRequest, FromRequestParts, Path, Query, Request},
};
use bytes::BytesMut;
use http::{HeaderMap, Method, StatusCode, header, request::Parts, uri::Authority};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use jiff::Timestamp;
use lodge_domain::{
    Attempt, Error,
    accounts::SessionDigest,
    keys::TOKEN_PREFIX,
    links::{Caller, MANAGE_PREFIX, Origin, Owner},
    secret::InstallationSecret,
};
use serde::de::DeserializeOwned;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::{
    Site,
    edge::{
        address::{Client, Peer},
        each::OneOf,
        idempotency,
    },
    error::Problem,
};

/// The longest body that any route takes, in bytes.
pub(crate) const LONGEST_BODY_BYTES: u64 = 2 << 20;

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
    pub(crate) async fn caller(&self, site: &Site) -> Result<Caller, Problem> {
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
    Arc<Site>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let site = Arc::<Site>::from_ref(state);
        let host = parts.uri.authority().map(|authority| authority.as_str().to_owned());
        let host =
            host.or_else(|| parts.headers.get(header::HOST)?.to_str().ok().map(str::to_owned));
        let known = (parts.extensions.get::<Client>(), parts.extensions.get::<Peer>());
        let (Some(client), Some(peer)) = known else {
            return Err(Error::internal("a request without a client").into());
        };
        let base_url = site.settings.public_url.clone().unwrap_or_else(|| {
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

/// A request's whole body, within the route's limit, within half of the request's time, and while there is
/// room for it among the bodies that are on their way.
pub(crate) struct Whole(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for Whole
where
    Arc<Site>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let site = Arc::<Site>::from_ref(state);
        let announced = request.body().size_hint().lower();
        let time = site.settings.request_timeout / 2;
        let read = Self::read(announced, request.into_limited_body(), &site.body_room, time);
        read.await.map(|held| Self(held.bytes))
    }
}

/// A body that keeps its room for as long as it is held.
pub(crate) struct Held<'a> {
    /// The body.
    pub(crate) bytes: Bytes,
    _room: SemaphorePermit<'a>,
    _place: Option<OneOf<IpAddr>>,
}

impl Whole {
    /// The body of a request that its handler reads itself, because it has other limits, or looks at the
    /// head first: at most `bytes_max`, while there is `room` for it, in KiB.
    pub(crate) async fn up_to<'a>(
        bytes_max: usize,
        site: &Site,
        body: Body,
        room: &'a Semaphore,
    ) -> Result<Held<'a>, Problem> {
        let announced = body.size_hint().lower();
        let limited = Body::new(Limited::new(body, bytes_max));
        Self::read(announced, limited, room, site.settings.request_timeout / 2).await
    }

    /// The body of a request that brings a picture, which may come slowly: at most `bytes_max`, and few from one
    /// address at a time, so that nobody has all the room for them.
    pub(crate) async fn upload(
        bytes_max: usize,
        site: &Site,
        client: Client,
        body: Body,
    ) -> Result<Held<'_>, Problem> {
        let place = client.limited_by().map(|address| site.uploads.take(address)).transpose()?;
        let announced = body.size_hint().lower();
        let limited = Body::new(Limited::new(body, bytes_max));
        let time = site.settings.request_timeout / 2 + site.settings.time_for(announced);
        let read = Self::read(announced, limited, &site.picture_room, time).await?;
        Ok(Held { _place: place, ..read })
    }

    async fn read(
        announced: u64,
        limited: Body,
        room: &Semaphore,
        time: Duration,
    ) -> Result<Held<'_>, Problem> {
        if limited.size_hint().upper().is_some_and(|limit| announced > limit) {
            return Err(too_large());
        }
        let read = read_within(limited, room);
        timeout(time, read).await.unwrap_or_else(|_| {
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"))
        })
    }
}

/// Reads a body as it comes. It takes room for what has come of it: one that stalls keeps little from
/// the others.
async fn read_within(mut body: Body, room: &Semaphore) -> Result<Held<'_>, Problem> {
    let take = |kib: usize| {
        room.try_acquire_many(u32::try_from(kib).unwrap_or(u32::MAX))
            .map_err(|_| Error::unavailable("too many bodies are on their way"))
    };
    let (mut whole, mut taken) = (BytesMut::new(), take(0)?);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(unreadable)?.into_data() else { continue };
        whole.extend_from_slice(&data);
        taken.merge(take(whole.len().div_ceil(1024).saturating_sub(taken.num_permits()))?);
    }
    Ok(Held { bytes: whole.freeze(), _room: taken, _place: None })
}

fn unreadable(error: axum::Error) -> Problem {
    if error.into_inner().is::<LengthLimitError>() {
        return too_large();
    }
    Problem::new(StatusCode::BAD_REQUEST, "the body did not arrive whole")
}

fn too_large() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than this route takes")
}

/// Reads JSON, and says where it is wrong.
pub(crate) fn json<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, Problem> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .map_or("application/json", |kind| kind.to_str().unwrap_or_default());
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must be application/json",
        ));
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| error.to_string());
    let read = read.and_then(|read| json.end().map(|()| read).map_err(|error| error.to_string()));
    read.map_err(|error| {
        let reason = format!("is not the JSON that belongs here: {error}");
        unquoted(Error::invalid("body", reason))
    })
}

/// Reads a form, and says what is wrong with it.
pub(crate) fn form<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let read = serde_urlencoded::from_bytes(body);
    read.map_err(|error| unquoted(Error::invalid("form", format!("cannot be read: {error}"))))
}

/// What the caller may read of it quotes what they sent, which may be a password: that is not for the log.
fn unquoted(error: Error) -> Problem {
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
