//! Sums of rides.

use serde::{Deserialize, Serialize};

use super::{Day, Hour, LiftId, ResortId, Season, SkierId};

/// Rides, and how far up they went together, in the unit of the resorts' tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// How many.
    pub rides: u64,
    /// How far up together.
    pub vertical: u64,
}

/// A day, or a season, at a resort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DayTally {
    /// Rides.
    pub tally: Tally,
    /// Different skiers.
    pub skiers: u64,
}

/// A skier's day at a resort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkierDay {
    /// The resort.
    pub resort: ResortId,
    /// The day.
    pub day: Day,
    /// Rides.
    pub tally: Tally,
}

/// What a skier came to in a season.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeasonVertical {
    /// The season.
    pub season: Season,
    /// How far up.
    pub vertical: u64,
}

/// A lift's day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiftTally {
    /// The lift.
    pub lift: LiftId,
    /// Rides.
    pub tally: Tally,
}

/// An hour of a resort's day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourTally {
    /// The hour.
    pub hour: Hour,
    /// Rides.
    pub tally: Tally,
}

/// A resort's day, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Breakdown {
    /// By lift, those that nobody rode left out, in order.
    pub lifts: Vec<LiftTally>,
    /// By hour, those in which nobody rode left out, in order.
    pub hours: Vec<HourTally>,
}

/// One of those who went farthest up; of two who went as far, the one with the lower number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// Who.
    pub skier: SkierId,
    /// How far up.
    pub vertical: u64,
}
