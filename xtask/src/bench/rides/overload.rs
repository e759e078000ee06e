//! Twice as many events as are let in.

use std::{thread, time::Duration};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{RidesOptions, load_for, load_to_its_end, start_with};
use crate::bench::{
    links::number,
    median,
    servers::{self, LODGE, Scratch},
};

/// Events that are let in a second, and those that are sent.
const LET_IN: u32 = 5_000;
const SENT: &str = "10000";
/// Seconds of sending, times those of a run.
const RUNS_BESIDE: u32 = 6;
/// Events that are there before.
const BEFORE: u64 = 100_000;
/// What memory may grow by from the first run of questions to the last, as a share of it.
const GROWTH_MAX: f64 = 0.1;

pub(super) fn overload(options: &RidesOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let unlimited = super::start(&scratch)?;
    let events = options.events(BEFORE).to_string();
    load_to_its_end(&scratch, &["rides-batch", "--events", &events])?;
    unlimited.terminate(Duration::from_secs(30))?;
    let lodge = start_with(&scratch, &[("LODGE_RIDES_EVENTS_PER_SECOND", LET_IN.to_string())])?;
    let stored_before = stored()?;

    let alone: Vec<f64> =
        (0..options.runs).map(|_| questions(&scratch, options)).collect::<Result<_>>()?;
    let seconds = RUNS_BESIDE * options.seconds;
    let (posted, beside, memory) = thread::scope(|scope| {
        let posting = scope.spawn(|| post(seconds));
        let (mut beside, mut memory) = (Vec::new(), Vec::new());
        for _ in 1..RUNS_BESIDE {
            beside.push(questions(&scratch, options)?);
            memory.push(servers::resident_mb(lodge.pid())?);
        }
        let posted = posting.join().ok().context("the posting panicked")??;
        Result::<_>::Ok((posted, beside, memory))
    })?;
    let (acknowledged, others) = (number(&posted, "/events/acknowledged")?, others(&posted)?);
    let stored = stored()? - stored_before;
    let rate = acknowledged / f64::from(seconds);
    println!("\n| {SENT} events a second for {seconds} s, {LET_IN} let in | |");
    println!("| --- | --- |");
    println!("| acknowledged; stored | {acknowledged:.0}, {rate:.0}/s; {stored:.0} |");
    println!("| all others | {others} |");
    println!("| memory, MB | {memory:.0?} |");
    println!(
        "| p99 of the three GETs at 1,000/s, ms: alone | {:.2}; {alone:.2?} |",
        median(&alone)
    );
    println!("| beside it | {:.2}; {beside:.2?} |", median(&beside));
    let (alone, beside) = (median(&alone), median(&beside));
    let grew = memory.last().zip(memory.first()).map_or(0.0, |(last, first)| last / first - 1.0);
    // To the event: what is answered 503 is not stored, and what is acknowledged is.
    #[expect(clippy::float_cmp, reason = "both are counts")]
    let is_exact = acknowledged == stored;
    options.bar("what is acknowledged is stored, and nothing else", is_exact)?;
    options.bar("as many as are let in", rate >= 0.95 * f64::from(LET_IN))?;
    options.bar("memory is flat", grew <= GROWTH_MAX)?;
    options.bar("GETs within twice, or 2 ms", beside <= 2.0 * alone || beside - alone < 2.0)
}

fn questions(scratch: &Scratch, options: &RidesOptions) -> Result<f64> {
    let get = ["rides-get", "--rate", "1000", "--clients", "20"];
    number(&load_for(scratch, options, &get)?, "/rows/0/figures/latency_ms/p99")
}

/// Sends each event once, whether or not it is let in.
fn post(seconds: u32) -> Result<Value> {
    let scratch = Scratch::new()?;
    let duration = format!("{seconds}s");
    let posts = ["rides", "--rate", SENT, "--retries", "0", "--threads", "200", "--day", "2"];
    load_to_its_end(&scratch, &[&posts[..], &["--duration", &duration]].concat())
}

/// What the events that were not acknowledged were answered with, all of them 503.
fn others(posted: &Value) -> Result<String> {
    let errors =
        posted.pointer("/rows/0/figures/errors_by_kind").context("the report has no errors")?;
    let kinds = errors.as_object().context("the report's errors have no kinds")?;
    ensure!(kinds.keys().all(|kind| kind.contains("503")), "other answers than 503: {errors}");
    Ok(errors.to_string())
}

/// Events that are stored, as the ledger says.
fn stored() -> Result<f64> {
    let answer = servers::get(LODGE, "/api/rides/ledger")?;
    let body = answer.split_once("\r\n\r\n").context("the ledger has no body")?.1;
    number(&serde_json::from_str(body)?, "/for_ever/stored")
}
