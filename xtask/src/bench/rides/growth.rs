//! The latency of reads with ten million rides, compared with a hundred thousand.

use std::time::Instant;

use anyhow::{Result, ensure};

use super::{RidesOptions, with_rides};
use crate::bench::{
    figures::{Runs, table},
    lodge::{Lodge, Scratch},
};

/// Days over which the rides are spread.
const DAYS: u64 = 10;
/// Requests of each path.
const TIMES: usize = 200;
/// Rides of the small data set.
const FEW: u64 = 100_000;

/// The paths; the first are the course's GETs, the last the leaderboards, which have a bar of their own.
const PATHS: [&str; 10] = [
    "/resorts/3/seasons/2025/day/1/skiers",
    "/skiers/3/seasons/2025/days/1/skiers/77",
    "/skiers/77/vertical",
    "/rides",
    "/rides/resorts/3?season=2025&day=1",
    "/rides/skiers/77?season=2025",
    "/rides/leaderboard?resort=3&season=2025",
    "/rides/leaderboard?resort=3&season=2025&day=1",
    "/api/rides/leaderboard?resort=3&season=2025&limit=100",
    "/api/rides/leaderboard?resort=3&season=2025&day=1&limit=100",
];

/// The bar of leaderboards, in ms.
const LEADERS_MS: f64 = 20.0;

pub(super) fn grown(options: &RidesOptions) -> Result<()> {
    let few = times(options.events(FEW))?;
    let many = times(options.rides)?;
    let [small, full] = [FEW, options.rides].map(|rides| format!("{rides} rides"));
    table([&format!("median of {TIMES}, ms"), &small, &full, "more"]);
    let mut kept = true;
    for ((path, few), many) in PATHS.into_iter().zip(few).zip(many) {
        println!("| `{path}` | {few:.2} | {many:.2} | {:.2} |", many - few);
        kept &= many <= few * 1.2 || many - few < 2.0;
        kept &= !path.contains("leaderboard") || many < LEADERS_MS;
    }
    options.common.bar("20 %, or 2 ms, more; leaderboards in less than 20 ms", kept)
}

/// The median latency of each path with this number of rides.
fn times(rides: u64) -> Result<Vec<f64>> {
    let scratch = Scratch::new()?;
    let lodge = with_rides(&scratch).start()?;
    for day in 1..=DAYS {
        lodge.load(&format!("rides-batch --events {} --day {day} --seed {day}", rides / DAYS))?;
    }
    PATHS.iter().map(|path| time_ms(&lodge, path)).collect()
}

fn time_ms(lodge: &Lodge, path: &str) -> Result<f64> {
    let mut times = Runs::default();
    for _ in 0..TIMES {
        let asked = Instant::now();
        let answer = lodge.get(path)?;
        times.0.push(asked.elapsed().as_secs_f64() * 1e3);
        ensure!(matches!(answer.status, 200 | 404), "{path}: {answer:?}");
    }
    Ok(times.median())
}
