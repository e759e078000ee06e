//! The stores of rides and of their sums.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    AllResortsDay, Breakdown, Day, DayTally, KeyedBatch, Leader, ResortDay, ResortId, RideEvent,
    Season, SeasonVertical, SkierDay, SkierId, Span, Tally,
};
use crate::Result;

/// The outcome of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    /// The event is stored and counted.
    Stored,
    /// The same event was stored before; nothing changed.
    Duplicate,
    /// Another event has this id; nothing changed.
    OtherEvent,
    /// The gate has no ride with the id to void; nothing changed.
    NothingToVoid,
    /// The ride is already voided by another event; nothing changed.
    AlreadyVoided,
    /// The key of its batch was used for another body; nothing of the batch is stored.
    KeyReused,
}

/// Counts of all events since the store was created, updated in the transaction that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoreTotals {
    /// Stored, including voids.
    pub stored: u64,
    /// Sent again with the same content.
    pub duplicates: u64,
    /// Refused. Events refused before they reached the store are recorded here a little later.
    pub refused: u64,
}

impl StoreTotals {
    /// Returns the accepted events: stored ones and duplicates.
    pub fn accepted(&self) -> u64 {
        self.stored + self.duplicates
    }
}

/// The result of a rebuild: sums that did not match the rides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rebuilt {
    /// Rides and voids that were read.
    pub events: u64,
    /// Missing, extra and wrong sums, counted by kind of sum.
    pub differences: Vec<(String, u64)>,
}

/// A store of events by id, for ever. The sums that [`RideTallies`] reads have changed when an event is answered,
/// and only for new events; they are updated in the same transaction, or can be recomputed from the stored events.
/// A change that is answered with `Ok` survives the loss of the process.
#[async_trait]
pub trait RideLog: Send + Sync {
    /// Stores events in order, each once; returns their outcomes. After an error the outcome of every event may be
    /// unknown, and a retry is safe.
    async fn record(&self, events: Vec<RideEvent>) -> Result<Vec<Recorded>>;

    /// The same for the events of a batch, all of one gate; each is [`Recorded::KeyReused`] if the gate has used
    /// the key for another body. The key is bound to the body atomically with the events.
    async fn record_batch(
        &self,
        batch: KeyedBatch,
        events: Vec<RideEvent>,
    ) -> Result<Vec<Recorded>>;

    /// Counts events that were refused before they reached the store.
    async fn note_refused(&self, events: u64) -> Result<()>;

    /// Returns the counts of all events since the store was created.
    async fn ledger(&self) -> Result<StoreTotals>;

    /// Adds a season to a resort's list, even without rides. Idempotent.
    async fn add_season(&self, resort: ResortId, season: Season) -> Result<()>;

    /// Returns the seasons that were added to a resort, in order.
    async fn added_seasons(&self, resort: ResortId) -> Result<Vec<Season>>;

    /// Recomputes all sums from the rides, and returns which were wrong.
    async fn rebuild(&self) -> Result<Rebuilt>;
}

/// Reads sums of rides.
#[async_trait]
pub trait RideTallies: Send + Sync {
    /// Returns a skier's rides on a day, if there are any.
    async fn skier_day(&self, skier: SkierId, on: ResortDay) -> Result<Option<Tally>>;

    /// Returns the days of a skier's season, ordered by resort and day.
    async fn skier_season(&self, skier: SkierId, season: Season) -> Result<Vec<SkierDay>>;

    /// Returns a skier's vertical of each season, oldest first; an empty list of resorts or seasons matches all.
    async fn skier_seasons(
        &self,
        skier: SkierId,
        resorts: Vec<ResortId>,
        seasons: Vec<Season>,
    ) -> Result<Vec<SeasonVertical>>;

    /// Returns the total of a resort's day or season.
    async fn total(&self, span: Span) -> Result<DayTally>;

    /// Returns the days of a resort's season with rides, in order.
    async fn days(&self, resort: ResortId, season: Season) -> Result<Vec<(Day, DayTally)>>;

    /// Returns the seasons of a resort with rides, in order.
    async fn seasons(&self, resort: ResortId) -> Result<Vec<Season>>;

    /// Returns a resort's day by lift and by hour.
    async fn breakdown(&self, on: ResortDay) -> Result<Breakdown>;

    /// Returns the leaderboard: at most `limit` skiers, at most [`LEADERS_MAX`], by descending vertical. Hidden
    /// skiers are omitted and later ones move up, unless more than [`HIDDEN_MAX`] would have to be skipped: then
    /// there may be fewer entries.
    async fn leaders(&self, span: Span, limit: usize) -> Result<Vec<Leader>>;

    /// Returns a consistent snapshot of a day at the resorts with rides, with `lifts` lifts. Without a day it is
    /// the last one of the season, without a season the newest one. The newest day is the last with rides at one of
    /// `resorts`, judged by the last thousand events, so that one event of a distant day shows it only that long.
    /// `None` if the season has no rides and no day is given, or if there were no recent rides.
    async fn all_resorts_day(
        &self,
        resorts: Vec<ResortId>,
        season: Option<Season>,
        day: Option<Day>,
        lifts: usize,
    ) -> Result<Option<AllResortsDay>>;
}

/// The maximum entries of a leaderboard.
pub const LEADERS_MAX: usize = 100;

/// The number of hidden skiers that a leaderboard can always skip.
pub const HIDDEN_MAX: usize = 400;
