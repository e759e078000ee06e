//! What the app's handlers work with.

use std::sync::Arc;

use http::HeaderMap;
use lodge_domain::{
    Error, Result,
    rides::{EXPORTS_MAX, EventId, Recorded, Rides, SEARCHES_MAX, Sender, SkierId},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{live::Live, number};
use crate::{
    context::{App, SiteContext},
    edge::{
        address::Client,
        limits::{AddressLimit, RateLimit},
        stream::{Bounds, Streams},
    },
    error::Problem,
    request::{self, called},
    settings::SiteSettings,
};

/// The header that names an event, or a batch, in errors.
pub(super) const KEY: &str = "Idempotency-Key";

/// All batches together that are on their way at one time, from the first of their body to the last of their
/// answer, in KiB of memory.
const BATCHES_KIB_MAX: usize = 128 * 1024;

/// Exports that one address may have under way.
const EXPORTS_PER_ADDRESS: usize = 2;

/// Searches for one address at once: so many that two clients there leave places for others.
const SEARCHES_PER_ADDRESS: usize = 2;

/// The service, and the site that it is served on.
pub(crate) type RidesApp = App<Parts>;

/// What there is one of.
pub(crate) struct Parts {
    pub(crate) rides: Arc<Rides>,
    /// Room for batches, in KiB. Nobody waits for it: who waits holds what others wait for.
    pub(super) batch_room: Arc<Semaphore>,
    /// What changes.
    pub(super) live: Live,
    /// Places for exports.
    pub(super) exports: Streams,
    /// Places for searches.
    pub(super) searches: Streams,
    /// Events that everybody together may send.
    events: Option<RateLimit>,
    /// Events that an address may send without a gate's key.
    senders: Option<AddressLimit>,
}

impl RidesApp {
    /// The app on a site.
    pub(crate) fn new(site: Arc<SiteContext>, rides: Arc<Rides>, settings: &SiteSettings) -> Self {
        let listeners = Bounds::among(settings.connections_max);
        let exports = Bounds { places: EXPORTS_MAX, per_address: EXPORTS_PER_ADDRESS };
        let searches = Bounds { places: SEARCHES_MAX, per_address: SEARCHES_PER_ADDRESS };
        let parts = Parts {
            rides,
            batch_room: Arc::new(Semaphore::new(BATCHES_KIB_MAX)),
            live: Live::until(site.end.clone(), listeners),
            exports: Streams::new("export", exports, site.end.clone()),
            searches: Streams::new("search", searches, site.end.clone()),
            events: RateLimit::per_second(settings.ride_events_per_second),
            senders: AddressLimit::per_minute(settings.rides_per_minute),
        };
        Self::on(site, parts)
    }

    /// Who sends a request: a gate, by its key in `Authorization: Bearer`, or nobody.
    pub(super) async fn sender(&self, headers: &HeaderMap) -> Result<Sender> {
        self.rides.gates().authenticate(request::bearer(headers)).await
    }

    /// The skier of a number in digits.
    pub(super) fn skier(&self, text: &str) -> Result<SkierId> {
        self.rides.mountain().skier(number::digits(text.trim()))
    }

    /// Takes room for a batch.
    pub(super) fn batch_room(&self, kib: u32) -> Result<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.batch_room).try_acquire_many_owned(kib);
        room.map_err(|_| Error::unavailable("too many batches are on their way"))
    }

    /// Lets in events that somebody sends, all of them or none: first by the share of their address, if they
    /// have no key, so that what one of them has too much of is not taken from everybody's.
    pub(super) fn admit(
        &self,
        client: Client,
        sender: &Sender,
        events: u32,
    ) -> Result<(), Problem> {
        if let (Some(limit), Sender::Nobody) = (&self.senders, sender) {
            let whose = "a minute without a gate's key";
            limit.take_many(client, events, |most| too_many_lines(most, whose))?;
        }
        let Some(limit) = &self.events else { return Ok(()) };
        if events > limit.most() {
            return Err(too_many_lines(limit.most(), "here").into());
        }
        limit.take(events)
    }

    /// Counts events that were refused because there were too many.
    pub(super) fn refuse_limited(&self, events: u32) {
        metrics::counter!("lodge_rides_limited_total").increment(events.into());
        self.rides.refuse(events.into());
    }
}

fn too_many_lines(most: u32, whose: &str) -> Error {
    Error::invalid("body", format!("must be at most {most} lines {whose}"))
}

/// An event's id, of which `field` is the caller's name.
pub(super) fn event_id(field: &'static str, text: &str) -> Result<EventId> {
    text.parse().map_err(|error| called(field, error))
}

/// What a number in digits names; `field` is the caller's name of it.
pub(super) fn numbered<T>(
    field: &'static str,
    digits: &str,
    of: impl FnOnce(u64) -> Result<T>,
) -> Result<T> {
    of(number::digits(digits)).map_err(|error| called(field, error))
}

/// Whether an event is kept, and was before; or why it is not. `field` is the caller's name of its id.
pub(super) fn kept(recorded: Recorded, field: &'static str) -> Result<bool> {
    match recorded {
        Recorded::Stored => Ok(false),
        Recorded::Duplicate => Ok(true),
        Recorded::OtherEvent => Err(Error::invalid(field, "was given to another event before")),
        Recorded::NothingToVoid => Err(Error::not_found("there is no such ride to be void")),
        Recorded::VoidAlready => Err(Error::conflict("this ride is void already")),
        Recorded::KeyReused => Err(Error::KeyReused),
    }
}
