//! What the handlers of every app share.

use std::{ops::Deref, sync::Arc, time::Duration};

use axum::extract::FromRef;
use lodge_domain::{
    Clock, Random, accounts::AccountsClient, keys::Keys, secret::InstallationSecret,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{edge::limits::AddressLimit, pages::Navigation};

/// The site as its apps know it: who is asking, what time it is, and the limits that all of them share. An app's own
/// services and limits are in its own state.
pub(crate) struct SiteContext {
    /// API keys.
    pub(crate) keys: Keys,
    /// Accounts, if they are served.
    pub(crate) accounts: Option<AccountsClient>,
    /// Signs page sessions.
    pub(crate) secret: InstallationSecret,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    /// Where the world reaches this site, without a last slash; where absent, what each request's `Host` says.
    pub(crate) public_url: Option<String>,
    /// How long a request may take from its head to the head of its answer.
    pub(crate) request_timeout: Duration,
    /// The apps that are served.
    pub(crate) navigation: Navigation,
    /// Passwords and keys that an address may try.
    pub(crate) attempts: Option<AddressLimit>,
    /// Room for bodies that are on their way, in KiB.
    pub(crate) body_room: Semaphore,
    /// The end of all streams.
    pub(crate) end: CancellationToken,
}

/// The state of an app's handlers: the site, and what the app has beside it. Every request has a clone.
pub(crate) struct App<T> {
    pub(crate) site: Arc<SiteContext>,
    own: Arc<T>,
}

impl<T> App<T> {
    /// The app on a site.
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
    /// Whether the world reaches this site over TLS alone, so that headers can insist on it.
    pub(crate) fn over_tls(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }
}
