//! What can be done with rides, and under which rules.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    EventId, GateId, Gates, Ledger, Mountain, NamedBatch, Passes, Progress, Rebuilt, Recorded,
    ResortId, Ride, RideEvent, RideLog, RideSearch, RideTallies, Season, What, ledger::Books,
};
use crate::{Clock, Error, Random, Result, Tasks, random::time_ordered_id};

/// An event as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What its sender calls it; without it, it gets an id here, and cannot be sent again safely.
    pub id: Option<EventId>,
    /// What it says.
    pub what: What,
}

/// What came of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What it is called.
    pub id: EventId,
    /// What came of it.
    pub recorded: Recorded,
}

/// The service.
pub struct Rides {
    pub(super) stores: RideStores,
    gates: Gates,
    passes: Passes,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    pub(super) mountain: Mountain,
    tasks: Arc<dyn Tasks>,
    books: Books,
}

/// Where rides are kept, and read.
pub struct RideStores {
    /// Keeps the rides.
    pub log: Arc<dyn RideLog>,
    /// Keeps their sums.
    pub tallies: Arc<dyn RideTallies>,
    /// Answers what no sum can.
    pub search: Arc<dyn RideSearch>,
}

impl Rides {
    /// Rides on this mountain, kept there; `tasks` go on with what somebody sent who has gone.
    pub fn new(
        stores: RideStores,
        gates: Gates,
        passes: Passes,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        tasks: Arc<dyn Tasks>,
        mountain: Mountain,
    ) -> Self {
        let books = Books::default();
        Self { stores, gates, passes, clock, random, mountain, tasks, books }
    }

    /// Reads sums of rides.
    pub fn tallies(&self) -> &dyn RideTallies {
        &*self.stores.tallies
    }

    /// Searches rides, and exports them.
    pub fn search(&self) -> &dyn RideSearch {
        &*self.stores.search
    }

    /// Who sends rides.
    pub fn gates(&self) -> &Gates {
        &self.gates
    }

    /// Whose skiers' numbers are.
    pub fn passes(&self) -> &Passes {
        &self.passes
    }

    /// The resorts and the numbers that there are.
    pub fn mountain(&self) -> &Mountain {
        &self.mountain
    }

    /// Stores events together; what came of each, in their order. In the case of an error nothing may be
    /// known of any of them, and the same again is safe, if they have ids. What came of them is in the books
    /// also if nobody waits for it any more. Of a `batch` whose key was used for another body nothing is
    /// stored: [`Error::KeyReused`].
    pub async fn record(
        &self,
        gate: GateId,
        batch: Option<NamedBatch>,
        new: Vec<NewEvent>,
    ) -> Result<Vec<Outcome>> {
        let events: Vec<_> = new.into_iter().map(|new| self.complete(gate, new)).collect();
        let ids: Vec<_> = events.iter().map(|event| event.id.clone()).collect();
        let log = Arc::clone(&self.stores.log);
        let stored = async move {
            match batch {
                Some(batch) => log.record_batch(batch, events).await,
                None => log.record(events).await,
            }
        };
        let recorded = self.books.record(Arc::clone(&self.tasks), ids.len(), stored).await?;
        if recorded.contains(&Recorded::KeyReused) {
            return Err(Error::KeyReused);
        }
        let outcome = |(id, recorded)| Outcome { id, recorded };
        Ok(ids.into_iter().zip(recorded).map(outcome).collect())
    }

    /// Takes back a ride of this gate's, or of whoever has no key, as the operator alone may; which one it was.
    ///
    /// [`Error::NotFound`] if there is no such ride, [`Error::Conflict`] if it is void already.
    pub async fn void(&self, gate: GateId, id: EventId) -> Result<Ride> {
        let found =
            self.stores.search.event(gate, id.clone()).await?.ok_or_else(|| no_such_ride(gate))?;
        if found.voids.is_some() {
            return Err(Error::conflict("that event is a void itself, which stays"));
        }
        let void = NewEvent { id: None, what: What::Void(id) };
        match self.record(gate, None, vec![void]).await?.first().map(|outcome| outcome.recorded) {
            Some(Recorded::Stored) => Ok(found.ride),
            Some(Recorded::VoidAlready) => Err(Error::conflict("that ride is void already")),
            other => Err(Error::internal(format!("a void came to {other:?}"))),
        }
    }

    /// The seasons in which somebody rode at a resort, and those that were added, in order.
    pub async fn seasons(&self, resort: ResortId) -> Result<BTreeSet<Season>> {
        let ridden = self.stores.tallies.seasons(resort).await?;
        let added = self.stores.log.added_seasons(resort).await?;
        Ok(ridden.into_iter().chain(added).collect())
    }

    /// Lists a season of a resort, though nobody has ridden in it. Repeating it changes nothing.
    pub async fn add_season(&self, resort: ResortId, season: Season) -> Result<()> {
        self.stores.log.add_season(resort, season).await
    }

    /// Makes all sums anew of the rides, and says which were wrong.
    pub async fn rebuild(&self) -> Result<Rebuilt> {
        self.stores.log.rebuild().await
    }

    /// Counts events that were refused for what they said, or because there were too many.
    pub fn refuse(&self, events: u64) {
        self.books.refuse(events);
    }

    /// What this process has been sent since it started.
    pub fn progress(&self) -> Progress {
        self.books.progress()
    }

    /// The books.
    pub async fn ledger(&self) -> Result<Ledger> {
        let for_ever = self.stores.log.ledger().await?;
        Ok(Ledger { since_start: self.books.progress(), for_ever })
    }

    /// Notes in the store what was refused since the last time.
    pub async fn note_refused(&self) -> Result<()> {
        let events = self.books.take_unnoted();
        if events == 0 {
            return Ok(());
        }
        let noted = self.stores.log.note_refused(events).await;
        if noted.is_err() {
            self.books.put_back_unnoted(events);
        }
        noted
    }

    fn complete(&self, gate: GateId, new: NewEvent) -> RideEvent {
        let at = self.clock.now();
        let id = new.id.unwrap_or_else(|| EventId::Uuid(time_ordered_id(&*self.random, at)));
        RideEvent { gate, id, what: new.what, at }
    }
}

fn no_such_ride(gate: GateId) -> Error {
    Error::not_found(if gate == GateId::NOBODY {
        "nobody sent an event of that id without a key; if a gate did, name it"
    } else {
        "that gate sent no event of that id"
    })
}
