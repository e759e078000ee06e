//! The resort catalog: resorts, lifts, and the valid ranges of all numbers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::RangeInclusive,
};

use serde::{Deserialize, Serialize};

use super::{Day, LiftId, Minute, ResortDay, ResortId, Ride, Season, SkierId};
use crate::{Error, Result, names::names};

/// The vertical of a lift without a table entry: its number times this.
const VERTICAL_PER_NUMBER: u32 = 10;

/// The unit of all verticals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum VerticalUnit {
    /// Metres.
    #[default]
    #[serde(rename = "m")]
    Metres,
    /// Feet.
    #[serde(rename = "ft")]
    Feet,
}

names!(VerticalUnit { Metres = "m", Feet = "ft" });

impl fmt::Display for VerticalUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A lift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lift {
    /// The name, if any.
    pub name: Option<String>,
    /// The vertical of one ride, in the unit of the resort's table.
    pub vertical: u32,
}

/// A resort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resort {
    /// The name.
    pub name: String,
    /// The lifts by number.
    pub lifts: BTreeMap<LiftId, Lift>,
}

impl Resort {
    /// Creates a resort whose lifts have no names and a vertical of ten times their number.
    pub fn with_numbered_lifts(name: String, lifts: RangeInclusive<u16>) -> Self {
        let lift = |number: u16| {
            let vertical = u32::from(number) * VERTICAL_PER_NUMBER;
            (LiftId(number), Lift { name: None, vertical })
        };
        Self { name, lifts: lifts.map(lift).collect() }
    }
}

/// The valid ranges of numbers other than resorts and lifts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges {
    /// Seasons, by year.
    pub seasons: RangeInclusive<u16>,
    /// Days of a season, from 1 on.
    pub days: RangeInclusive<u16>,
    /// Minutes of a day, from 1 on.
    pub minutes: RangeInclusive<u16>,
    /// Skiers.
    pub skiers: RangeInclusive<u32>,
}

/// The resort catalog. Only it turns the numbers of a request into a ride.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResortCatalog {
    resorts: BTreeMap<ResortId, Resort>,
    ranges: Ranges,
    unit: VerticalUnit,
}

impl ResortCatalog {
    /// Creates a catalog of these resorts, with verticals in metres.
    pub fn new(resorts: BTreeMap<ResortId, Resort>, ranges: Ranges) -> Self {
        Self { resorts, ranges, unit: VerticalUnit::default() }
    }

    /// Sets the unit of verticals.
    #[must_use]
    pub fn with_unit(self, unit: VerticalUnit) -> Self {
        Self { unit, ..self }
    }

    /// Returns the unit of verticals.
    pub fn unit(&self) -> VerticalUnit {
        self.unit
    }

    /// Returns the valid ranges.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// Returns the resorts, ordered by number.
    pub fn resorts(&self) -> impl Iterator<Item = (ResortId, &Resort)> {
        self.resorts.iter().map(|(id, resort)| (*id, resort))
    }

    /// Returns the resort with this number.
    pub fn resort(&self, number: u64) -> Result<(ResortId, &Resort)> {
        let found = u16::try_from(number).ok().and_then(|number| {
            self.resorts.get_key_value(&ResortId(number)).map(|(id, resort)| (*id, resort))
        });
        found.ok_or_else(|| {
            let numbers = self.resorts.keys().map(|id| id.0);
            Error::invalid("resortID", not_among(numbers, "there is no resort with this number"))
        })
    }

    /// Returns a resort's name, or an empty string for an unknown one.
    pub fn resort_name(&self, id: ResortId) -> &str {
        self.resorts.get(&id).map_or("", |resort| &resort.name)
    }

    /// Returns the season of a year.
    pub fn season(&self, year: u64) -> Result<Season> {
        within("seasonID", year, &self.ranges.seasons).map(Season)
    }

    /// Returns the day with this number.
    pub fn day(&self, number: u64) -> Result<Day> {
        within("dayID", number, &self.ranges.days).map(Day)
    }

    /// Returns the skier with this number.
    pub fn skier(&self, number: u64) -> Result<SkierId> {
        within("skierID", number, &self.ranges.skiers).map(SkierId)
    }

    /// Returns the minute with this number.
    pub fn minute(&self, number: u64) -> Result<Minute> {
        within("time", number, &self.ranges.minutes).map(Minute)
    }

    /// Returns the lift with this number, which any resort may have.
    pub fn lift(&self, number: u64) -> Result<LiftId> {
        let lifts = || self.resorts.values().flat_map(|resort| resort.lifts.keys());
        let found = lifts().find(|lift| u64::from(lift.0) == number);
        found.copied().ok_or_else(|| {
            let numbers: BTreeSet<_> = lifts().map(|lift| lift.0).collect();
            Error::invalid("liftID", not_among(numbers, "there is no lift with this number"))
        })
    }

    /// Returns a day at a resort.
    pub fn resort_day(&self, resort: u64, season: u64, day: u64) -> Result<ResortDay> {
        let (resort, _) = self.resort(resort)?;
        Ok(ResortDay { season: self.season(season)?, resort, day: self.day(day)? })
    }

    /// Returns a ride, with the vertical of the resort's table.
    pub fn ride(&self, on: ResortDay, skier: SkierId, time: u64, lift: u64) -> Result<Ride> {
        let minute = self.minute(time)?;
        let (_, resort) = self.resort(on.resort.0.into())?;
        let number = u16::try_from(lift).ok().map(LiftId);
        let found = number.and_then(|number| Some((number, resort.lifts.get(&number)?.vertical)));
        let (lift, vertical) = found.ok_or_else(|| {
            let numbers = resort.lifts.keys().map(|lift| lift.0);
            let reason = not_among(numbers, "there is no lift with this number at this resort");
            Error::invalid("liftID", reason)
        })?;
        Ok(Ride { on, skier, minute, lift, vertical })
    }
}

fn within<T>(field: &'static str, number: u64, range: &RangeInclusive<T>) -> Result<T>
where
    T: TryFrom<u64> + PartialOrd + std::fmt::Display + Copy,
{
    let found = T::try_from(number).ok().filter(|number| range.contains(number));
    found.ok_or_else(|| Error::invalid(field, not_within(*range.start(), *range.end())))
}

/// Returns why a number is not in `numbers`, which are sorted: if they have no gaps, with the first and the last.
fn not_among<I>(numbers: I, otherwise: &str) -> String
where
    I: IntoIterator<Item = u16, IntoIter: DoubleEndedIterator + ExactSizeIterator>,
{
    let mut numbers = numbers.into_iter();
    let count = numbers.len();
    let ends = numbers.next().map(|first| (first, numbers.next_back().unwrap_or(first)));
    match ends {
        Some((first, last)) if usize::from(last - first) + 1 == count => not_within(first, last),
        _ => otherwise.to_owned(),
    }
}

fn not_within<T: std::fmt::Display>(first: T, last: T) -> String {
    format!("must be a whole number from {first} to {last}")
}

#[cfg(test)]
pub(super) fn course() -> ResortCatalog {
    let resort = |number: u16| {
        (ResortId(number), Resort::with_numbered_lifts(format!("Resort {number}"), 1..=40))
    };
    let ranges =
        Ranges { seasons: 1..=9999, days: 1..=366, minutes: 1..=1440, skiers: 1..=100_000 };
    ResortCatalog::new((1..=10).map(resort).collect(), ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ride_is_made_of_valid_numbers() {
        let catalog = course();
        let on = catalog.resort_day(10, 2025, 366).unwrap();
        let ride = catalog.ride(on, catalog.skier(100_000).unwrap(), 1440, 40).unwrap();
        assert_eq!((ride.vertical, ride.on, ride.minute), (400, on, Minute(1440)));
    }

    #[test]
    fn an_invalid_number_is_refused_with_the_valid_range() {
        let catalog = course();
        let on = catalog.resort_day(1, 2025, 1).unwrap();
        let skier = SkierId(1);
        let ride = |time, lift| catalog.ride(on, skier, time, lift).map(drop);
        let huge = u64::MAX;
        for (refused, text) in [
            (catalog.resort(0).map(drop), "resortID: must be a whole number from 1 to 10"),
            (catalog.resort(huge).map(drop), "resortID: must be a whole number from 1 to 10"),
            (catalog.season(0).map(drop), "seasonID: must be a whole number from 1 to 9999"),
            (catalog.day(367).map(drop), "dayID: must be a whole number from 1 to 366"),
            (catalog.day(65_537).map(drop), "dayID: must be a whole number from 1 to 366"),
            (catalog.skier(100_001).map(drop), "skierID: must be a whole number from 1 to 100000"),
            (ride(0, 1), "time: must be a whole number from 1 to 1440"),
            (ride(huge, 1), "time: must be a whole number from 1 to 1440"),
            (ride(1, 41), "liftID: must be a whole number from 1 to 40"),
            (ride(1, 65_537), "liftID: must be a whole number from 1 to 40"),
        ] {
            assert_eq!(refused.unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn no_range_is_named_for_numbers_with_gaps() {
        let lifts = |numbers: &[u16]| Resort {
            name: "A".to_owned(),
            lifts: Resort::with_numbered_lifts(String::new(), 1..=77)
                .lifts
                .into_iter()
                .filter(|(lift, _)| numbers.contains(&lift.0))
                .collect(),
        };
        let resorts = [(1, lifts(&[1, 2, 77])), (2, lifts(&[5])), (11, lifts(&[]))];
        let resorts = resorts.map(|(number, resort)| (ResortId(number), resort));
        let catalog = ResortCatalog::new(resorts.into(), course().ranges);
        let ride = |resort, lift| {
            let on = catalog.resort_day(resort, 2025, 1).unwrap();
            catalog.ride(on, SkierId(1), 1, lift).map(drop)
        };
        for (refused, text) in [
            (catalog.resort(4).map(drop), "resortID: there is no resort with this number"),
            (catalog.resort(12).map(drop), "resortID: there is no resort with this number"),
            (ride(1, 3), "liftID: there is no lift with this number at this resort"),
            (ride(1, 78), "liftID: there is no lift with this number at this resort"),
            (ride(2, 6), "liftID: must be a whole number from 5 to 5"),
            (ride(11, 1), "liftID: there is no lift with this number at this resort"),
            (catalog.lift(3).map(drop), "liftID: there is no lift with this number"),
        ] {
            assert_eq!(refused.unwrap_err().to_string(), text);
        }
        assert!(ride(1, 77).is_ok() && catalog.lift(5).is_ok());
    }
}
