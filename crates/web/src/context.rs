//! The state that the handlers of all apps share.

use std::{
    ops::Deref,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use axum::extract::FromRef;
use lodge_domain::{
    Clock, Random,
    accounts::AccountsClient,
    key_sessions::KeySessions,
    keys::Keys,
    secret::{InstallationSecret, SecretText},
    security::SecurityRecorder,
};
use tokio_util::sync::CancellationToken;

use crate::{
    admin::sections::Section,
    body_budget::BodyBudget,
    edge::{limits::AddressLimit, proxies::TrustedProxies},
    pages::Navigation,
};

/// The shared part of the state: authentication, clock, randomness and common limits. The services and limits of one
/// app are in the state of that app.
pub(crate) struct SiteContext {
    /// Authenticates API keys.
    pub(crate) keys: Keys,
    /// The page sessions of API keys.
    pub(crate) key_sessions: KeySessions,
    /// The accounts service; `None` if accounts are disabled.
    pub(crate) accounts: Option<AccountsClient>,
    /// Whether visitors may create accounts.
    pub(crate) open_sign_up: bool,
    /// Signs what idempotency keys are compared by.
    pub(crate) secret: InstallationSecret,
    /// Records security events.
    pub(crate) security: Arc<dyn SecurityRecorder>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    /// The public base URL, without a trailing slash; `None` derives it from each request's `Host`.
    pub(crate) public_url: Option<String>,
    /// The proxies whose headers name the client and its scheme.
    pub(crate) trusted_proxies: Arc<TrustedProxies>,
    /// The time from the head of a request to the head of its response.
    pub(crate) request_timeout: Duration,
    /// The enabled apps and their menus.
    pub(crate) navigation: Navigation,
    /// What staff can manage of the enabled apps.
    pub(crate) admin: Vec<Section>,
    /// The code with which the first admin is made; `None` if another process keeps the accounts.
    pub(crate) setup_code: Option<SecretText>,
    /// Whether an admin was seen.
    pub(crate) has_admin: AtomicBool,
    /// Limits the passwords and keys that one address may try; `None` is no limit.
    pub(crate) credential_limit: Option<AddressLimit>,
    /// The memory for request bodies in transfer.
    pub(crate) body_budget: Arc<BodyBudget>,
    /// Cancelled at shutdown, to end all streams.
    pub(crate) shutdown: CancellationToken,
}

/// The state of the handlers of one app: the shared context and the app's own part. Cloned for every request.
pub(crate) struct App<T> {
    pub(crate) site: Arc<SiteContext>,
    own: Arc<T>,
}

impl<T> App<T> {
    /// Joins the shared context and the state of an app.
    pub(crate) fn on(site: Arc<SiteContext>, own: T) -> Self {
        Self { site, own: Arc::new(own) }
    }
}

impl<T> Clone for App<T> {
    fn clone(&self) -> Self {
        Self { site: Arc::clone(&self.site), own: Arc::clone(&self.own) }
    }
}

impl<T> Deref for App<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.own
    }
}

impl<T> FromRef<App<T>> for Arc<SiteContext> {
    fn from_ref(app: &App<T>) -> Self {
        Self::clone(&app.site)
    }
}

impl SiteContext {
    /// Whether `public_url` is https, so that headers may require TLS.
    pub(crate) fn over_tls(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }
}
