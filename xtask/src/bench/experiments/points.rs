//! The rows of the tables, with the seed's figures.

use super::options::{EXPIRY_S, Part};

/// One row: the servers' settings, the load, and the seed's figures.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) label: String,
    /// Connections between the tiers.
    pub(super) pool: usize,
    /// TTL of the session cache in seconds; 0 for no cache.
    pub(super) cache_s: u64,
    /// Connections of the load generator.
    pub(super) workers: u32,
    /// Requests a second, in an open loop.
    pub(super) rate: u32,
    pub(super) people: RequestAccounts,
    /// By the title of the column.
    pub(super) seed: Vec<(&'static str, &'static str)>,
}

/// The accounts of the requests.
#[derive(Debug, Clone, Copy)]
pub(super) enum RequestAccounts {
    /// All accounts with a session, uniformly.
    SignedIn,
    /// The first accounts with a session, of this number.
    First(u64),
    /// All accounts, by Zipf's law.
    AllAccounts(u64),
}

/// Requests a second of the seed's tables by pool, the maximum of its rate limiter.
const RATE: u32 = 1000;

/// The rows of a table.
pub(super) fn of(part: Part, users: u64) -> Vec<Point> {
    match part {
        Part::Workers50 => [
            (50, ["9", "5", "–"]),
            (100, ["9", "6", "–"]),
            (200, ["9", "6", "–"]),
            (400, ["8", "4", "5"]),
        ]
        .map(|(pool, seed)| by_pool(pool, 50, seed))
        .into(),
        Part::Workers1000 => [(100, "7"), (250, "6"), (500, "4"), (1000, "3")]
            .map(|(pool, update)| by_pool(pool, 1000, ["9", "6", update]))
            .into(),
        Part::Cached => cached(),
        Part::Realistic => [("60 s of cache", EXPIRY_S), ("no cache", 0)]
            .map(|(label, cache_s)| Point {
                label: label.to_owned(),
                pool: 4,
                cache_s,
                workers: 64,
                rate: 2000,
                people: RequestAccounts::AllAccounts(users),
                seed: Vec::new(),
            })
            .into(),
    }
}

fn by_pool(pool: usize, workers: u32, [trip, read, update]: [&'static str; 3]) -> Point {
    Point {
        label: format!("pool of {pool}"),
        pool,
        cache_s: 0,
        workers,
        rate: RATE,
        people: RequestAccounts::SignedIn,
        seed: vec![
            ("client p99", trip),
            ("send", "0"),
            ("get connection", "0"),
            ("free connection", "0"),
            ("store read", read),
            ("token update", update),
        ],
    }
}

/// The seed's header of the first column is connections of the pool; according to its text they are requests
/// a second.
fn cached() -> Vec<Point> {
    let titles =
        ["client p99", "cache write", "cache miss", "misses", "cache hit", "hits", "miss rate"];
    let rows = [
        (1000, ["4", "3", "3", "9,000", "7", "500,000", "0.018"]),
        (2000, ["4", "6", "10", "10,000", "2", "1,200,000", "0.0083"]),
        (3000, ["3", "6", "9", "9,000", "2", "1,500,000", "0.006"]),
        (4000, ["2", "2", "4", "13,000", "2", "3,000,000", "0.0043"]),
    ];
    let point = |(rate, figures): (u32, [&'static str; 7])| Point {
        label: format!("{rate} a second"),
        pool: 1000,
        cache_s: EXPIRY_S,
        workers: 1000,
        rate,
        people: RequestAccounts::First(1000),
        seed: titles.into_iter().zip(figures).collect(),
    };
    rows.map(point).into()
}
