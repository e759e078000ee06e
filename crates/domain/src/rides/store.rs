//! Keeps rides, and what is summed of them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    Breakdown, Day, DayTally, Leader, MountainDay, NamedBatch, ResortDay, ResortId, RideEvent,
    Season, SeasonVertical, SkierDay, SkierId, Span, Tally,
};
use crate::Result;

/// What came of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    /// It is stored, and counted.
    Stored,
    /// It was stored before, and says the same; nothing changed.
    Duplicate,
    /// Another event has its id; nothing changed.
    OtherEvent,
    /// There is no ride of this gate's that it could void; nothing changed.
    NothingToVoid,
    /// What it voids is void by another event; nothing changed.
    VoidAlready,
    /// The key of its batch was used for another body; nothing of the batch is stored.
    KeyReused,
}

/// What has come of all events since there is the store; counted in the transaction that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ForEver {
    /// Stored, voids too.
    pub stored: u64,
    /// Sent again, and the same as before.
    pub duplicates: u64,
    /// Refused. Those that were refused before they came to the store are noted there a little later.
    pub refused: u64,
}

impl ForEver {
    /// Accepted: stored and duplicates together.
    pub fn accepted(&self) -> u64 {
        self.stored + self.duplicates
    }
}

/// What was found to be otherwise than the rides say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rebuilt {
    /// Rides and voids that were read.
    pub events: u64,
    /// Sums that were missing, or too many, or wrong, by what they are sums of.
    pub differences: Vec<(String, u64)>,
}

/// Keeps what gates tell under the ids of the events, for ever. What [`RideTallies`] reads has changed when an
/// event is answered, and only for what was new; it is summed in the same transaction, or can be summed again
/// of what is stored. Whatever a method answers with `Ok` survives the loss of the process.
#[async_trait]
pub trait RideLog: Send + Sync {
    /// Stores events, in their order, each once; what came of each. In the case of an error nothing may be
    /// known of any of them, and the same again is safe.
    async fn record(&self, events: Vec<RideEvent>) -> Result<Vec<Recorded>>;

    /// The same for the events of a batch, all of one gate, unless the gate used its key for another body:
    /// then each of them is [`Recorded::KeyReused`]. Whose the key is changes with them, or not at all.
    async fn record_batch(
        &self,
        batch: NamedBatch,
        events: Vec<RideEvent>,
    ) -> Result<Vec<Recorded>>;

    /// Counts events that were refused before they came here.
    async fn note_refused(&self, events: u64) -> Result<()>;

    /// What has come of all events since there is this store.
    async fn ledger(&self) -> Result<ForEver>;

    /// Lists a season of a resort, though nobody has ridden in it. Repeating it changes nothing.
    async fn add_season(&self, resort: ResortId, season: Season) -> Result<()>;

    /// The seasons that were added to a resort, in order.
    async fn added_seasons(&self, resort: ResortId) -> Result<Vec<Season>>;

    /// Makes all sums anew of the rides, and says which were wrong.
    async fn rebuild(&self) -> Result<Rebuilt>;
}

/// Reads sums of rides.
#[async_trait]
pub trait RideTallies: Send + Sync {
    /// A skier's rides on a day, if there are any.
    async fn skier_day(&self, skier: SkierId, on: ResortDay) -> Result<Option<Tally>>;

    /// The days of a skier's season, by resort and day.
    async fn skier_season(&self, skier: SkierId, season: Season) -> Result<Vec<SkierDay>>;

    /// How far up a skier went in each season, oldest first; only at these resorts and in these seasons,
    /// if any are named.
    async fn skier_seasons(
        &self,
        skier: SkierId,
        resorts: Vec<ResortId>,
        seasons: Vec<Season>,
    ) -> Result<Vec<SeasonVertical>>;

    /// A resort's day, or season.
    async fn total(&self, span: Span) -> Result<DayTally>;

    /// The days of a resort's season on which somebody rode, in order.
    async fn days(&self, resort: ResortId, season: Season) -> Result<Vec<(Day, DayTally)>>;

    /// The seasons in which somebody rode at a resort, in order.
    async fn seasons(&self, resort: ResortId) -> Result<Vec<Season>>;

    /// A resort's day by lift and by hour.
    async fn breakdown(&self, on: ResortDay) -> Result<Breakdown>;

    /// Who went farthest up, farthest first, at most `limit`, which is at most [`LEADERS_MAX`]. Those who are
    /// hidden are left out, and others move up, unless more than [`HIDDEN_MAX`] would have to be passed over:
    /// then there may be fewer.
    async fn leaders(&self, span: Span, limit: usize) -> Result<Vec<Leader>>;

    /// That day at the resorts where somebody rode, with so many lifts, all as it was at one moment; without a
    /// day the last one of that season, without a season the newest one. The newest day is the last on which
    /// somebody rode at one of `resorts`, as the last thousand events say: an event of a day that is far off
    /// shows it no longer than that. `None` if nobody rode in that season and no day is named, or nobody rode
    /// there of late.
    async fn mountain_day(
        &self,
        resorts: Vec<ResortId>,
        season: Option<Season>,
        day: Option<Day>,
        lifts: usize,
    ) -> Result<Option<MountainDay>>;
}

/// How many leaders can be asked for.
pub const LEADERS_MAX: usize = 100;

/// How many hidden skiers a leaderboard can always do without.
pub const HIDDEN_MAX: usize = 400;
