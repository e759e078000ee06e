//! The course's three GETs, with a million rides stored.

use anyhow::Result;

use super::{RidesOptions, with_rides};
use crate::bench::{
    figures::{columns, table},
    lodge::{Lodge, Scratch, Server},
};

/// The metric of recorded rides.
const RECORDED: &str = "lodge_http_requests_total{method=\"POST\",route=\"/skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}\",status=\"201\"}";

/// Reads without other load.
pub(super) fn alone(options: &RidesOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = stored(options, &scratch)?;
    reads(options, &lodge, "the three GETs at 10,000/s, open loop, 1 million rides")
}

/// Reads while rides of another day are recorded.
pub(super) fn beside_posting(options: &RidesOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let mut lodge = stored(options, &scratch)?;
    let _posting = lodge.start_load("rides --rate 2000 --day 2")?;
    let are_recorded = |lodge: &Lodge| lodge.counter(RECORDED).is_ok_and(|count| count > 0);
    lodge.wait_until("rides are recorded", are_recorded)?;
    reads(options, &lodge, "the same beside 2,000 rides a second")
}

fn stored(options: &RidesOptions, scratch: &Scratch) -> Result<Server> {
    let lodge = with_rides(scratch).start()?;
    lodge.load(&format!("rides-batch --events {}", options.events(1_000_000)))?;
    Ok(lodge)
}

fn reads(options: &RidesOptions, lodge: &Lodge, name: &str) -> Result<()> {
    let get =
        format!("rides-get --rate 10000 --clients 100 --duration {}s", options.common.seconds);
    let runs = options.common.each_run(|run| {
        let report = lodge.load(&format!("{get} --seed {run}"))?;
        report.numbers(["/rows/0/figures/latency_ms/p99", "/rows/0/figures/latency_ms/max"])
    })?;
    let [p99, longest] = columns(&runs);
    table([name, "p99, ms (bar 5)", "longest, ms"]);
    println!("| median; runs | {p99:.2}; {p99:.2?} | {longest:.1?} |");
    println!(
        "the seed: 4,681 to 5,033/s with p99 20 to 24 ms, and 3,495/s with 1,011 ms at the longest;\n\
         others: 3,724/s with p99 144 ms"
    );
    options.common.bar("p99 < 5 ms", p99.median() < 5.0)
}
