//! Extractors: the request context, and parameters, queries and forms.

use std::{net::IpAddr, sync::Arc};

use axum::extract::{FromRef, FromRequest, FromRequestParts, Path, Query, Request};
use http::{Extensions, HeaderMap, Method, Uri, Version, header, request::Parts, uri::Authority};
use jiff::Timestamp;
use lodge_domain::{
    Error, IdempotencyKey,
    accounts::SessionDigest,
    idempotency::is_unguessable,
    keys::TOKEN_PREFIX,
    links::{Caller, MANAGE_PREFIX, Origin, Owner},
    secret::InstallationSecret,
};
use serde::de::DeserializeOwned;

use crate::{
    body::FullBody,
    context::SiteContext,
    edge::{
        address::{self, Client, Peer},
        forwarded, idempotency, limits, local_user,
    },
    error::Problem,
};

/// The context of a request: everything but its body.
pub(crate) struct RequestContext {
    /// The client that rate limits count for.
    pub(crate) client: Client,
    /// The HTTP method.
    pub(crate) method: Method,
    /// The request headers.
    pub(crate) headers: HeaderMap,
    /// The base URL of this site, without a trailing slash.
    pub(crate) base_url: String,
    /// The time of arrival.
    pub(crate) at: Timestamp,
    host: Option<String>,
    /// Whether the client is on this machine and no proxy has left a trace in the request.
    is_direct: bool,
    peer: Peer,
    secret: InstallationSecret,
}

impl RequestContext {
    /// Whether the client uses TLS; see [`is_over_tls`].
    pub(crate) fn over_tls(&self) -> bool {
        self.base_url.starts_with("https://")
    }

    /// Returns the origins of this site as named by the `Host` header.
    pub(crate) fn here(&self) -> Vec<Origin> {
        self.host.as_deref().map(Origin::from_host_header).unwrap_or_default()
    }

    /// Whether the visitor is on this machine and is the user that the server runs as: no proxy forwarded the request, and
    /// the address in the browser, which a page of another site could have made lead here, names the loopback interface.
    pub(crate) async fn is_local(&self) -> bool {
        let public: Option<Uri> = self.base_url.parse().ok();
        let is_public_here = public.is_some_and(|url| url.authority().is_some_and(names_loopback));
        let seems_local = self.is_direct && self.names_loopback_host() && is_public_here;
        seems_local && local_user::is_own(self.peer.address()).await
    }

    /// Whether the `Host` header names the loopback interface.
    pub(crate) fn names_loopback_host(&self) -> bool {
        let Some(authority) = self.host.as_deref().and_then(|host| host.parse().ok()) else {
            return false;
        };
        names_loopback(&authority)
    }

    /// Returns `User-Agent`; empty if absent or not ASCII.
    pub(crate) fn agent(&self) -> &str {
        let agent = self.headers.get(header::USER_AGENT);
        agent.and_then(|agent| agent.to_str().ok()).unwrap_or_default()
    }

    /// Returns the token in `Authorization: Bearer`; `None` without the header, empty for another scheme.
    pub(crate) fn bearer(&self) -> Option<&str> {
        bearer(&self.headers)
    }

    /// Authenticates the caller by the key or session token in `Authorization: Bearer`.
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
                "Authorization must be Bearer with an API key, a manage key or a session token",
            )
            .into()),
        }
    }

    /// Returns the session in `Authorization: Bearer`, for routes that need one.
    pub(crate) fn session(&self) -> Result<SessionDigest, Error> {
        let token = self.bearer().ok_or(Error::unauthenticated(
            "a session token is required in Authorization: Bearer",
        ))?;
        SessionDigest::of_token(token)
            .ok_or(Error::unauthenticated("Authorization must be Bearer with a session token"))
    }

    /// Returns the idempotency key of this request, if any, bound to the caller, the method, the route, and the content
    /// of the request (`said`, path parameters included). `said` may contain a link's password, so it is stored only as
    /// an HMAC with the installation secret: without the secret, the stored value allows no guesses.
    pub(crate) fn idempotency_key(
        &self,
        caller: &Caller,
        route: &str,
        said: &[&[u8]],
    ) -> Result<Option<IdempotencyKey>, Error> {
        self.unkeyed_idempotency_key(caller, route, &self.secret.sign("idempotency", said))
    }

    /// The same, but `said` is hashed without a secret, because processes that share accounts need not share one; it
    /// must contain no password.
    pub(crate) fn unkeyed_idempotency_key(
        &self,
        caller: &Caller,
        route: &str,
        said: &[u8],
    ) -> Result<Option<IdempotencyKey>, Error> {
        let within = [self.method.as_str().as_bytes(), route.as_bytes()];
        let key = idempotency::key(&self.headers)?;
        key.map(|key| self.bind(caller, &within, key, said)).transpose()
    }

    /// Returns the idempotency key of a submission of the form `id`, with `said` as an HMAC like in
    /// [`Self::idempotency_key`]; `None` if the id is malformed. Changed text is a new request.
    pub(crate) fn form_key(
        &self,
        caller: &Caller,
        id: &str,
        route: &str,
        said: &[u8],
    ) -> Result<Option<IdempotencyKey>, Error> {
        self.unkeyed_form_key(caller, id, route, &self.secret.sign("idempotency", &[said]))
    }

    /// The same, but without a secret; `said` must contain no password.
    pub(crate) fn unkeyed_form_key(
        &self,
        caller: &Caller,
        id: &str,
        route: &str,
        said: &[u8],
    ) -> Result<Option<IdempotencyKey>, Error> {
        let within = ["form".as_bytes(), route.as_bytes(), said];
        let id = Some(id).filter(|id| is_unguessable(id));
        id.map(|id| self.bind(caller, &within, id, said)).transpose()
    }

    /// The only place where a key gets its scope.
    fn bind(
        &self,
        caller: &Caller,
        within: &[&[u8]],
        key: &str,
        said: &[u8],
    ) -> Result<IdempotencyKey, Error> {
        let caller = caller.scope(key, self.client.limited_by());
        let scope = [&[caller.as_bytes()][..], within].concat();
        IdempotencyKey::new(&scope, key, said, self.at)
    }
}

/// The same for any headers.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?;
    let token = value.to_str().ok().and_then(|value| value.split_once(' '));
    let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    Some(token.map_or("", |(_, token)| token.trim()))
}

/// Returns the client that rate limits count for.
pub(crate) fn client(extensions: &Extensions) -> Result<Client, Error> {
    let client = extensions.get::<Client>();
    client.copied().ok_or_else(|| Error::internal("a request without a client"))
}

const NO_SESSIONS: Error =
    Error::unauthenticated("session tokens do not work here: this server has no accounts");

impl<S: Send + Sync> FromRequestParts<S> for RequestContext
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
            let scheme = if is_over_tls(&site, *peer, &parts.headers) { "https" } else { "http" };
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
            // nginx before 1.29.7 speaks HTTP/1.0 to a server behind it unless told otherwise, and adds no header.
            is_direct: *client == Client::Local
                && parts.version == Version::HTTP_11
                && !address::is_forwarded(&parts.headers),
            peer: *peer,
            secret: site.secret.clone(),
        })
    }
}

/// Whether the client uses TLS, according to `public_url` or a trusted proxy.
pub(crate) fn is_over_tls(site: &SiteContext, peer: Peer, headers: &HeaderMap) -> bool {
    let Some(url) = &site.public_url else {
        return peer.is_trusted() && forwarded::is_over_tls(headers, &site.trusted_proxies);
    };
    url.starts_with("https://")
}

fn names_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Whether a `Host` header is safe to show in a URL.
fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'))
}

/// Replaces the field of an [`Error::Invalid`] by the name that the caller uses.
pub(crate) fn with_field_name(field: &'static str, error: Error) -> Error {
    match error {
        Error::Invalid { reason, .. } => Error::invalid(field, reason),
        other => other,
    }
}

/// Checks the requested number of rows: 1 to `most`.
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
    Err(Error::invalid(name, format!("must be between 1 and {most}, not {limit}")))
}

/// An extractor that counts one password, code or key against the limit of the address, before the body is read.
pub(crate) struct CredentialRateLimit;

impl<S: Send + Sync> FromRequestParts<S> for CredentialRateLimit
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        limits::take(Arc::from_ref(state).credential_limit.as_ref(), client(&parts.extensions)?)?;
        Ok(Self)
    }
}

/// A path parameter, or several as a tuple.
pub(crate) struct PathParam<T = String>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParam<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // No resource has a name that is not UTF-8.
        let path = Path::from_request_parts(parts, state).await;
        path.map(|Path(segment)| Self(segment))
            .map_err(|_| Error::not_found("there is no page or route at this address").into())
    }
}

/// The query parameters.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(parameters)| Self(parameters)).map_err(|rejection| {
            let text = rejection.body_text();
            wrong_parameter(text.trim_start_matches("Failed to deserialize query string: ")).into()
        })
    }
}

/// The error of the parameter that a parser's message names, or of the whole query.
fn wrong_parameter(why: &str) -> Error {
    const NO_NUMBERS: [&str; 4] = [
        "invalid digit found in string",
        "cannot parse integer from empty string",
        "number too large to fit in target type",
        "number too small to fit in target type",
    ];
    let invalid = |field: &str, reason| Error::Invalid { field: field.to_owned().into(), reason };
    let missing = why.strip_prefix("missing field `").and_then(|name| name.strip_suffix('`'));
    match why.split_once(": ") {
        _ if let Some(name) = missing => invalid(name, "is missing".into()),
        Some((name, said)) if NO_NUMBERS.contains(&said) => {
            invalid(name, "must be a whole number in the documented range".into())
        }
        _ => invalid("query", format!("cannot be parsed: {why}").into()),
    }
}

/// An extractor that parses the body as a URL-encoded form.
pub(crate) struct FormBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for FormBody<T>
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let FullBody(body) = FullBody::from_request(request, state).await?;
        form(&body).map(Self)
    }
}

/// Parses a URL-encoded form.
pub(crate) fn form<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let read = serde_urlencoded::from_bytes(body);
    read.map_err(|error| unquoted(Error::invalid("form", format!("cannot be parsed: {error}"))))
}

/// Hides the message from the log: it quotes the request, which may contain a password.
pub(crate) fn unquoted(error: Error) -> Problem {
    Problem { cause: Some("the body cannot be parsed".into()), ..Problem::from(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_parameter_is_named() {
        let said = |why| wrong_parameter(why).to_string();
        let limit = said("limit: invalid digit found in string");
        assert_eq!(limit, "limit: must be a whole number in the documented range");
        assert_eq!(said("missing field `q`"), "q: is missing");
        assert_eq!(said("unknown field `x`"), "query: cannot be parsed: unknown field `x`");
    }

    #[test]
    fn loopback_hosts_are_recognized() {
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
