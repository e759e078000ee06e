//! Composes the site from its apps: each has its own state and the shared context.

use std::sync::{Arc, atomic::AtomicBool};

use http::Method;
use lodge_domain::{
    Clock, Random,
    accounts::{AccountsClient, Pictures},
    board::{Board, Hooks},
    key_sessions::KeySessions,
    keys::Keys,
    links::Links,
    rides::Rides,
    secret::{InstallationSecret, SecretText},
    security::SecurityRecorder,
};
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi;

use crate::{
    accounts::{self, AccountsApp},
    admin::overview,
    api_docs::{self, ApiDocs},
    board::{self, BoardApp, HooksApp},
    body_budget::{BodyBudget, Shares},
    context::SiteContext,
    edge::limits::AddressLimit,
    links::{self, LinksApp, LinksData},
    pages::{Navigation, assets},
    personal_data::PersonalData,
    pictures::Uploads,
    rides::{self, RidesApp, passes::LeaderProfileData},
    routes::Routes,
    settings::SiteSettings,
    sign_in,
};

/// The memory budget for request bodies in transfer, in KiB.
const BODIES_KIB_MAX: usize = 32 * 1024;

/// The services and settings that all apps share.
pub struct Site {
    /// Authenticates API keys.
    pub keys: Keys,
    /// The page sessions of API keys.
    pub key_sessions: KeySessions,
    /// The accounts service; `None` if accounts are disabled.
    pub accounts: Option<AccountsClient>,
    /// Signs what idempotency keys are compared by.
    pub secret: InstallationSecret,
    /// Records security events.
    pub security: Arc<dyn SecurityRecorder>,
    /// The code with which the first admin is made; `None` if another process keeps the accounts.
    pub setup_code: Option<SecretText>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of unpredictable randomness.
    pub random: Arc<dyn Random>,
    /// The settings of the HTTP edge.
    pub settings: SiteSettings,
}

/// The enabled apps beside accounts, which belong to [`Site`].
#[derive(Default, Clone)]
pub struct Apps {
    /// Short links.
    pub links: Option<Arc<Links>>,
    /// Pictures of accounts; present if accounts are enabled.
    pub pictures: Option<Pictures>,
    /// Lift rides.
    pub rides: Option<Arc<Rides>>,
    /// The message board; served only if accounts are enabled.
    pub board: Option<Arc<Board>>,
    /// The webhooks of the board.
    pub hooks: Option<Arc<Hooks>>,
}

impl Site {
    /// Builds the shared context and the routes of all apps.
    pub(crate) fn composed(self, apps: Apps) -> (Arc<SiteContext>, Arc<Uploads>, Routes) {
        let settings = self.settings;
        let has_accounts = self.accounts.is_some();
        let menus = [
            (apps.links.is_some(), links::MENU),
            (apps.board.is_some() && has_accounts, board::MENU),
            (apps.rides.is_some(), rides::MENU),
            (has_accounts, accounts::MENU),
        ];
        let enabled = menus.into_iter().filter(|(is_on, _)| *is_on).map(|(_, menu)| menu);
        let navigation = Navigation(enabled.collect());
        let admin = [
            Some(accounts::ADMIN),
            apps.links.as_ref().map(|_| links::ADMIN),
            apps.board.as_ref().map(|_| board::ADMIN),
            apps.rides.as_ref().map(|_| rides::ADMIN),
        ];
        let uploads = Arc::new(Uploads::new(&settings));
        let site = Arc::new(SiteContext {
            keys: self.keys,
            key_sessions: self.key_sessions,
            accounts: self.accounts,
            open_sign_up: settings.open_sign_up,
            secret: self.secret,
            security: self.security,
            clock: self.clock,
            random: self.random,
            public_url: settings.public_url.clone(),
            trusted_proxies: Arc::clone(&settings.trusted_proxies),
            request_timeout: settings.request_timeout,
            navigation,
            admin: admin.into_iter().flatten().collect(),
            setup_code: self.setup_code,
            has_admin: AtomicBool::new(false),
            credential_limit: AddressLimit::per_minute(settings.attempts_per_minute),
            body_budget: BodyBudget::new(BODIES_KIB_MAX, Shares::USUAL),
            shutdown: CancellationToken::new(),
        });
        let routes = apps.routes(&site, &settings, &uploads);
        (site, uploads, routes)
    }
}

impl Apps {
    /// The routes of the apps, and the ones that belong to no app.
    fn routes(
        self,
        site: &Arc<SiteContext>,
        settings: &SiteSettings,
        uploads: &Arc<Uploads>,
    ) -> Routes {
        let mut routes = assets::routes();
        let has = |app| site.navigation.has(app);
        if site.navigation.has_sign_in() {
            routes = routes.merge(sign_in::routes().with(Arc::clone(site)));
        }
        let own_links = self.links.clone().map(|links| {
            let clock = Arc::clone(&site.clock);
            Box::new(LinksData { links, clock }) as Box<dyn PersonalData>
        });
        if let Some(links) = self.links {
            let app = LinksApp::new(Arc::clone(site), links, settings);
            routes = routes.merge(links::routes().with(app.clone()));
            if site.accounts.is_some() {
                routes = routes.merge(links::admin().with(app));
            }
        }
        if let Some((accounts, pictures)) = site.accounts.clone().zip(self.pictures) {
            let passes =
                self.rides.iter().map(|rides| Box::new(Arc::clone(rides)) as Box<dyn PersonalData>);
            let profile = self.rides.iter().map(|rides| {
                Box::new(LeaderProfileData(Arc::clone(rides))) as Box<dyn PersonalData>
            });
            let messages =
                self.board.iter().map(|board| Box::new(Arc::clone(board)) as Box<dyn PersonalData>);
            let kept = own_links.into_iter().chain(passes).chain(profile).chain(messages).collect();
            let pictures = (pictures, Arc::clone(uploads));
            let app = AccountsApp::new(Arc::clone(site), accounts, pictures, kept, settings);
            routes = routes.merge(accounts::routes().with(app.clone()));
            routes = routes.merge(overview::routes().with(Arc::clone(site)));
            if !has("links") && !site.navigation.is_board_alone() {
                routes = routes.merge(accounts::start().with(app));
            }
        }
        if let Some(rides) = self.rides {
            let app = RidesApp::new(Arc::clone(site), rides, settings);
            routes = routes.merge(rides::routes().with(app.clone()));
            if !has("links") && !has("accounts") {
                routes = routes.merge(rides::start().with(app.clone()));
            }
            if site.accounts.is_some() {
                routes = routes.merge(rides::passes::routes().merge(rides::admin()).with(app));
            }
        }
        if let Some((board, accounts)) = self.board.zip(site.accounts.clone()) {
            let uploads = Arc::clone(uploads);
            let app = BoardApp::new(Arc::clone(site), board, accounts, uploads, settings);
            routes = routes.merge(board::routes().with(app.clone()));
            if site.navigation.is_board_alone() {
                routes = routes.merge(board::start().with(app.clone()));
            }
            if let Some(hooks) = self.hooks {
                let app = HooksApp::new(app, hooks);
                routes = routes.merge(board::hooks_api::routes().with(app));
            }
        }
        let docs = ApiDocs::new(Arc::clone(site), [routes.document()]);
        routes.merge(api_docs::routes().with(docs))
    }
}

/// Returns, by app, the `OpenAPI` document and the routes as method and path.
fn described() -> [(OpenApi, Vec<(Method, String)>); 12] {
    [
        links::routes().described(),
        links::admin().described(),
        rides::admin().described(),
        overview::routes().described(),
        accounts::routes().described(),
        rides::routes().described(),
        rides::passes::routes().described(),
        board::routes().described(),
        board::hooks_api::routes().described(),
        assets::routes().described(),
        sign_in::routes().described(),
        api_docs::routes().described(),
    ]
}

/// Lists the routes of all apps, as method and path.
pub(crate) fn routes() -> Vec<(Method, String)> {
    described().into_iter().flat_map(|(_, list)| list).collect()
}

/// Returns the `OpenAPI` documents of all apps.
#[cfg(test)]
pub(crate) fn documents() -> [OpenApi; 12] {
    described().map(|(document, _)| document)
}
