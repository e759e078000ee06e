//! The state of the accounts handlers.

use std::sync::Arc;

use lodge_domain::accounts::{AccountsClient, Pictures};

use crate::{
    context::{App, SiteContext},
    edge::{
        limits::AddressLimit,
        stream::{StreamLimits, Streams},
    },
    personal_data::PersonalData,
    pictures::Uploads,
    settings::SiteSettings,
};

/// Checks of fields while they are typed, per minute and address.
const CHECKS_PER_MINUTE: u32 = 240;

/// The limits of concurrent account exports.
const EXPORTS: StreamLimits = StreamLimits { places: 4, per_address: 2 };

/// The state: the shared context and [`Parts`].
pub(crate) type AccountsApp = App<Parts>;

/// The services and limits of the accounts app.
pub(crate) struct Parts {
    pub(crate) accounts: AccountsClient,
    pub(crate) pictures: Pictures,
    pub(super) uploads: Arc<Uploads>,
    /// The personal data that other apps store.
    pub(super) personal_data: Vec<Box<dyn PersonalData>>,
    /// The slots for account exports.
    pub(super) exports: Streams,
    /// Limits the sign-ups of one address; `None` is no limit.
    pub(super) sign_ups: Option<AddressLimit>,
    /// Limits the field checks of one address.
    pub(super) checks: Option<AddressLimit>,
}

impl AccountsApp {
    /// Makes the state.
    pub(crate) fn new(
        site: Arc<SiteContext>,
        accounts: AccountsClient,
        (pictures, uploads): (Pictures, Arc<Uploads>),
        kept: Vec<Box<dyn PersonalData>>,
        settings: &SiteSettings,
    ) -> Self {
        let parts = Parts {
            exports: Streams::new("account_export", EXPORTS, site.shutdown.clone()),
            sign_ups: AddressLimit::per_minute(settings.sign_ups_per_minute),
            checks: AddressLimit::per_minute(CHECKS_PER_MINUTE),
            accounts,
            pictures,
            uploads,
            personal_data: kept,
        };
        Self::on(site, parts)
    }
}
