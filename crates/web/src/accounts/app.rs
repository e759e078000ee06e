//! What the app's handlers work with.

use std::sync::Arc;

use axum::extract::FromRef;
use lodge_domain::accounts::{AccountsClient, Pictures};

use crate::{Site, edge::stream::Streams, kept::Kept};

/// The service, and the site that it is served on.
#[derive(Clone)]
pub(crate) struct AccountsApp {
    pub(crate) site: Arc<Site>,
    pub(crate) accounts: AccountsClient,
    pub(crate) pictures: Pictures,
    /// What the other apps keep about people.
    pub(crate) kept: Arc<[Box<dyn Kept>]>,
    /// Places for files of what is kept.
    pub(crate) exports: Arc<Streams>,
}

impl FromRef<AccountsApp> for Arc<Site> {
    fn from_ref(app: &AccountsApp) -> Self {
        Self::clone(&app.site)
    }
}
