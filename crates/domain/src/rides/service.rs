//! The rides service and its ports.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    GateId, Gates, KeyedBatch, LedgerTotals, Passes, ProcessTotals, Rebuilt, Recorded,
    ResortCatalog, ResortId, Ride, RideEvent, RideEventContent, RideEventId, RideLog, RideSearch,
    RideTallies, Season, ledger::Ledger,
};
use crate::{Clock, Error, Random, Result, Tasks, random::time_ordered_id};

/// An event as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The sender's id; without one the event gets a new id and cannot be retried safely.
    pub id: Option<RideEventId>,
    /// The content.
    pub what: RideEventContent,
}

/// The outcome of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventOutcome {
    /// The event id.
    pub id: RideEventId,
    /// The outcome.
    pub recorded: Recorded,
}

/// The rides service.
pub struct Rides {
    pub(super) stores: RideStores,
    gates: Gates,
    passes: Passes,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    pub(super) catalog: ResortCatalog,
    tasks: Arc<dyn Tasks>,
    ledger: Ledger,
}

/// The stores of the service.
pub struct RideStores {
    /// The event log.
    pub log: Arc<dyn RideLog>,
    /// The sums of rides.
    pub tallies: Arc<dyn RideTallies>,
    /// The search for what no sum answers.
    pub search: Arc<dyn RideSearch>,
}

impl Rides {
    /// Creates the service; `tasks` completes recordings whose callers disconnect.
    pub fn new(
        stores: RideStores,
        gates: Gates,
        passes: Passes,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        tasks: Arc<dyn Tasks>,
        catalog: ResortCatalog,
    ) -> Self {
        let ledger = Ledger::default();
        Self { stores, gates, passes, clock, random, catalog, tasks, ledger }
    }

    /// Returns the sums of rides.
    pub fn tallies(&self) -> &dyn RideTallies {
        &*self.stores.tallies
    }

    /// Returns the search, which also exports rides.
    pub fn search(&self) -> &dyn RideSearch {
        &*self.stores.search
    }

    /// Returns the gates service.
    pub fn gates(&self) -> &Gates {
        &self.gates
    }

    /// Returns the passes service.
    pub fn passes(&self) -> &Passes {
        &self.passes
    }

    /// Returns the resort catalog.
    pub fn catalog(&self) -> &ResortCatalog {
        &self.catalog
    }

    /// Stores events together and returns their outcomes in order. After an error the outcome of every event may be
    /// unknown; a retry is safe for events with ids. The ledger counts the outcomes even if the caller is dropped.
    /// If the key of `batch` was used for another body, nothing is stored: [`Error::KeyReused`].
    pub async fn record(
        &self,
        gate: GateId,
        batch: Option<KeyedBatch>,
        new: Vec<NewEvent>,
    ) -> Result<Vec<EventOutcome>> {
        let events: Vec<_> = new.into_iter().map(|new| self.complete(gate, new)).collect();
        let ids: Vec<_> = events.iter().map(|event| event.id.clone()).collect();
        let log = Arc::clone(&self.stores.log);
        let stored = async move {
            match batch {
                Some(batch) => log.record_batch(batch, events).await,
                None => log.record(events).await,
            }
        };
        let recorded = self.ledger.record(Arc::clone(&self.tasks), ids.len(), stored).await?;
        if recorded.contains(&Recorded::KeyReused) {
            return Err(Error::KeyReused);
        }
        let outcome = |(id, recorded)| EventOutcome { id, recorded };
        Ok(ids.into_iter().zip(recorded).map(outcome).collect())
    }

    /// Voids a ride of `gate`, or one sent without a key, which only the operator may void; returns the ride.
    ///
    /// [`Error::NotFound`] if there is no such ride, [`Error::Conflict`] if it is already void.
    pub async fn void(&self, gate: GateId, id: RideEventId) -> Result<Ride> {
        let found =
            self.stores.search.event(gate, id.clone()).await?.ok_or_else(|| no_such_ride(gate))?;
        if found.voids.is_some() {
            return Err(Error::conflict("this event is itself a void, which cannot be voided"));
        }
        let void = NewEvent { id: None, what: RideEventContent::Void(id) };
        match self.record(gate, None, vec![void]).await?.first().map(|outcome| outcome.recorded) {
            Some(Recorded::Stored) => Ok(found.ride),
            Some(Recorded::AlreadyVoided) => Err(Error::conflict("this ride is already void")),
            other => Err(Error::internal(format!("unexpected outcome of a void: {other:?}"))),
        }
    }

    /// Returns the seasons of a resort that have rides or were added, in order.
    pub async fn seasons(&self, resort: ResortId) -> Result<BTreeSet<Season>> {
        let ridden = self.stores.tallies.seasons(resort).await?;
        let added = self.stores.log.added_seasons(resort).await?;
        Ok(ridden.into_iter().chain(added).collect())
    }

    /// Adds a season to a resort's list, even without rides. Idempotent.
    pub async fn add_season(&self, resort: ResortId, season: Season) -> Result<()> {
        self.stores.log.add_season(resort, season).await
    }

    /// Recomputes all sums from the rides, and returns which were wrong.
    pub async fn rebuild(&self) -> Result<Rebuilt> {
        self.stores.log.rebuild().await
    }

    /// Counts events that were refused as invalid or by a limit.
    pub fn refuse(&self, events: u64) {
        self.ledger.refuse(events);
    }

    /// Returns the counts of this process since it started.
    pub fn progress(&self) -> ProcessTotals {
        self.ledger.progress()
    }

    /// Returns the ledger.
    pub async fn ledger(&self) -> Result<LedgerTotals> {
        let for_ever = self.stores.log.ledger().await?;
        Ok(LedgerTotals { since_start: self.ledger.progress(), for_ever })
    }

    /// Records refused events in the store that are not recorded yet.
    pub async fn note_refused(&self) -> Result<()> {
        let events = self.ledger.take_unnoted();
        if events == 0 {
            return Ok(());
        }
        let noted = self.stores.log.note_refused(events).await;
        if noted.is_err() {
            self.ledger.put_back_unnoted(events);
        }
        noted
    }

    fn complete(&self, gate: GateId, new: NewEvent) -> RideEvent {
        let at = self.clock.now();
        let id = new.id.unwrap_or_else(|| RideEventId::Uuid(time_ordered_id(&*self.random, at)));
        RideEvent { gate, id, what: new.what, at }
    }
}

fn no_such_ride(gate: GateId) -> Error {
    Error::not_found(if gate == GateId::ANONYMOUS {
        "no event with this id was sent without a key; if a gate sent it, name the gate"
    } else {
        "this gate sent no event with this id"
    })
}
