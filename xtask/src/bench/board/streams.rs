//! Posts at a realistic rate with many open streams.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{BoardOptions, Budget, start};
use crate::bench::{
    figures::{columns, table},
    lodge::{Report, Scratch, Server},
    usage::{cpu_us, resident_mb},
};

/// Posts a second.
const RATE: &str = "20";
/// Posts a second before any stream is open.
const WARM_UP_RATE: &str = "200";
/// Minutes for all runs.
const BUDGET: u64 = 9;
/// The metric of open streams, by kind.
const OPEN: &str = "lodge_http_streams";
/// Period of sampling the server.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A sample of the server.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    resident_mb: f64,
    cpu_us: f64,
}

impl Sample {
    fn at(pid: u32) -> Result<Self> {
        let (resident_mb, cpu_us) = (resident_mb(pid)?, cpu_us(pid)?);
        Ok(Self { at: Instant::now(), resident_mb, cpu_us })
    }
}

/// The figures of one run, in the order of the table.
type Figures = [f64; ROWS.len()];

/// Names of the figures, and the bar that their median must be below.
const ROWS: [(&str, Option<f64>); 8] = [
    ("p99 from a post to its answer, ms", Some(20.0)),
    ("p99 from a post to each stream, ms", None),
    ("p99 from a post to the last stream, ms", Some(100.0)),
    ("memory of the server before any stream, MB", None),
    ("growth per stream when all are open, kB", Some(50.0)),
    ("growth per stream at the end, kB", Some(50.0)),
    ("CPU of the server, cores", None),
    ("CPU of the load generator, cores", None),
];

/// Each run is verified: no stream lost, repeated or reordered a message.
pub(super) fn posts(options: &BoardOptions, scratch: &Scratch) -> Result<()> {
    // Alternating, so that changes on the machine affect both alike.
    let runs = Budget::minutes(BUDGET).runs(options.common.runs, || {
        Ok([run(options, scratch, "")?, run(options, scratch, "--pages")?])
    })?;
    let [api, pages] = [0, 1].map(|kind| {
        let runs: Vec<Figures> = runs.iter().map(|run| run[kind]).collect();
        columns(&runs)
    });
    let (streams, seconds) = (options.streams, options.common.seconds);
    println!(
        "\n{RATE} posts a second for {seconds} s to {streams} open streams, each of another account;\n\
         a new server for each run, and each run verified: every stream had every acknowledged\n\
         message once, in order. Times count from when a post was due. Memory is the growth over\n\
         the server's memory after {WARM_UP_RATE} posts/s for 5 s. To the last stream: until all {streams}\n\
         had it. Pages' streams carry each message's HTML, the API's its text. Figures: the median\n\
         of the runs (minimum to maximum)."
    );
    let what = format!("{RATE} posts/s, {streams} streams");
    table([&what, "the API's streams", "pages' streams", "bar"]);
    let mut missed = Vec::new();
    for ((name, bar), (api, pages)) in ROWS.into_iter().zip(api.iter().zip(&pages)) {
        let text = bar.map_or(String::new(), |bar| format!("{bar:.0}"));
        println!("| {name} | {} | {} | {text} |", api.spread(), pages.spread());
        if bar.is_some_and(|bar| api.median() >= bar || pages.median() >= bar) {
            missed.push(name);
        }
    }
    options.common.bar(&missed.join("; "), missed.is_empty())
}

fn run(options: &BoardOptions, scratch: &Scratch, kind: &str) -> Result<Figures> {
    let load = format!("board --users {} --tokens tokens", options.streams);
    // A new process for each run: one that had streams does not return their memory to the system.
    let lodge = start(scratch)?;
    // Posts without a stream, so that the memory for posts themselves is allocated before the sample.
    lodge.load(&format!("{load} --streams-per-user 0 --rate {WARM_UP_RATE} --duration 5s"))?;
    let before = Sample::at(lodge.pid())?;
    let seconds = options.common.seconds;
    let posts = format!("{load} --verify --rate {RATE} --duration {seconds}s {kind}");
    let (report, looks) = watched(&lodge, options.streams, &posts)?;
    lodge.terminate()?;
    let (open, end) = looks.first().zip(looks.last()).context("the streams were never all open")?;
    let streams = f64::from(options.streams);
    let each_kb = |look: &Sample| (look.resident_mb - before.resident_mb) * 1e3 / streams;
    let elapsed_us = (end.at - open.at).as_secs_f64() * 1e6;
    Ok([
        report.number("/posts/latency_ms/p99")?,
        report.number("/each_stream_ms/p99")?,
        report.number("/until_last_ms/p99")?,
        before.resident_mb,
        each_kb(open),
        each_kb(end),
        (end.cpu_us - open.cpu_us) / elapsed_us.max(1.0),
        report.number("/client_cpu_s")? / report.number("/elapsed_s")?,
    ])
}

/// Runs a load, and samples the server while all streams are open.
fn watched(lodge: &Server, streams: u32, load: &str) -> Result<(Report, Vec<Sample>)> {
    thread::scope(|scope| {
        let running = scope.spawn(|| lodge.load(load));
        let mut looks = Vec::new();
        while !running.is_finished() {
            if lodge.metric(OPEN)?.unwrap_or_default() >= f64::from(streams) {
                looks.push(Sample::at(lodge.pid())?);
            }
            thread::sleep(LOOK_EVERY);
        }
        let report = running.join().ok().context("the load panicked")??;
        Ok((report, looks))
    })
}
