//! The state shared by the app's handlers.

use std::sync::Arc;

use http::HeaderMap;
use lodge_domain::{
    Error, Result,
    rides::{
        EXPORTS_MAX, Leader, NamedLeader, Recorded, RideEventId, Rides, SEARCHES_MAX, Sender,
        SkierId,
    },
};

use super::{live::Live, number};
use crate::{
    body_budget::{BodyBudget, BodySender, Shares},
    context::{App, SiteContext},
    edge::{
        address::Client,
        limits::{AddressLimit, SharedRateLimit},
        stream::{StreamLimits, Streams},
    },
    error::Problem,
    request::{self, with_field_name},
    settings::SiteSettings,
};

/// The header whose value becomes the id of an event or the key of a batch; errors name it.
pub(super) const KEY_HEADER: &str = "Idempotency-Key";

/// Memory for all batches in flight, from the first byte of the request to the last byte of the response, in KiB.
const BATCHES_KIB_MAX: usize = 128 * 1024;

/// The largest batch needs a sixth of the whole.
const BATCH_SHARES: Shares = Shares { unknown: 4, known: 2 };

/// Concurrent exports of one address.
const EXPORTS_PER_ADDRESS: usize = 2;

/// Concurrent searches of one address: two addresses at their limit leave places for others.
const SEARCHES_PER_ADDRESS: usize = 2;

/// The rides service and the site that serves it.
pub(crate) type RidesApp = App<RidesParts>;

/// The parts that all handlers share.
pub(crate) struct RidesParts {
    pub(crate) rides: Arc<Rides>,
    /// Memory of batches. Requests never wait for it: a waiting request holds memory that others wait for.
    pub(super) batch_budget: Arc<BodyBudget>,
    /// Streams of the newest day's counts.
    pub(super) live: Live,
    /// Limits concurrent exports.
    pub(super) exports: Streams,
    /// Limits concurrent searches.
    pub(super) searches: Streams,
    /// Limits the events of all senders together.
    events: Option<SharedRateLimit>,
    /// Limits the events of one address without a gate key.
    senders: Option<AddressLimit>,
}

impl RidesApp {
    /// Creates the app on a site.
    pub(crate) fn new(site: Arc<SiteContext>, rides: Arc<Rides>, settings: &SiteSettings) -> Self {
        let listeners = StreamLimits::among(settings.connections_max);
        let exports = StreamLimits { places: EXPORTS_MAX, per_address: EXPORTS_PER_ADDRESS };
        let searches = StreamLimits { places: SEARCHES_MAX, per_address: SEARCHES_PER_ADDRESS };
        let parts = RidesParts {
            rides,
            batch_budget: BodyBudget::new(BATCHES_KIB_MAX, BATCH_SHARES),
            live: Live::until(site.shutdown.clone(), listeners),
            exports: Streams::new("export", exports, site.shutdown.clone()),
            searches: Streams::new("search", searches, site.shutdown.clone()),
            events: SharedRateLimit::per_second(settings.ride_events_per_second),
            senders: AddressLimit::per_minute(settings.rides_per_minute),
        };
        Self::on(site, parts)
    }

    /// Returns the sender of a request: the gate of the key in `Authorization: Bearer`, or an anonymous client.
    pub(super) async fn sender(&self, headers: &HeaderMap) -> Result<Sender> {
        self.rides.gates().authenticate(request::bearer(headers)).await
    }

    /// Parses a skier's number.
    pub(super) fn skier(&self, text: &str) -> Result<SkierId> {
        self.rides.catalog().skier(number::digits(text.trim()))
    }

    /// Adds the holders of passes to the entries of a leaderboard; none if accounts are disabled, because their
    /// owners could not withdraw their profiles.
    pub(super) async fn named(&self, leaders: Vec<Leader>) -> Result<Vec<NamedLeader>> {
        if self.site.accounts.is_some() {
            return self.rides.named(leaders).await;
        }
        let unnamed = |leader| NamedLeader { leader, holder: None };
        Ok(leaders.into_iter().map(unnamed).collect())
    }

    /// Returns whose share of memory a body uses.
    pub(super) fn body_sender(client: Client, sender: &Sender) -> BodySender {
        match sender {
            Sender::Anonymous => BodySender::unknown(client),
            Sender::Gate(_) => BodySender::known(client),
        }
    }

    /// Admits all events of a request or none. Without a gate key the limit of the address is taken first, so
    /// that an address over its limit uses up nothing of the global limit.
    pub(super) fn admit(
        &self,
        client: Client,
        sender: &Sender,
        events: u32,
    ) -> Result<(), Problem> {
        if let (Some(limit), Sender::Anonymous) = (&self.senders, sender) {
            let whose = "a minute without a gate key";
            limit.take_many(client, events, |most| too_many_lines(most, whose))?;
        }
        let Some(limit) = &self.events else { return Ok(()) };
        if events > limit.most() {
            return Err(too_many_lines(limit.most(), "in one request").into());
        }
        limit.take(events)
    }

    /// Counts events that a limit refused.
    pub(super) fn refuse_limited(&self, events: u32) {
        metrics::counter!("lodge_rides_limited_total").increment(events.into());
        self.rides.refuse(events.into());
    }
}

fn too_many_lines(most: u32, whose: &str) -> Error {
    Error::invalid("body", format!("must be at most {most} lines {whose}"))
}

/// Parses an event's id; errors call it `field`.
pub(super) fn event_id(field: &'static str, text: &str) -> Result<RideEventId> {
    text.parse().map_err(|error| with_field_name(field, error))
}

/// Parses a number and looks up what it identifies; errors call it `field`.
pub(super) fn numbered<T>(
    field: &'static str,
    digits: &str,
    of: impl FnOnce(u64) -> Result<T>,
) -> Result<T> {
    of(number::digits(digits)).map_err(|error| with_field_name(field, error))
}

/// Returns whether an accepted event is a duplicate, or the error for a refused one, which calls its id `field`.
pub(super) fn is_duplicate(recorded: Recorded, field: &'static str) -> Result<bool> {
    match recorded {
        Recorded::Stored => Ok(false),
        Recorded::Duplicate => Ok(true),
        Recorded::OtherEvent => {
            Err(Error::invalid(field, "was already used for a different event"))
        }
        Recorded::NothingToVoid => Err(Error::not_found("there is no such ride to void")),
        Recorded::AlreadyVoided => Err(Error::conflict("this ride is already void")),
        Recorded::KeyReused => Err(Error::KeyReused),
    }
}
