//! What the app's handlers work with.

use std::sync::Arc;

use axum::extract::FromRef;
use http::HeaderMap;
use lodge_domain::{
    Error, Result,
    rides::{EXPORTS_MAX, EventId, Recorded, Rides, Sender, What},
};
use tokio::sync::Semaphore;

use super::live::Live;
use crate::{
    Site,
    edge::{
        limits::RateLimit,
        stream::{Bounds, Streams},
    },
    request,
};

/// All batches together that are on their way at one time, in KiB of memory.
const BATCHES_KIB_MAX: usize = 128 * 1024;

/// Exports that one address may have under way.
const EXPORTS_PER_ADDRESS: usize = 2;

/// The service, and the site that it is served on.
#[derive(Clone)]
pub(crate) struct RidesApp {
    pub(crate) site: Arc<Site>,
    pub(crate) rides: Arc<Rides>,
    /// Room for batches, in KiB.
    pub(super) batch_room: Arc<Semaphore>,
    /// What changes.
    pub(super) live: Arc<Live>,
    /// Places for exports.
    pub(super) exports: Arc<Streams>,
}

impl FromRef<RidesApp> for Arc<Site> {
    fn from_ref(app: &RidesApp) -> Self {
        Self::clone(&app.site)
    }
}

impl RidesApp {
    /// The app on a site.
    pub(crate) fn new(site: Arc<Site>, rides: Arc<Rides>) -> Self {
        let listeners = Bounds::among(site.settings.connections_max);
        let live = Arc::new(Live::until(site.end.clone(), listeners));
        let exports = Bounds { places: EXPORTS_MAX, per_address: EXPORTS_PER_ADDRESS };
        let exports = Arc::new(Streams::new("export", exports, site.end.clone()));
        let batch_room = Arc::new(Semaphore::new(BATCHES_KIB_MAX));
        Self { site, rides, batch_room, live, exports }
    }

    /// Who sends a request: a gate, by its key in `Authorization: Bearer`, or nobody.
    pub(super) async fn sender(&self, headers: &HeaderMap) -> Result<Sender> {
        self.rides.gates.authenticate(request::bearer(headers)).await
    }

    /// Lets an event in, if whoever sends it may tell it, and takes it from everybody's share.
    pub(super) fn admit(&self, sender: &Sender, what: &What) -> Result<()> {
        sender.check(what)?;
        self.take_share()
    }

    /// Takes one from everybody's share of events.
    pub(super) fn take_share(&self) -> Result<()> {
        self.site.ride_events.as_ref().map_or(Ok(()), RateLimit::take)
    }
}

/// An event's id, of which `field` is the caller's name.
pub(super) fn event_id(field: &'static str, text: &str) -> Result<EventId> {
    text.parse().map_err(|error| called(field, error))
}

/// Names what is wrong as the caller does.
pub(super) fn called(field: &'static str, error: Error) -> Error {
    match error {
        Error::Invalid { reason, .. } => Error::invalid(field, reason),
        other => other,
    }
}

/// Whether an event is kept, and was before; or why it is not. `field` is the caller's name of its id.
pub(super) fn kept(recorded: Recorded, field: &'static str) -> Result<bool> {
    match recorded {
        Recorded::Stored => Ok(false),
        Recorded::Duplicate => Ok(true),
        Recorded::OtherEvent => Err(Error::invalid(field, "was given to another event before")),
        Recorded::NothingToVoid => Err(Error::not_found("there is no such ride to be void")),
        Recorded::VoidAlready => Err(Error::conflict("this ride is void already")),
    }
}
