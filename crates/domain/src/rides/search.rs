//! Ad-hoc searches of rides, filtered and grouped by any of their dimensions.

use std::{ops::RangeInclusive, str::FromStr};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Day, GateId, LiftId, Minute, ResortDay, ResortId, Ride, RideEventId, Season, SkierId, Tally,
};
use crate::{Error, Result, names::names};

/// The maximum groups of one search.
pub const GROUPS_MAX: usize = 10_000;

/// The maximum concurrent exports of a season; each reads one page at a time.
pub const EXPORTS_MAX: usize = 4;

/// The maximum searches that run or wait.
pub const SEARCHES_MAX: usize = 5;

/// A dimension that rides can be grouped by.
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
        Self::named(text).ok_or_else(|| Error::invalid("by", format!("must be one of {}", names())))
    }
}

/// The order of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupOrder {
    /// The lowest numbers first, in the order of [`RideQuery::by`].
    #[default]
    Numbers,
    /// The most rides first; ties by the lowest numbers.
    Rides,
    /// The most vertical first; ties by the lowest numbers.
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

/// A search of rides. An empty or `None` filter matches all rides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RideQuery {
    /// Only these seasons.
    pub seasons: Vec<Season>,
    /// Only these resorts.
    pub resorts: Vec<ResortId>,
    /// Only these days.
    pub days: Option<RangeInclusive<Day>>,
    /// Only these minutes.
    pub minutes: Option<RangeInclusive<Minute>>,
    /// Only these lifts.
    pub lifts: Vec<LiftId>,
    /// Only these skiers.
    pub skiers: Vec<SkierId>,
    /// The dimensions to group by, each at most once; without any, all rides are one group.
    pub by: Vec<Dimension>,
    /// Whether to count the distinct skiers of each group, which takes longer.
    pub count_skiers: bool,
    /// The order of the groups.
    pub order: GroupOrder,
    /// The maximum groups, the first in that order; 1 to [`GROUPS_MAX`].
    pub limit: usize,
}

/// A group of rides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RideGroup {
    /// The group's values, in the order of [`RideQuery::by`].
    pub key: Vec<u32>,
    /// The rides and their vertical.
    pub tally: Tally,
    /// The distinct skiers, if they were to be counted.
    pub skiers: Option<u64>,
}

/// The data that a search read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadFrom {
    /// Precomputed sums.
    Sums,
    /// Every matching ride.
    Rides,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RidesFound {
    /// The groups with at least one ride, in order.
    pub groups: Vec<RideGroup>,
    /// Whether there are more groups than the limit.
    pub more: bool,
    /// The data that was read.
    pub read_from: ReadFrom,
}

/// An event as exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRide {
    /// The position of the event, from which the next page continues.
    pub place: RidePosition,
    /// The gate that sent it.
    pub gate: GateId,
    /// The event id, scoped to the gate.
    pub id: RideEventId,
    /// The ride, or the voided ride.
    pub ride: Ride,
    /// The event that is voided, if this one is a void.
    pub voids: Option<RideEventId>,
    /// The time of arrival.
    pub at: Timestamp,
}

/// A position among the events of a season: ordered by resort and day, then by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RidePosition {
    /// The resort.
    pub resort: ResortId,
    /// The day.
    pub day: Day,
    /// The position within the day, with a meaning known only to its store.
    pub row: i64,
}

/// The port that searches and exports rides.
#[async_trait]
pub trait RideSearch: Send + Sync {
    /// Returns groups of rides; [`Error::Unavailable`] if the search takes too long.
    async fn search(&self, query: RideQuery) -> Result<RidesFound>;

    /// Returns events of a season, optionally of one resort, after `after`, at most `limit`.
    async fn page(
        &self,
        season: Season,
        resort: Option<ResortId>,
        after: Option<RidePosition>,
        limit: usize,
    ) -> Result<Vec<StoredRide>>;

    /// Returns events of a day in the order of arrival, optionally of one skier, after `after`, at most `limit`.
    async fn on_day(
        &self,
        on: ResortDay,
        skier: Option<SkierId>,
        after: Option<RidePosition>,
        limit: usize,
    ) -> Result<Vec<StoredRide>>;

    /// Returns the event with this gate and id, if it exists.
    async fn event(&self, gate: GateId, id: RideEventId) -> Result<Option<StoredRide>>;
}
