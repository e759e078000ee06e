//! How many posts a second reach all streams in time.

use anyhow::{Result, bail};

use super::{BoardOptions, Budget, start};
use crate::bench::{
    figures::{Runs, table},
    lodge::{Scratch, Server},
    usage::cpu_us,
};

/// In time is this p99 from when a post was due until the last stream has it, in ms.
const IN_TIME_MS: f64 = 1_000.0;
/// The first rate; it doubles while it holds.
const RATE_FIRST: f64 = 25.0;
/// The last rate, whatever comes of it.
const RATE_MAX: f64 = 20_000.0;
/// Rates between the last that held and the first that did not.
const HALVINGS: usize = 3;
/// The longest that one rate is tried, in seconds.
const SECONDS_MAX: u32 = 10;
/// Minutes for the search, and for the runs at what it found.
const SEARCH: u64 = 5;
const AGAIN: u64 = 6;
/// From a rate that was too much in one of its runs to the next lower one.
const STEP_DOWN: f64 = 0.8;

/// A rate that was tried.
struct Tried {
    last_ms: f64,
    holds: bool,
}

pub(super) fn capacity(options: &BoardOptions, scratch: &Scratch) -> Result<()> {
    let budget = Budget::minutes(SEARCH);
    let lodge = start(scratch)?;
    let attempt = |rate| attempt(options, &lodge, rate);
    // What else goes on here may spoil one: too much is what is so twice.
    let holds = |rate| anyhow::Ok(attempt(rate)?.holds || attempt(rate)?.holds);
    explain(options);
    let (mut held, mut failed) = (0.0, None);
    let mut rate = RATE_FIRST;
    while failed.is_none() && rate <= RATE_MAX && !budget.is_over() {
        if holds(rate)? {
            (held, rate) = (rate, rate * 2.0);
        } else {
            failed = Some(rate);
        }
    }
    if let Some(mut failed) = failed {
        for _ in 0..HALVINGS {
            let rate = f64::midpoint(held, failed).round();
            if rate <= held || rate >= failed {
                break;
            }
            if budget.is_over() {
                println!("no time was left to try {rate}, between what held and what did not");
                break;
            }
            *(if holds(rate)? { &mut held } else { &mut failed }) = rate;
        }
    }
    if failed.is_none() {
        println!("no rate was too much in the time that there was: it can do more");
    }
    let (steady, runs) = steady(options, held, attempt)?;
    let last_ms: Runs = runs.iter().map(|tried| tried.last_ms).collect();
    println!(
        "\n{steady} posts a second × {} streams = {:.0} events a second: in time in {} of {} runs,",
        options.streams,
        steady * f64::from(options.streams),
        runs.iter().filter(|tried| tried.holds).count(),
        runs.len()
    );
    println!("p99 from a post to the last stream {} ms", last_ms.spread());
    Ok(())
}

/// The most from `held` down that is in time in each of its runs; the runs.
fn steady(
    options: &BoardOptions,
    held: f64,
    attempt: impl Fn(f64) -> Result<Tried>,
) -> Result<(f64, Vec<Tried>)> {
    let (budget, mut rate) = (Budget::minutes(AGAIN), held);
    while rate >= RATE_FIRST && !budget.is_over() {
        println!("\nonce more, {rate} posts/s:");
        let mut runs = Vec::new();
        while runs.len() < options.common.runs as usize
            && runs.iter().all(|tried: &Tried| tried.holds)
        {
            runs.push(attempt(rate)?);
        }
        if runs.iter().all(|tried| tried.holds) {
            return Ok((rate, runs));
        }
        rate = (rate * STEP_DOWN).round();
    }
    bail!("no rate of {RATE_FIRST} posts a second or more was in time in all runs")
}

fn explain(options: &BoardOptions) {
    println!(
        "\nHow many posts a second all {} streams (the API's) have in time: p99 from\n\
         when a post was due until the last stream had it is at most {IN_TIME_MS} ms, and no post is\n\
         given up (after 3 s, or 2 s of trying again). The rate doubles until it is too much\n\
         twice; then what lies between is tried. Cores: CPU of the server (opening the streams\n\
         too) and of the load generator, which share this machine.",
        options.streams
    );
    table([
        "posts/s",
        "p99 to the answer, ms",
        "p99 to the last stream, ms",
        "events/s, all streams",
        "server, cores",
        "generator, cores",
        "in time",
    ]);
}

fn attempt(options: &BoardOptions, lodge: &Server, rate: f64) -> Result<Tried> {
    let (users, seconds) = (options.streams, options.common.seconds.min(SECONDS_MAX));
    let load = format!("board --users {users} --tokens tokens --rate {rate} --duration {seconds}s");
    // Who is five seconds behind is not in time; posts wait for the server, not for a connection; and
    // a rate that is too much is told soon.
    let most = "--catch-up 5s --connections 400 --patience 2s --timeout 3s";
    let before_us = cpu_us(lodge.pid())?;
    let report = lodge.load(&format!("{load} {most}"))?;
    let server_s = (cpu_us(lodge.pid())? - before_us) / 1e6;
    let figure = |pointer: &str| report.number(pointer);
    let (elapsed_s, last_ms) = (figure("/elapsed_s")?, figure("/until_last_ms/p99")?);
    let is_everywhere = figure("/until_last_ms/count")? >= figure("/messages/acknowledged")?;
    let holds = figure("/posts/errors")? == 0.0 && is_everywhere && last_ms <= IN_TIME_MS;
    println!(
        "| {rate} | {:.2} | {last_ms:.2} | {:.0} | {:.2} | {:.2} | {} |",
        figure("/posts/latency_ms/p99")?,
        figure("/frames_per_s")?,
        server_s / (elapsed_s + figure("/caught_up_s")?),
        figure("/client_cpu_s")? / elapsed_s,
        if holds { "yes" } else { "no" }
    );
    Ok(Tried { last_ms, holds })
}
