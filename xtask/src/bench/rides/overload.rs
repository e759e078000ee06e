//! Twice as many events as the rate limit admits.

use std::thread;

use anyhow::{Context, Result, ensure};

use super::{RidesOptions, with_rides};
use crate::bench::{
    figures::{Runs, table},
    lodge::{Lodge, Report, Scratch},
    usage::resident_mb,
};

/// Admitted and sent events a second.
const LET_IN: u32 = 5_000;
const SENT: u32 = 10_000;
/// Length of sending, in runs.
const RUNS_BESIDE: u32 = 6;
/// Events stored before the measurement.
const BEFORE: u64 = 100_000;
/// Maximum growth of memory from the first run of reads to the last, as a share.
const GROWTH_MAX: f64 = 0.1;

pub(super) fn overload(options: &RidesOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = with_rides(&scratch).start()?;
    lodge.load(&format!("rides-batch --events {}", options.events(BEFORE)))?;
    let lodge = lodge.terminate()?.with("LODGE_RIDES_EVENTS_PER_SECOND", LET_IN).start()?;
    let stored_before = stored(&lodge)?;

    let alone = Runs(options.common.each_run(|_| questions(options, &lodge))?);
    let seconds = RUNS_BESIDE * options.common.seconds;
    // Each event is sent once, also if it is refused.
    let post =
        format!("rides --rate {SENT} --retries 0 --threads 200 --day 2 --duration {seconds}s");
    let (posted, beside, memory) = thread::scope(|scope| {
        let posting = scope.spawn(|| lodge.load(&post));
        let (mut beside, mut memory) = (Runs::default(), Vec::new());
        for _ in 1..RUNS_BESIDE {
            beside.0.push(questions(options, &lodge)?);
            memory.push(resident_mb(lodge.pid())?);
        }
        let posted = posting.join().ok().context("the posting panicked")??;
        anyhow::Ok((posted, beside, memory))
    })?;
    let (acknowledged, others) = (posted.number("/events/acknowledged")?, others(&posted)?);
    let stored = stored(&lodge)? - stored_before;
    let rate = acknowledged / f64::from(seconds);
    table([&format!("{SENT} events a second for {seconds} s, {LET_IN} admitted"), ""]);
    println!("| acknowledged; stored | {acknowledged:.0}, {rate:.0}/s; {stored:.0} |");
    println!("| refused | {others} |");
    println!("| memory, MB | {memory:.0?} |");
    println!("| p99 of the three GETs at 1,000/s, ms: alone | {alone:.2}; {alone:.2?} |");
    println!("| during overload | {beside:.2}; {beside:.2?} |");
    let (alone, beside) = (alone.median(), beside.median());
    let grew = memory.last().zip(memory.first()).map_or(0.0, |(last, first)| last / first - 1.0);
    // Exactly: an event answered with 503 is not stored, and an acknowledged one is.
    #[expect(clippy::float_cmp, reason = "both are counts")]
    let is_exact = acknowledged == stored;
    options.common.bar("exactly the acknowledged events are stored", is_exact)?;
    options.common.bar("95 % of the rate limit are stored", rate >= 0.95 * f64::from(LET_IN))?;
    options.common.bar("memory is flat", grew <= GROWTH_MAX)?;
    options.common.bar("GETs within twice, or 2 ms", beside <= 2.0 * alone || beside - alone < 2.0)
}

fn questions(options: &RidesOptions, lodge: &Lodge) -> Result<f64> {
    let seconds = options.common.seconds;
    let report =
        lodge.load(&format!("rides-get --rate 1000 --clients 20 --duration {seconds}s"))?;
    report.number("/rows/0/figures/latency_ms/p99")
}

/// The errors of the events that were not acknowledged, all of which must be 503.
fn others(posted: &Report) -> Result<String> {
    let errors = posted.0.pointer("/rows/0/figures/errors_by_kind");
    let errors = errors.context("the report has no errors")?;
    let kinds = errors.as_object().context("the report's errors have no kinds")?;
    ensure!(kinds.keys().all(|kind| kind.contains("503")), "other answers than 503: {errors}");
    Ok(errors.to_string())
}

/// The number of stored events, from the ledger.
fn stored(lodge: &Lodge) -> Result<f64> {
    let ledger = lodge.get("/api/rides/ledger")?;
    Report(serde_json::from_str(&ledger.body)?).number("/for_ever/stored")
}
