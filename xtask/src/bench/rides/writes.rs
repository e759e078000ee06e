//! Recording of rides: each is synced to disk before it is acknowledged, and each run is read back.

use anyhow::Result;

use super::{RidesOptions, with_rides};
use crate::bench::{
    figures::{Runs, columns, table},
    lodge::Scratch,
};

/// One by one, on 100 connections.
pub(super) fn single(options: &RidesOptions) -> Result<()> {
    let events = options.events(300_000);
    let posts = format!("rides --first-threads 0 --threads 100 --events {events}");
    rates(options, "single events, 100 connections", &posts, 20_000.0)
}

/// Batches of 10,000 lines, on 4 connections.
pub(super) fn batches(options: &RidesOptions) -> Result<()> {
    let events = options.events(1_000_000);
    let batches = format!("rides-batch --connections 4 --events {events}");
    rates(options, "batches of 10,000 lines, 4 connections", &batches, 60_000.0)
}

fn rates(options: &RidesOptions, name: &str, load: &str, bar: f64) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = with_rides(&scratch).start()?;
    let runs = options.common.each_run(|run| {
        // A season of its own, so that it can be verified.
        let report = lodge.load(&format!("{load} --verify --season {}", 2_000 + run))?;
        report.numbers(["/events_per_s", "/rows/0/figures/latency_ms/p99"])
    })?;
    let [rates, p99] = columns(&runs);
    let rate = format!("a second (bar {bar})");
    table([&format!("{name}, verified"), &rate, "p99 of a request, ms"]);
    println!("| runs | {rates:.0?} | {p99:.1?} |");
    println!("| median | {rates:.0} | {p99:.1} |");
    println!("others: 10,970 a second, not durable; 2,681 with a confirm a request");
    options.common.bar(name, rates.median() >= bar)
}

/// An open loop of 5,000 a second.
pub(super) fn open_loop(options: &RidesOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = with_rides(&scratch).start()?;
    let load = format!("rides --rate 5000 --threads 100 --duration {}s", options.common.seconds);
    let p99 = Runs(options.common.each_run(|run| {
        let report = lodge.load(&format!("{load} --season {}", 2_000 + run))?;
        report.number("/rows/0/figures/latency_ms/p99")
    })?);
    table(["single events, open loop at 5,000/s", "p99, ms (bar 10)"]);
    println!("| median; runs | {p99:.2}; {p99:.2?} |");
    options.common.bar("p99 < 10 ms", p99.median() < 10.0)
}
