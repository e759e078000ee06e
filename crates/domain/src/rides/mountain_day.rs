//! A day on the whole mountain.

use std::{cmp::Reverse, collections::BTreeSet};

use super::{Day, DayTally, LiftTally, ResortDay, ResortId, Rides, Season, Span};
use crate::Result;

/// A day at all resorts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountainDay {
    /// The season.
    pub season: Season,
    /// The day.
    pub day: Day,
    /// All resorts together. Whoever rode at two of them counts as a skier of each.
    pub total: DayTally,
    /// The resorts, by number, those where nobody rode too.
    pub resorts: Vec<(ResortId, DayTally)>,
}

impl Rides {
    /// A day at all resorts; each is asked for on its own.
    pub async fn mountain_day(&self, season: Season, day: Day) -> Result<MountainDay> {
        let mut whole =
            MountainDay { season, day, total: DayTally::default(), resorts: Vec::new() };
        for (resort, _) in self.mountain.resorts() {
            let found = self.tallies.total(Span { season, resort, day: Some(day) }).await?;
            whole.total.tally.rides += found.tally.rides;
            whole.total.tally.vertical += found.tally.vertical;
            whole.total.skiers += found.skiers;
            whole.resorts.push((resort, found));
        }
        Ok(whole)
    }

    /// The newest day on which somebody rode at any resort, as the last events say.
    pub async fn newest_day(&self) -> Result<Option<(Season, Day)>> {
        let resorts = self.mountain.resorts().map(|(resort, _)| resort).collect();
        self.tallies.newest_day(resorts).await
    }

    /// The days of a season on which somebody rode at any resort.
    pub async fn days(&self, season: Season) -> Result<BTreeSet<Day>> {
        let mut days = BTreeSet::new();
        for (resort, _) in self.mountain.resorts() {
            days.extend(self.tallies.days(resort, season).await?.into_iter().map(|(day, _)| day));
        }
        Ok(days)
    }

    /// The lifts that were ridden most often on a day, at most so many; of two that were as often, the one of
    /// the resort and then with the number that is lower comes first.
    pub async fn busiest_lifts(
        &self,
        season: Season,
        day: Day,
        limit: usize,
    ) -> Result<Vec<(ResortId, LiftTally)>> {
        let mut lifts = Vec::new();
        for (resort, _) in self.mountain.resorts() {
            let on = ResortDay { season, resort, day };
            let found = self.tallies.breakdown(on).await?.lifts;
            lifts.extend(found.into_iter().map(|lift| (resort, lift)));
        }
        lifts.sort_by_key(|(_, lift)| Reverse(lift.tally.rides));
        lifts.truncate(limit);
        Ok(lifts)
    }
}
