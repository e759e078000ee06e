//! A day at all resorts.

use serde::{Deserialize, Serialize};

use super::{Day, DayTally, LiftTally, ResortId, Season, Tally};

/// A consistent snapshot of a day at all resorts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllResortsDay {
    /// The season.
    pub season: Season,
    /// The day.
    pub day: Day,
    /// The newest day with rides at any resort.
    pub newest: (Season, Day),
    /// The days of the season with rides, in order, with the total of all resorts.
    pub days: Vec<(Day, Tally)>,
    /// The seasons with rides at any of the given resorts, in order.
    pub seasons: Vec<Season>,
    /// The total of all resorts. A skier at two resorts counts as a skier of each.
    pub total: DayTally,
    /// The same of the whole season.
    pub season_total: DayTally,
    /// The resorts, by number.
    pub resorts: Vec<(ResortId, DayTally)>,
    /// The lifts with the most rides, in descending order; ties are ordered by resort and then by number.
    pub lifts: Vec<(ResortId, LiftTally)>,
}

impl AllResortsDay {
    /// Whether no newer day has rides.
    pub fn is_newest(&self) -> bool {
        (self.season, self.day) == self.newest
    }

    /// Returns the last day with rides before this one, in the season.
    pub fn before(&self) -> Option<Day> {
        self.days.iter().rev().map(|(day, _)| *day).find(|day| *day < self.day)
    }

    /// Returns the first day with rides after this one, in the season.
    pub fn after(&self) -> Option<Day> {
        self.days.iter().map(|(day, _)| *day).find(|day| *day > self.day)
    }
}
