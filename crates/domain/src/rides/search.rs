//! Questions about rides that no page asks: filtered and grouped by whatever is known of them.

use std::{ops::RangeInclusive, str::FromStr};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Day, EventId, GateId, LiftId, Minute, ResortDay, ResortId, Ride, Season, SkierId, Tally,
};
use crate::{Error, Result, names::names};

/// Groups that can be asked for at once.
pub const GROUPS_MAX: usize = 10_000;

/// Exports of a season that are under way at once; each reads a page at a time.
pub const EXPORTS_MAX: usize = 4;

/// Searches that are under way at once, or wait.
pub const SEARCHES_MAX: usize = 5;

/// What rides can be told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// The season.
    Season,
    /// The resort.
    Resort,
    /// The day.
    Day,
    /// The hour.
    Hour,
    /// The lift.
    Lift,
    /// The skier.
    Skier,
}

names!(Dimension {
    Season = "season",
    Resort = "resort",
    Day = "day",
    Hour = "hour",
    Lift = "lift",
    Skier = "skier",
});

impl FromStr for Dimension {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::named(text).ok_or_else(|| Error::invalid("by", format!("must be of {}", names())))
    }
}

/// Which groups come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupOrder {
    /// Those with the lowest numbers, in the order of [`RideQuery::by`].
    #[default]
    Numbers,
    /// Those with the most rides; where there are as many, the lowest numbers.
    Rides,
    /// Those that go farthest up; where they go as far, the lowest numbers.
    Vertical,
}

impl FromStr for GroupOrder {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "rides" => Ok(Self::Rides),
            "vertical" => Ok(Self::Vertical),
            _ => Err(Error::invalid("order", "must be rides or vertical")),
        }
    }
}

/// Which rides, and how they are told apart. What is empty or `None` leaves nothing out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RideQuery {
    /// Of these seasons.
    pub seasons: Vec<Season>,
    /// At these resorts.
    pub resorts: Vec<ResortId>,
    /// On these days.
    pub days: Option<RangeInclusive<Day>>,
    /// In these minutes.
    pub minutes: Option<RangeInclusive<Minute>>,
    /// By these lifts.
    pub lifts: Vec<LiftId>,
    /// Of these skiers.
    pub skiers: Vec<SkierId>,
    /// Told apart by these, each at most once; by none, they are one group.
    pub by: Vec<Dimension>,
    /// Whether the different skiers of each group are to be counted, which takes longer.
    pub count_skiers: bool,
    /// Which groups come first.
    pub order: GroupOrder,
    /// At most so many groups, the first in that order; 1 to [`GROUPS_MAX`].
    pub limit: usize,
}

/// Rides that are the same in all that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RideGroup {
    /// What they are the same in, in the order of [`RideQuery::by`].
    pub key: Vec<u32>,
    /// How many, and how far up.
    pub tally: Tally,
    /// Different skiers, if they were to be counted.
    pub skiers: Option<u64>,
}

/// What was read for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadFrom {
    /// Sums that were there.
    Sums,
    /// Every ride that was asked about.
    Rides,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RidesFound {
    /// The groups, in order; those without a ride left out.
    pub groups: Vec<RideGroup>,
    /// Whether there are more than were asked for.
    pub more: bool,
    /// Where they were read.
    pub read_from: ReadFrom,
}

/// An event, as it is exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRide {
    /// Where the next page goes on.
    pub place: RidePlace,
    /// Who sent it.
    pub gate: GateId,
    /// What it is called there.
    pub id: EventId,
    /// The ride, or the one that it takes back.
    pub ride: Ride,
    /// Which event it takes back, if it is a void.
    pub voids: Option<EventId>,
    /// When it came in.
    pub at: Timestamp,
}

/// A place among the rides of a season: by resort and day, and there in the order in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RidePlace {
    /// The resort.
    pub resort: ResortId,
    /// The day.
    pub day: Day,
    /// Which one; only its store knows what it means.
    pub row: i64,
}

/// Searches rides.
#[async_trait]
pub trait RideSearch: Send + Sync {
    /// Groups of rides; [`Error::Unavailable`] if that takes too long.
    async fn search(&self, query: RideQuery) -> Result<RidesFound>;

    /// Events of a season, at one resort if that is named, those after `after`, at most `limit`.
    async fn page(
        &self,
        season: Season,
        resort: Option<ResortId>,
        after: Option<RidePlace>,
        limit: usize,
    ) -> Result<Vec<StoredRide>>;

    /// Events of a day, of one skier if that is named, in the order in which they came: those after `after`, at
    /// most `limit`.
    async fn on_day(
        &self,
        on: ResortDay,
        skier: Option<SkierId>,
        after: Option<RidePlace>,
        limit: usize,
    ) -> Result<Vec<StoredRide>>;

    /// The event that a gate called so, if there is one.
    async fn event(&self, gate: GateId, id: EventId) -> Result<Option<StoredRide>>;
}
