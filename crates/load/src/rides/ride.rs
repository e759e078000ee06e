//! Random rides, the ids of their events, and their verticals.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use uuid::Uuid;

use crate::values::word;

/// The vertical in metres of a lift without a table entry, per unit of its number.
const VERTICAL_PER_LIFT: u64 = 10;

/// One ride; its season and day are those of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ride {
    pub(crate) place: SkierDay,
    pub(crate) time: u32,
    pub(crate) lift: u32,
}

/// A skier in a resort; with the run's day, the key of a skier's day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SkierDay {
    pub(crate) resort: u32,
    pub(crate) skier: u32,
}

/// The ranges that rides are drawn from, each from 1.
#[derive(Debug, Clone, Args, Serialize)]
pub struct Ranges {
    /// Draw resorts from 1 to N
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub resorts: u32,

    /// Draw skiers from 1 to N
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub skiers: u32,

    /// Draw lifts from 1 to N
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub lifts: u32,

    /// Season of all rides: letters, digits and -
    #[arg(long, value_name = "NAME", default_value = "2025", value_parser = word(32, "ASCII letters, digits and -", |byte| byte.is_ascii_alphanumeric() || byte == b'-'))]
    pub season: String,

    /// Day of the season of all rides
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=366))]
    pub day: u32,

    /// Draw times of the day from 1 to N
    #[arg(long, value_name = "N", default_value_t = 360, value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub times: u32,
}

impl Ranges {
    pub(crate) fn draw(&self, rng: &mut SmallRng) -> Ride {
        Ride {
            place: self.draw_place(rng),
            time: rng.random_range(1..=self.times),
            lift: rng.random_range(1..=self.lifts),
        }
    }

    pub(crate) fn draw_place(&self, rng: &mut SmallRng) -> SkierDay {
        SkierDay {
            resort: rng.random_range(1..=self.resorts),
            skier: rng.random_range(1..=self.skiers),
        }
    }
}

/// Mints event ids independently of the seed: two runs with one seed must not share ids.
#[derive(Debug)]
pub(crate) struct Ids(SmallRng);

impl Default for Ids {
    fn default() -> Self {
        Self(SmallRng::seed_from_u64(rand::random()))
    }
}

impl Ids {
    /// Returns a new `UUIDv7`.
    pub(crate) fn mint(&mut self) -> Uuid {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        uuid::Builder::from_unix_timestamp_millis(unix_ms, &self.0.random()).into_uuid()
    }
}

/// The vertical of each lift in metres.
#[derive(Debug, Default)]
pub(crate) struct Verticals(HashMap<(u32, u32), u64>);

impl Verticals {
    /// Takes pairs of (resort, lift) and vertical; all other verticals follow from the lift's number.
    pub(crate) fn new(named: impl IntoIterator<Item = ((u32, u32), u64)>) -> Self {
        let by_number = |(_, lift): (u32, u32)| u64::from(lift) * VERTICAL_PER_LIFT;
        Self(named.into_iter().filter(|(at, vertical)| *vertical != by_number(*at)).collect())
    }

    pub(crate) fn of(&self, ride: &Ride) -> u64 {
        let named = self.0.get(&(ride.place.resort, ride.lift));
        named.copied().unwrap_or(u64::from(ride.lift) * VERTICAL_PER_LIFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges() -> Ranges {
        Ranges { resorts: 2, skiers: 3, lifts: 4, times: 5, season: "2025".to_owned(), day: 1 }
    }

    #[test]
    fn one_seed_draws_the_same_rides_within_their_ranges() {
        let draw = || {
            let mut rng = SmallRng::seed_from_u64(7);
            (0..200).map(|_| ranges().draw(&mut rng)).collect::<Vec<Ride>>()
        };
        let rides = draw();
        assert_eq!(rides, draw());
        let most = |of: fn(&Ride) -> u32| rides.iter().map(of).max();
        assert_eq!(
            (most(|ride| ride.place.resort), most(|ride| ride.place.skier)),
            (Some(2), Some(3))
        );
        assert_eq!((most(|ride| ride.lift), most(|ride| ride.time)), (Some(4), Some(5)));
        assert!(rides.iter().all(|ride| ride.lift > 0 && ride.place.skier > 0));
    }

    #[test]
    fn ids_are_unique_across_minters() {
        let mut ids: Vec<Uuid> = Vec::new();
        for mut minter in [Ids::default(), Ids::default()] {
            ids.extend((0..1000).map(|_| minter.mint()));
        }
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 2000);
    }

    #[test]
    fn a_lift_has_the_tables_vertical_or_ten_times_its_number() {
        let verticals = Verticals::new([((1, 2), 333), ((1, 3), 30)]);
        let of = |resort, lift| {
            verticals.of(&Ride { place: SkierDay { resort, skier: 1 }, time: 1, lift })
        };
        assert_eq!([of(1, 2), of(1, 3), of(1, 4), of(2, 2)], [333, 30, 40, 20]);
    }
}
