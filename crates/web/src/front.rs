//! The processing of every request before and after its route.

mod form;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use axum::{
    Router,
    body::{Body, HttpBody as _},
    extract::{DefaultBodyLimit, MatchedPath, Request},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version, header};
use hyper::body::Incoming;
use lodge_domain::{
    Error,
    links::Links,
    security::{self, SecurityActor, SecurityContext, SecurityEventKind},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use self::form::ProblemFormat;
use crate::{
    accounts, board,
    brand::{self, Brand},
    context::SiteContext,
    edge::{
        address::{Client, Peer},
        cross_site, headers,
        instruments::{self, RedirectInstruments},
        refusal_delay::RefusalDelay,
        request_id::{self, RequestId},
        server::{self, ConnectionHandler, ConnectionLimits},
        threads::ConnectionThreads,
        unread::UnreadBody,
    },
    error::{HttpResult, Problem},
    links,
    pages::{Navigation, Subject, Visit, redirect_to},
    pictures::Uploads,
    rides,
    site::{self, Apps, Site},
};

/// The default body limit, in bytes; some routes raise it.
const BODY_BYTES_MAX: usize = 128 * 1024;

/// Serves all requests: redirects of cached links on a fast path, everything else through the router.
#[derive(Clone)]
pub struct HttpService(Arc<Inner>);

struct Inner {
    site: Arc<SiteContext>,
    uploads: Arc<Uploads>,
    links: Option<Arc<Links>>,
    router: Router,
    has_rides: bool,
    access_log: bool,
    /// The `Strict-Transport-Security` of all responses, if the site is reached over TLS.
    strict_transport: Option<HeaderValue>,
    redirects: RedirectInstruments,
    refusal_delay: RefusalDelay,
}

impl HttpService {
    /// Composes the routes of the apps.
    pub fn new(site: Site, apps: Apps) -> Self {
        let (links, has_rides) = (apps.links.clone(), apps.rides.is_some());
        let access_log = site.settings.access_log;
        let hsts_subdomains = site.settings.hsts_subdomains;
        let settings = &site.settings;
        brand::set(Brand::new(settings.brand.clone(), settings.public_url.as_deref()));
        let (site, uploads, composed) = site.composed(apps);
        let router = composed
            .into_router()
            .fallback(no_route)
            .method_not_allowed_fallback(|| async {
                Problem::new(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "this address does not support this method",
                )
            })
            .route_layer(middleware::from_fn(remember_route))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
        let shutdown = site.shutdown.clone();
        Self(Arc::new(Inner {
            strict_transport: site.over_tls().then(|| headers::strict_transport(hsts_subdomains)),
            site,
            uploads,
            links,
            router,
            has_rides,
            access_log,
            redirects: RedirectInstruments::register(),
            refusal_delay: RefusalDelay::new(shutdown),
        }))
    }

    /// Lists the routes of all apps, as method and path.
    pub fn routes() -> Vec<(Method, String)> {
        site::routes()
    }

    /// Serves connections as [`server::serve`] does. The future is boxed, so that it is compiled here and not in the crate
    /// that awaits it.
    pub fn serve(
        self,
        listener: TcpListener,
        limits: ConnectionLimits,
        threads: ConnectionThreads,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        server::serve(listener, self, limits, threads, stop).boxed()
    }

    /// The fast path: redirects are most of all requests and need nothing from the router.
    fn redirect_at_once(&self, peer: Peer, request: &Request<Incoming>) -> Option<Response> {
        let links = self.0.links.as_ref()?;
        if self.0.access_log {
            return None;
        }
        let began = Instant::now();
        let mut response = links::redirect::redirect_cached(links, request)?;
        let id = RequestId::take(request.headers(), peer.is_trusted());
        response.headers_mut().insert(request_id::HEADER, id.into());
        headers::add_to_all(&mut response, self.0.strict_transport.as_ref());
        self.0.redirects.redirect(response.status(), began);
        Some(response)
    }

    /// Chooses the format of an error by path and `Accept`.
    fn form(&self, path: &str, headers: &HeaderMap) -> ProblemFormat {
        if self.0.has_rides && rides::owns(path) {
            ProblemFormat::Message
        } else if !path.starts_with("/api/") && wants_page(headers) {
            ProblemFormat::Page(subject(path, &self.0.site.navigation))
        } else {
            ProblemFormat::Details
        }
    }

    /// Answers through the router, unless the request has been `checked` and is refused.
    async fn routed(
        &self,
        peer: Peer,
        mut request: Request<Body>,
        checked: Result<(), Error>,
    ) -> Response {
        let began = Instant::now();
        let unread = UnreadBody::observe(&mut request);
        let client = Client::of(peer, request.headers(), &self.0.site.trusted_proxies);
        let id = RequestId::take(request.headers(), peer.is_trusted());
        let method = request.method().clone();
        let path = request.uri().path().to_owned();
        let form = self.form(&path, request.headers());
        let visit = Visit::of(&self.0.site, peer, &request);

        let checked =
            checked.and_then(|()| cross_site::check(&method, request.uri(), request.headers()));
        let refusal = if checked.is_ok() {
            SecurityEventKind::AccessRefused
        } else {
            SecurityEventKind::CrossSiteRefused
        };
        let recorder = Arc::clone(&self.0.site.security);
        let security =
            SecurityContext::new(recorder, Some(client.address()), SecurityActor::Visitor);
        let mut response = match checked {
            Ok(()) => {
                let answer = self.within_time(peer, client, &id, request);
                security::within(Arc::clone(&security), answer).await
            }
            Err(error) => Problem::from(error).into_response(),
        };
        let route = response.extensions().get::<MatchedPath>().cloned();
        let route = route.as_ref().map_or("none", MatchedPath::as_str);
        if response.status() == StatusCode::FORBIDDEN {
            security.refuse(refusal, format!("{method} {route}"));
        }
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            response = form::render(&problem, response, form, &self.0.site.navigation, &id);
            log_problem(&problem, &method, &path, &id, security.actor());
        }
        visit.complete(&self.0.site, &mut response).await;
        headers::add(&mut response, self.0.strict_transport.as_ref());
        response.headers_mut().insert(request_id::HEADER, id.header_value());
        instruments::request(&method, route, response.status(), began);
        if self.0.access_log {
            let elapsed_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            let (status, who) = (response.status().as_u16(), security.actor());
            tracing::info!(request_id = %id, %method, path, status, %who, elapsed_us, "request");
        }
        self.0.refusal_delay.delay(response.status(), peer).await;
        if let Some(unread) = unread {
            unread.complete(&mut response).await;
        }
        response
    }

    async fn within_time(
        &self,
        peer: Peer,
        client: Client,
        id: &RequestId,
        mut request: Request<Body>,
    ) -> Response {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(client);
        request.extensions_mut().insert(id.clone());
        let announced = request.body().size_hint().lower();
        let mut time = self.0.site.request_timeout;
        let longer = self.0.uploads.time_for(announced);
        // Only for bodies long enough to extend the time: most requests skip the check.
        if !longer.is_zero() && accounts::may_bring_picture(request.uri().path(), request.headers())
        {
            time += longer;
        }
        let answer = AssertUnwindSafe(self.0.router.clone().oneshot(request)).catch_unwind();
        match tokio::time::timeout(time, answer).await {
            Ok(Ok(Ok(response))) => response,
            Ok(Ok(Err(never))) => match never {},
            Ok(Err(_panic)) => Problem::from(Error::internal("a handler panicked")).into_response(),
            Err(_late) => Problem::from(Error::unavailable("the request exceeded its time limit"))
                .into_response(),
        }
    }
}

impl ConnectionHandler for HttpService {
    async fn answer(&self, peer: Peer, request: Request<Incoming>) -> Response {
        let checked = check_host(request.version(), request.headers());
        let redirect = checked.is_ok().then(|| self.redirect_at_once(peer, &request)).flatten();
        match redirect {
            Some(response) => response,
            // Boxed, so that every connection does not carry the router's large future.
            None => Box::pin(self.routed(peer, request.map(Body::new), checked)).await,
        }
    }

    fn end_streams(&self) {
        self.0.site.shutdown.cancel();
    }
}

/// Refuses an HTTP/1.1 request without exactly one `Host` (RFC 9112, section 3.2): a proxy and this server could
/// take it for requests to different sites.
fn check_host(version: Version, headers: &HeaderMap) -> Result<(), Error> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let is_one = hosts.next().is_some() && hosts.next().is_none();
    if is_one || version == Version::HTTP_10 {
        return Ok(());
    }
    Err(Error::invalid("Host", "must be sent exactly once"))
}

/// The app that an error page at this path belongs to.
fn subject(path: &str, navigation: &Navigation) -> Subject {
    let is_start_of_board = path == "/" && navigation.is_board_alone();
    if is_start_of_board || navigation.has("board") && board::owns(path) {
        Subject::Board
    } else if navigation.has("links") && links::owns(path) {
        Subject::Links
    } else if navigation.has("rides") && rides::owns_page(path) {
        Subject::Rides
    } else {
        Subject::Other
    }
}

/// Redirects a page's address with a slash too many to the page; everything else is not found.
async fn no_route(method: Method, uri: Uri) -> HttpResult {
    let path = uri.path().strip_suffix('/').unwrap_or_default();
    // A location that begins with two slashes would lead to another site.
    let is_path = path.starts_with('/') && !path.starts_with("//") && !path.contains('\\');
    if !is_path || !matches!(method, Method::GET | Method::HEAD) {
        let detail = "there is no page or route at this address";
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    redirect_to(&format!("{path}{query}"))
}

/// Copies the matched route to the response, for the metrics outside of the router.
async fn remember_route(route: MatchedPath, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.extensions_mut().insert(route);
    response
}

fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

fn log_problem(problem: &Problem, method: &Method, path: &str, id: &RequestId, who: SecurityActor) {
    let cause = problem.cause.as_deref().unwrap_or(&problem.detail);
    let status = problem.status.as_u16();
    if problem.status == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::error!(request_id = %id, %method, path, status, %who, cause, "request failed");
    // A refusal without a cause comes from a rate limit and is expected.
    } else if problem.status.is_server_error() && problem.cause.is_some() {
        tracing::warn!(request_id = %id, %method, path, status, %who, cause, "request refused");
    } else {
        tracing::debug!(request_id = %id, %method, path, status, %who, cause, "request refused");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::check;

    #[tokio::test]
    async fn a_slash_too_many_leads_to_the_page_and_never_to_another_site() {
        let location = async |path: &'static str| {
            let response = no_route(Method::GET, Uri::from_static(path)).await.ok()?;
            Some(response.headers()[header::LOCATION].to_str().unwrap().to_owned())
        };
        assert_eq!(location("/board/").await.as_deref(), Some("/board"));
        assert_eq!(location("/gg/?a=b").await.as_deref(), Some("/gg?a=b"));
        for path in ["/board/x", "//evil.example/", "//evil.example", "///"] {
            assert_eq!(location(path).await, None, "{path}");
        }
        assert!(no_route(Method::POST, Uri::from_static("/board/")).await.is_err());
    }

    #[test]
    fn an_error_page_belongs_to_the_app_of_its_path() {
        for (path, expected) in [
            ("/board/boarding", Subject::Board),
            ("/boarding", Subject::Links),
            ("/", Subject::Links),
            ("/rides", Subject::Rides),
            ("/rides/nothing", Subject::Rides),
            ("/admin", Subject::Other),
        ] {
            assert_eq!(subject(path, &check::EVERYTHING), expected, "{path}");
        }
        let alone = Navigation(vec![board::MENU, accounts::MENU]);
        assert_eq!(subject("/", &alone), Subject::Board);
    }
}
