//! Sums of rides.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::{Day, Hour, LiftId, ResortId, Season, SkierId};

/// A number of rides and their total vertical, in the unit of the resorts' tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// The number of rides.
    pub rides: u64,
    /// The total vertical.
    pub vertical: u64,
}

/// A day or a season at a resort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DayTally {
    /// The rides.
    pub tally: Tally,
    /// The distinct skiers.
    pub skiers: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.rides += other.rides;
        self.vertical += other.vertical;
    }
}

impl AddAssign for DayTally {
    fn add_assign(&mut self, other: Self) {
        self.tally += other.tally;
        self.skiers += other.skiers;
    }
}

/// A skier's day at a resort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkierDay {
    /// The resort.
    pub resort: ResortId,
    /// The day.
    pub day: Day,
    /// The rides.
    pub tally: Tally,
}

/// A skier's vertical of a season.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeasonVertical {
    /// The season.
    pub season: Season,
    /// The total vertical.
    pub vertical: u64,
}

/// A lift's day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiftTally {
    /// The lift.
    pub lift: LiftId,
    /// The rides.
    pub tally: Tally,
}

/// An hour of a resort's day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourTally {
    /// The hour.
    pub hour: Hour,
    /// The rides.
    pub tally: Tally,
}

/// A resort's day by lift and by hour.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Breakdown {
    /// The lifts with rides, in order.
    pub lifts: Vec<LiftTally>,
    /// The hours with rides, in order.
    pub hours: Vec<HourTally>,
}

/// An entry of a leaderboard; ties in vertical are ordered by the lower number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// The skier.
    pub skier: SkierId,
    /// The total vertical.
    pub vertical: u64,
}
