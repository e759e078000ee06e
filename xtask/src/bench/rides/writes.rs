//! Rides recorded: each is on the disk when it is answered, and each run is read back.

use anyhow::Result;

use super::{RidesOptions, load_for, load_to_its_end, start};
use crate::bench::{links::number, median, servers::Scratch};

/// One by one, on 100 connections.
pub(super) fn single(options: &RidesOptions) -> Result<()> {
    let events = options.events(300_000).to_string();
    let posts = ["rides", "--first-threads", "0", "--threads", "100", "--events", &events];
    rates(options, "single events, 100 connections", &posts, 20_000.0)
}

/// 10,000 lines at a time, on four.
pub(super) fn batches(options: &RidesOptions) -> Result<()> {
    let events = options.events(1_000_000).to_string();
    let batches = ["rides-batch", "--connections", "4", "--events", &events];
    rates(options, "batches of 10,000 lines, 4 connections", &batches, 60_000.0)
}

fn rates(options: &RidesOptions, name: &str, load: &[&str], bar: f64) -> Result<()> {
    let scratch = Scratch::new()?;
    let _lodge = start(&scratch)?;
    let (mut rates, mut p99) = (Vec::new(), Vec::new());
    for run in 0..options.runs {
        // A season of its own, so that it can be verified.
        let season = (2_001 + run).to_string();
        let report =
            load_to_its_end(&scratch, &[load, &["--verify", "--season", &season]].concat())?;
        rates.push(number(&report, "/events_per_s")?);
        p99.push(number(&report, "/rows/0/figures/latency_ms/p99")?);
    }
    println!("\n| {name}, verified | a second (bar {bar}) | p99 of a request, ms |");
    println!("| --- | --- | --- |");
    println!("| runs | {rates:.0?} | {p99:.1?} |");
    println!("| median | {:.0} | {:.1} |", median(&rates), median(&p99));
    println!("others: 10,970 a second, not durable; 2,681 with a confirm a request");
    options.bar(name, median(&rates) >= bar)
}

/// 5,000 a second, whether or not they are answered.
pub(super) fn open_loop(options: &RidesOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let _lodge = start(&scratch)?;
    let mut p99 = Vec::new();
    for run in 0..options.runs {
        let season = (2_001 + run).to_string();
        let posts = ["rides", "--rate", "5000", "--threads", "100", "--season", &season];
        let report = load_for(&scratch, options, &posts)?;
        p99.push(number(&report, "/rows/0/figures/latency_ms/p99")?);
    }
    println!("\n| single events, open loop at 5,000/s | p99, ms (bar 10) |");
    println!("| --- | --- |");
    println!("| median; runs | {:.2}; {p99:.2?} |", median(&p99));
    options.bar("p99 < 10 ms", median(&p99) < 10.0)
}
