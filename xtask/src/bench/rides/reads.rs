//! The course's three GETs, with a million rides stored.

use std::process::{Command, Stdio};

use anyhow::Result;

use super::{RidesOptions, load_for, load_to_its_end, start};
use crate::{
    bench::{
        links::{number, wait_until},
        median,
        servers::{self, LODGE, Scratch},
    },
    process::Running,
};

/// Rides that are recorded a second beside reads.
const BESIDE: &str = "2000";

/// How many were recorded.
const RECORDED: &str = "lodge_http_requests_total{method=\"POST\",route=\"/skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}\",status=\"201\"}";

/// Nothing else going on.
pub(super) fn alone(options: &RidesOptions) -> Result<()> {
    let (scratch, _lodge) = stored(options)?;
    reads(options, &scratch, "the three GETs at 10,000/s, open loop, 1 million rides")
}

/// With rides being recorded.
pub(super) fn beside_posting(options: &RidesOptions) -> Result<()> {
    let (scratch, _lodge) = stored(options)?;
    let _posting = start_posting()?;
    reads(options, &scratch, "the same beside 2,000 rides a second")
}

fn stored(options: &RidesOptions) -> Result<(Scratch, Running)> {
    let scratch = Scratch::new()?;
    let lodge = start(&scratch)?;
    let events = options.events(1_000_000).to_string();
    load_to_its_end(&scratch, &["rides-batch", "--events", &events])?;
    Ok((scratch, lodge))
}

fn reads(options: &RidesOptions, scratch: &Scratch, name: &str) -> Result<()> {
    let (mut p99, mut longest) = (Vec::new(), Vec::new());
    for run in 0..options.runs {
        let seed = (run + 1).to_string();
        let get = ["rides-get", "--rate", "10000", "--clients", "100", "--seed", &seed];
        let report = load_for(scratch, options, &get)?;
        p99.push(number(&report, "/rows/0/figures/latency_ms/p99")?);
        longest.push(number(&report, "/rows/0/figures/latency_ms/max")?);
    }
    println!("\n| {name} | p99, ms (bar 5) | longest, ms |");
    println!("| --- | --- | --- |");
    println!("| median; runs | {:.2}; {p99:.2?} | {longest:.1?} |", median(&p99));
    println!(
        "the seed: 4,681 to 5,033/s with p99 20 to 24 ms, and 3,495/s with 1,011 ms at the longest;"
    );
    println!("others: 3,724/s with p99 144 ms");
    options.bar("p99 < 5 ms", median(&p99) < 5.0)
}

/// Rides of another day, until this is dropped.
fn start_posting() -> Result<Running> {
    let url = format!("http://{LODGE}");
    let mut command = Command::new(servers::lodge_binary());
    command
        .args(["load", "rides", "--url", &url, "--rate", BESIDE, "--day", "2", "--duration", "1h"])
        .stdout(Stdio::null());
    let running = Running::start(&mut command)?;
    wait_until("rides are recorded", || servers::counter(RECORDED).is_ok_and(|count| count > 0))?;
    Ok(running)
}
