//! The highest rate of posts that reach all streams in time.

use anyhow::{Result, bail};

use super::{BoardOptions, Budget, start};
use crate::bench::{
    figures::{Runs, table},
    lodge::{Scratch, Server},
    usage::cpu_us,
};

/// Limit of the p99 from when a post was due until the last stream has it, in ms.
const IN_TIME_MS: f64 = 1_000.0;
/// The first rate, which doubles while posts are in time.
const RATE_FIRST: f64 = 25.0;
/// The highest rate that is tried.
const RATE_MAX: f64 = 20_000.0;
/// Steps of the bisection between the last rate in time and the first too high.
const HALVINGS: usize = 3;
/// Maximum seconds for one rate.
const SECONDS_MAX: u32 = 10;
/// Minutes for the search, and for the runs at its result.
const SEARCH: u64 = 5;
const AGAIN: u64 = 6;
/// Factor from a rate that was too high in a run to the next lower one.
const STEP_DOWN: f64 = 0.8;

/// The result of a tried rate.
struct Tried {
    last_ms: f64,
    holds: bool,
}

pub(super) fn capacity(options: &BoardOptions, scratch: &Scratch) -> Result<()> {
    let budget = Budget::minutes(SEARCH);
    let lodge = start(scratch)?;
    let attempt = |rate| attempt(options, &lodge, rate);
    // Other load on the machine may spoil a try: a rate is too high if two tries fail.
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
                println!(
                    "no time left to try {rate}, between the last rate in time and the first too high"
                );
                break;
            }
            *(if holds(rate)? { &mut held } else { &mut failed }) = rate;
        }
    }
    if failed.is_none() {
        println!("the time is over and no rate was too high: the maximum is higher");
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

/// Returns the highest rate from `held` down that is in time in all runs, and its runs.
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
        "\nHow many posts a second reach all {} streams of the API in time: the p99 from when a post\n\
         was due until the last stream had it is at most {IN_TIME_MS} ms, and no post fails (after 3 s,\n\
         or 2 s of retries). The rate doubles until two tries are too slow, then bisection follows.\n\
         Cores: CPU of the server (with opening the streams) and of the load generator, which share\n\
         this machine.",
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
    // A stream five seconds behind is late anyway; posts wait for the server, not for a connection; and
    // too high a rate fails soon.
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
