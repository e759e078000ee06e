//! A day on the whole mountain.

use serde::{Deserialize, Serialize};

use super::{Day, DayTally, LiftTally, ResortId, Season};

/// A day at all resorts, as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountainDay {
    /// The season.
    pub season: Season,
    /// The day.
    pub day: Day,
    /// The newest day on which somebody rode anywhere.
    pub newest: (Season, Day),
    /// The days of the season on which somebody rode, in order.
    pub days: Vec<Day>,
    /// The seasons in which somebody rode at one of the resorts that were asked for, in order.
    pub seasons: Vec<Season>,
    /// All resorts together. Whoever rode at two of them counts as a skier of each.
    pub total: DayTally,
    /// The resorts, by number.
    pub resorts: Vec<(ResortId, DayTally)>,
    /// The lifts that were ridden most often, most often first; of two that were as often, the one of the resort
    /// and then with the number that is lower comes first.
    pub lifts: Vec<(ResortId, LiftTally)>,
}

impl MountainDay {
    /// Whether there is none that is newer.
    pub fn is_newest(&self) -> bool {
        (self.season, self.day) == self.newest
    }

    /// The last day before this one, in the season, on which somebody rode.
    pub fn before(&self) -> Option<Day> {
        self.days.iter().rev().find(|day| **day < self.day).copied()
    }

    /// The first after it.
    pub fn after(&self) -> Option<Day> {
        self.days.iter().find(|day| **day > self.day).copied()
    }
}
