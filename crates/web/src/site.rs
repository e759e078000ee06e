//! The whole site: the apps' routes, and what every request to them goes through.

use std::{
    net::{IpAddr, SocketAddr},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, HttpBody as _},
    extract::{DefaultBodyLimit, MatchedPath, Request},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use http::{HeaderMap, Method, StatusCode, header};
use hyper::body::Incoming;
use lodge_domain::{
    Clock, Random,
    accounts::{AccountsClient, Pictures},
    board::{Board, Hooks},
    keys::Keys,
    links::Links,
    rides::Rides,
    secret::InstallationSecret,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{
    accounts::{self, AccountsApp, picture},
    api_docs::{self, ApiDocs},
    board::{self, BoardApp, hooks_api::HooksApp},
    edge::{
        address::{Client, Peer},
        cross_site,
        each::Each,
        headers,
        instruments::{self, RedirectInstruments},
        limits::{AddressLimit, RateLimit},
        request_id::{self, RequestId, RequestIds},
        server::Answer,
        stream::Streams,
    },
    error::{Form, Problem},
    links::{self, app::LinksApp},
    pages::{self, Navigation, Subject},
    rides::{self, RidesApp},
    routes::Routes,
};

/// Largest body of an ordinary request, in bytes; routes that take more say so.
const BODY_BYTES_MAX: usize = 128 * 1024;

/// All bodies together that are on their way at one time, in KiB.
const BODIES_KIB_MAX: usize = 32 * 1024;

/// Fields that one address may have checked a minute as they are typed.
const CHECKS_PER_MINUTE: u32 = 240;
/// Pictures of the greatest length for which there is room on their way at one time, apart from other
/// bodies.
const LONGEST_PICTURES: usize = 4;

/// The slowest that a picture may come, in bytes a second: from a telephone in a valley.
const UPLOAD_BYTES_PER_SECOND_MIN: u64 = 64 * 1024;

/// Pictures that may be on their way from one address, and when to ask again who has so many.
const UPLOADS_EACH_MAX: usize = 2;
const UPLOADS_RETRY: Duration = Duration::from_secs(5);

/// What an operator decides about the edge.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// Where the world reaches this site, without a last slash; where absent, what each request's
    /// `Host` says.
    pub public_url: Option<String>,
    /// How long a request may take from its head to the head of its answer; one that brings a long picture has more.
    pub request_timeout: Duration,
    /// Links that one address may create a minute; 0 is no limit.
    pub creations_per_minute: u32,
    /// Accounts that one address may make a minute; 0 is no limit.
    pub sign_ups_per_minute: u32,
    /// Passwords and keys that one address may try a minute; 0 is no limit.
    pub attempts_per_minute: u32,
    /// Whether every request is logged, not only those that fail.
    pub access_log: bool,
    /// Pictures that one address may send a minute; 0 is no limit.
    pub pictures_per_minute: u32,
    /// The longest picture that is taken, in KiB.
    pub picture_kib_max: usize,
    /// Events about rides that everybody together may send a second; 0 is no limit.
    pub ride_events_per_second: u32,
    /// Connections at once; a tenth of them may be streams.
    pub connections_max: usize,
    /// Events about rides that one address may send a minute without a gate's key; 0 is no limit.
    pub rides_per_minute: u32,
    /// Messages, edits, signs and reports that one person may send to the board a minute, and a bot ten times as
    /// many; 0 is no limit.
    pub posts_per_minute: u32,
}

impl SiteSettings {
    /// What a request has beside its [`request_timeout`](Self::request_timeout) for an upload of so many bytes: the
    /// time that it takes on a slow line, as far as it is no longer than a picture.
    pub(crate) fn time_for(&self, body_bytes: u64) -> Duration {
        let longest = self.picture_kib_max as u64 * 1024;
        Duration::from_secs(body_bytes.min(longest) / UPLOAD_BYTES_PER_SECOND_MIN)
    }
}

/// What handlers work with.
pub struct Site {
    /// API keys.
    pub keys: Keys,
    /// Accounts, if they are served: who is asking.
    pub accounts: Option<AccountsClient>,
    /// Signs page sessions.
    pub secret: InstallationSecret,
    /// Says what time it is.
    pub clock: Arc<dyn Clock>,
    /// Makes what nobody can guess.
    pub random: Arc<dyn Random>,
    /// What the operator decided.
    pub settings: SiteSettings,
    pub(crate) navigation: Navigation,
    pub(crate) creations: Option<AddressLimit>,
    pub(crate) sign_ups: Option<AddressLimit>,
    pub(crate) attempts: Option<AddressLimit>,
    pub(crate) checks: Option<AddressLimit>,
    pub(crate) pictures: Option<AddressLimit>,
    pub(crate) ride_events: Option<RateLimit>,
    pub(crate) ride_senders: Option<AddressLimit>,
    /// Room for bodies that are on their way, in KiB.
    pub(crate) body_room: Arc<Semaphore>,
    /// The same for pictures.
    pub(crate) picture_room: Semaphore,
    /// Pictures that are on their way, by the address that they come from.
    pub(crate) uploads: Arc<Each<IpAddr>>,
    /// The end of all streams.
    pub(crate) end: CancellationToken,
}

impl Site {
    /// A site of these services.
    pub fn new(
        keys: Keys,
        accounts: Option<AccountsClient>,
        secret: InstallationSecret,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        settings: SiteSettings,
    ) -> Self {
        Self {
            navigation: Navigation {
                links: false,
                accounts: accounts.is_some(),
                rides: false,
                board: false,
            },
            creations: AddressLimit::per_minute(settings.creations_per_minute),
            sign_ups: AddressLimit::per_minute(settings.sign_ups_per_minute),
            attempts: AddressLimit::per_minute(settings.attempts_per_minute),
            checks: AddressLimit::per_minute(CHECKS_PER_MINUTE),
            pictures: AddressLimit::per_minute(settings.pictures_per_minute),
            ride_events: RateLimit::per_second(settings.ride_events_per_second),
            ride_senders: AddressLimit::per_minute(settings.rides_per_minute),
            picture_room: Semaphore::new(LONGEST_PICTURES * settings.picture_kib_max),
            uploads: Each::new(UPLOADS_EACH_MAX, UPLOADS_RETRY),
            body_room: Arc::new(Semaphore::new(BODIES_KIB_MAX)),
            end: CancellationToken::new(),
            keys,
            accounts,
            secret,
            clock,
            random,
            settings,
        }
    }

    /// Whether the world reaches this site over TLS alone, so that headers can insist on it.
    pub fn over_tls(&self) -> bool {
        self.settings.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }
}

/// Answers requests: a plain redirect out of memory at once, everything else through the router.
#[derive(Clone)]
pub struct Front(Arc<Inner>);

/// The apps that are served beside accounts, which are the site's own.
#[derive(Default, Clone)]
pub struct Apps {
    /// Short links.
    pub links: Option<Arc<Links>>,
    /// Pictures of accounts: there wherever accounts are.
    pub pictures: Option<Pictures>,
    /// Lift rides.
    pub rides: Option<Arc<Rides>>,
    /// The message board, where accounts are.
    pub board: Option<Arc<Board>>,
    /// Who is told what happens there.
    pub hooks: Option<Arc<Hooks>>,
}

impl Apps {
    /// Their routes, and those that belong to none.
    fn routes(self, site: &Arc<Site>) -> Routes {
        let (mut routes, mut documents) = (pages::routes(), Vec::new());
        if site.navigation.links || site.navigation.accounts {
            routes = routes.merge(pages::sign_in_routes().with(Arc::clone(site)));
        }
        if let Some(links) = self.links {
            let app = LinksApp { site: Arc::clone(site), links };
            routes = routes.merge(links::routes().with(app));
            documents.push(links::document());
        }
        if let Some((accounts, pictures)) = site.accounts.clone().zip(self.pictures) {
            let passes = self.rides.iter().map(rides::passes::kept);
            let kept = passes.chain(self.board.iter().map(board::kept)).collect();
            let exports = Streams::new("account_export", accounts::EXPORTS, site.end.clone());
            let exports = Arc::new(exports);
            let app = AccountsApp { site: Arc::clone(site), accounts, pictures, kept, exports };
            routes = routes.merge(accounts::routes().with(app.clone()));
            if !site.navigation.links && !site.navigation.is_board_alone() {
                routes = routes.merge(accounts::start().with(app));
            }
            documents.push(accounts::document());
        }
        if let Some(rides) = self.rides {
            let app = RidesApp::new(Arc::clone(site), rides);
            routes = routes.merge(rides::routes().with(app.clone()));
            if !site.navigation.links && !site.navigation.accounts {
                routes = routes.merge(rides::start().with(app.clone()));
            }
            documents.push(rides::document());
            if site.accounts.is_some() {
                routes = routes.merge(rides::passes::routes().with(app));
                documents.push(rides::passes::document());
            }
        }
        if let Some((board, accounts)) = self.board.zip(site.accounts.clone()) {
            let app = BoardApp::new(Arc::clone(site), board, accounts);
            routes = routes.merge(board::routes().with(app.clone()));
            if site.navigation.is_board_alone() {
                routes = routes.merge(board::start().with(app.clone()));
            }
            documents.push(board::document());
            if let Some(hooks) = self.hooks {
                let app = HooksApp { board: app, hooks };
                routes = routes.merge(board::hooks_api::routes().with(app));
                documents.push(board::hooks_api::document());
            }
        }
        routes.merge(api_docs::routes().with(ApiDocs::new(Arc::clone(site), documents)))
    }
}

/// What all apps say of their API.
#[cfg(test)]
pub(crate) fn documents() -> [utoipa::openapi::OpenApi; 6] {
    let (rides, passes) = (rides::document(), rides::passes::document());
    let (board, hooks) = (board::document(), board::hooks_api::document());
    [links::document(), accounts::document(), rides, passes, board, hooks]
}

struct Inner {
    site: Arc<Site>,
    links: Option<Arc<Links>>,
    router: Router,
    has_rides: bool,
    over_tls: bool,
    ids: RequestIds,
    redirects: RedirectInstruments,
}

impl Front {
    /// Puts the apps' routes together.
    pub fn new(mut site: Site, apps: Apps) -> Self {
        site.navigation.links = apps.links.is_some();
        site.navigation.rides = apps.rides.is_some();
        site.navigation.board = apps.board.is_some() && site.accounts.is_some();
        let (site, links) = (Arc::new(site), apps.links.clone());
        let has_rides = apps.rides.is_some();
        let router = apps
            .routes(&site)
            .into_router()
            .fallback(|| async { Problem::new(StatusCode::NOT_FOUND, "there is nothing here") })
            .method_not_allowed_fallback(|| async {
                Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this cannot be done here")
            })
            .route_layer(middleware::from_fn(remember_route))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
        Self(Arc::new(Inner {
            over_tls: site.over_tls(),
            site,
            links,
            router,
            has_rides,
            ids: RequestIds::default(),
            redirects: RedirectInstruments::register(),
        }))
    }

    /// Every route that any app has, as method and path.
    pub fn routes() -> Vec<(Method, &'static str)> {
        let of_apps = [
            links::routes().list(),
            accounts::routes().list(),
            rides::routes().list(),
            rides::passes::routes().list(),
            board::routes().list(),
            board::hooks_api::routes().list(),
        ];
        let of_none =
            [pages::routes().list(), pages::sign_in_routes().list(), api_docs::routes().list()];
        of_apps.into_iter().chain(of_none).flatten().collect()
    }

    /// The lane of plain redirects: most of all requests, and nothing that they need is behind the
    /// router.
    fn redirect_at_once(&self, peer: SocketAddr, request: &Request<Incoming>) -> Option<Response> {
        let links = self.0.links.as_ref()?;
        if self.0.site.settings.access_log {
            return None;
        }
        let began = Instant::now();
        let id = self.request_id(peer, request.headers());
        let mut response = links::redirect::at_once(links, request, &id)?;
        headers::add_transport(&mut response, self.0.over_tls);
        self.0.redirects.redirect(response.status(), began);
        Some(response)
    }

    /// A loopback peer is a proxy that may have named the request.
    fn request_id(&self, peer: SocketAddr, headers: &HeaderMap) -> RequestId {
        self.0.ids.take(headers, Peer(peer).is_trusted())
    }

    /// The form in which whoever asks for `path` is told of a problem.
    fn form(&self, path: &str, headers: &HeaderMap) -> Form {
        if self.0.has_rides && rides::owns(path) {
            Form::Message
        } else if !path.starts_with("/api/") && wants_page(headers) {
            let navigation = self.0.site.navigation;
            Form::Page(navigation, Subject::of(path, navigation))
        } else {
            Form::Details
        }
    }

    async fn routed(&self, peer: SocketAddr, request: Request<Body>) -> Response {
        let began = Instant::now();
        let client = Client::of(peer, request.headers());
        let id = self.request_id(peer, request.headers());
        let method = request.method().clone();
        let path = request.uri().path().to_owned();
        let form = self.form(&path, request.headers());

        let mut response = match cross_site::check(&method, request.uri(), request.headers()) {
            Ok(()) => self.within_time(peer, client, &id, request).await,
            Err(error) => Problem::from(error).into_response(),
        };
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            response = problem.render(response, form, &id);
            log_problem(&problem, &method, &path, &id);
        }
        headers::add(&mut response, self.0.over_tls);
        response.headers_mut().insert(request_id::HEADER, id.header_value());
        let route = response
            .extensions()
            .get::<MatchedPath>()
            .map_or("none", MatchedPath::as_str)
            .to_owned();
        instruments::request(&method, &route, response.status(), began);
        if self.0.site.settings.access_log {
            let elapsed_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            tracing::info!(request_id = %id, %method, path, status = response.status().as_u16(), elapsed_us, "request");
        }
        response
    }

    async fn within_time(
        &self,
        peer: SocketAddr,
        client: Client,
        id: &RequestId,
        mut request: Request<Body>,
    ) -> Response {
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(client);
        request.extensions_mut().insert(id.clone());
        let settings = &self.0.site.settings;
        let announced = request.body().size_hint().lower();
        let mut time = settings.request_timeout;
        let longer = settings.time_for(announced);
        // Few requests are so long that more is to be known of them.
        if !longer.is_zero() && picture::may_come(request.uri().path(), request.headers()) {
            time += longer;
        }
        let answer = AssertUnwindSafe(self.0.router.clone().oneshot(request)).catch_unwind();
        match tokio::time::timeout(time, answer).await {
            Ok(Ok(Ok(response))) => response,
            Ok(Ok(Err(never))) => match never {},
            Ok(Err(_panic)) => {
                Problem::from(lodge_domain::Error::internal("a handler panicked")).into_response()
            }
            Err(_late) => {
                Problem::from(lodge_domain::Error::unavailable("the request ran out of time"))
                    .into_response()
            }
        }
    }
}

impl Answer for Front {
    async fn answer(&self, peer: SocketAddr, request: Request<Incoming>) -> Response {
        match self.redirect_at_once(peer, &request) {
            Some(response) => response,
            // Boxed, so that every connection does not carry the router's large future.
            None => Box::pin(self.routed(peer, request.map(Body::new))).await,
        }
    }

    fn end_streams(&self) {
        self.0.site.end.cancel();
    }
}

/// Notes the route on the answer, for the instruments outside of the router.
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

fn log_problem(problem: &Problem, method: &Method, path: &str, id: &RequestId) {
    let cause = problem.cause.as_deref().unwrap_or(&problem.detail);
    let status = problem.status.as_u16();
    if problem.status == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::error!(request_id = %id, %method, path, status, cause, "request failed");
    // One without a cause is a limit that does what it is for.
    } else if problem.status.is_server_error() && problem.cause.is_some() {
        tracing::warn!(request_id = %id, %method, path, status, cause, "request refused");
    } else {
        tracing::debug!(request_id = %id, %method, path, status, cause, "request refused");
    }
}
