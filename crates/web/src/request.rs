//! What handlers want to know of a request, read once.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
};
use http::{HeaderMap, Method, StatusCode, header, request::Parts};
use jiff::Timestamp;
use lodge_domain::{
    Attempt, Error,
    keys::TOKEN_PREFIX,
    links::{Caller, Origin, Owner, caller::MANAGE_PREFIX},
};
use serde::de::DeserializeOwned;

use crate::{
    Site,
    edge::{address::Client, idempotency},
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
}

impl Asked {
    /// The origins that the caller reaches us by.
    pub(crate) fn here(&self) -> Vec<Origin> {
        self.host.as_deref().map(Origin::from_host_header).unwrap_or_default()
    }

    /// Who asks, by the key in `Authorization: Bearer`.
    pub(crate) async fn caller(&self, site: &Site) -> Result<Caller, Problem> {
        let mut values = self.headers.get_all(header::AUTHORIZATION).iter();
        let Some(value) = values.next() else { return Ok(Caller::Anonymous) };
        let token = value.to_str().ok().and_then(|value| value.split_once(' '));
        let token = token
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        match token {
            Some(token) if token.starts_with(TOKEN_PREFIX) => {
                Ok(Caller::Owner(Owner::Key(site.keys.authenticate(token).await?.id)))
            }
            Some(token) if token.starts_with(MANAGE_PREFIX) => {
                Ok(Caller::ManageKey(token.to_owned()))
            }
            _ => Err(Error::Unauthenticated(
                "Authorization must be: Bearer, and an API key or a manage key",
            )
            .into()),
        }
    }

    /// The attempt that this request is, if it carries an Idempotency-Key.
    pub(crate) fn attempt(
        &self,
        caller: &Caller,
        route: &str,
        said: &[&[u8]],
    ) -> Result<Option<Attempt>, Problem> {
        Ok(idempotency::attempt(
            &self.headers,
            &caller.scope(),
            &self.method,
            route,
            said,
            self.at,
        )?)
    }
}

impl FromRequestParts<Arc<Site>> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Problem> {
        let host = parts.uri.authority().map(|authority| authority.as_str().to_owned());
        let host =
            host.or_else(|| parts.headers.get(header::HOST)?.to_str().ok().map(str::to_owned));
        let client = parts.extensions.get::<Client>().copied().unwrap_or(Client::Local);
        let base_url = site.settings.public_url.clone().unwrap_or_else(|| {
            let scheme = parts
                .headers
                .get("x-forwarded-proto")
                .filter(|proto| proto.as_bytes() == b"https")
                .map_or("http", |_| "https");
            format!(
                "{scheme}://{}",
                host.as_deref().filter(|host| is_host(host)).unwrap_or("localhost")
            )
        });
        Ok(Self {
            client,
            method: parts.method.clone(),
            headers: parts.headers.clone(),
            base_url,
            at: site.clock.now(),
            host,
        })
    }
}

/// Whether a `Host` header can stand in a URL that we show.
fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'))
}

/// A request's whole body, within the route's limit.
pub(crate) struct Whole(pub(crate) Bytes);

impl FromRequest<Arc<Site>> for Whole {
    type Rejection = Problem;

    async fn from_request(request: Request, site: &Arc<Site>) -> Result<Self, Problem> {
        match Bytes::from_request(request, site).await {
            Ok(bytes) => Ok(Self(bytes)),
            Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                Err(Problem::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "the body is larger than this route takes",
                ))
            }
            Err(_) => Err(Problem::new(StatusCode::BAD_REQUEST, "the body did not arrive whole")),
        }
    }
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
    serde_json::from_slice(body).map_err(|error| {
        Error::invalid("body", format!("is not the JSON that belongs here: {error}")).into()
    })
}

/// Reads a form, and says what is wrong with it.
pub(crate) fn form<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let read = serde_urlencoded::from_bytes(body);
    read.map_err(|error| Error::invalid("form", format!("cannot be read: {error}")).into())
}
