//! What the app's handlers work with.

use std::sync::Arc;

use lodge_domain::accounts::{AccountsClient, Pictures};

use crate::{
    context::{App, SiteContext},
    edge::{
        limits::AddressLimit,
        stream::{Bounds, Streams},
    },
    kept::Kept,
    pictures::Uploads,
    settings::SiteSettings,
};

/// Fields that one address may have checked a minute as they are typed.
const CHECKS_PER_MINUTE: u32 = 240;

/// Files of what is kept that are under way at once, and of those for one address.
const EXPORTS: Bounds = Bounds { places: 4, per_address: 2 };

/// The service, and the site that it is served on.
pub(crate) type AccountsApp = App<Parts>;

/// What there is one of.
pub(crate) struct Parts {
    pub(crate) accounts: AccountsClient,
    pub(crate) pictures: Pictures,
    pub(super) uploads: Arc<Uploads>,
    /// What the other apps keep about people.
    pub(super) kept: Vec<Box<dyn Kept>>,
    /// Places for files of what is kept.
    pub(super) exports: Streams,
    /// Accounts that an address may make.
    pub(super) sign_ups: Option<AddressLimit>,
    /// Fields that an address may have checked.
    pub(super) checks: Option<AddressLimit>,
}

impl AccountsApp {
    /// The app on a site.
    pub(crate) fn new(
        site: Arc<SiteContext>,
        accounts: AccountsClient,
        (pictures, uploads): (Pictures, Arc<Uploads>),
        kept: Vec<Box<dyn Kept>>,
        settings: &SiteSettings,
    ) -> Self {
        let parts = Parts {
            exports: Streams::new("account_export", EXPORTS, site.end.clone()),
            sign_ups: AddressLimit::per_minute(settings.sign_ups_per_minute),
            checks: AddressLimit::per_minute(CHECKS_PER_MINUTE),
            accounts,
            pictures,
            uploads,
            kept,
        };
        Self::on(site, parts)
    }
}
