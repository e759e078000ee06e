//! Posts at a rate that people reach, while many listen.

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
/// The same before there is any stream.
const WARM_UP_RATE: &str = "200";
/// Minutes for all runs.
const BUDGET: u64 = 9;
/// How many streams are open, by their kinds.
const OPEN: &str = "lodge_http_streams";
/// How often the server is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The server at a moment.
#[derive(Clone, Copy)]
struct Look {
    at: Instant,
    resident_mb: f64,
    cpu_us: f64,
}

impl Look {
    fn at(pid: u32) -> Result<Self> {
        let (resident_mb, cpu_us) = (resident_mb(pid)?, cpu_us(pid)?);
        Ok(Self { at: Instant::now(), resident_mb, cpu_us })
    }
}

/// What one run came to: the figures of the table, in its order.
type Figures = [f64; ROWS.len()];

/// What the figures are, and what their median must be below.
const ROWS: [(&str, Option<f64>); 8] = [
    ("p99 from a post to its answer, ms", Some(20.0)),
    ("p99 from a post to each stream, ms", None),
    ("p99 from a post to the last stream, ms", Some(100.0)),
    ("memory of the server before any stream, MB", None),
    ("more for each stream when all are open, kB", Some(50.0)),
    ("more for each stream at the end, kB", Some(50.0)),
    ("CPU of the server, cores", None),
    ("CPU of the load generator, cores", None),
];

/// Each run is proved: no stream lost, repeated or reordered anything.
pub(super) fn posts(options: &BoardOptions, scratch: &Scratch) -> Result<()> {
    // In turn: what changes on this machine meanwhile changes for both.
    let runs = Budget::minutes(BUDGET).runs(options.common.runs, || {
        Ok([run(options, scratch, "")?, run(options, scratch, "--pages")?])
    })?;
    let [api, pages] = [0, 1].map(|kind| {
        let runs: Vec<Figures> = runs.iter().map(|run| run[kind]).collect();
        columns(&runs)
    });
    let (streams, seconds) = (options.streams, options.common.seconds);
    println!(
        "\n{RATE} posts a second for {seconds} s to {streams} open streams, each of an account\n\
         of its own; a server started anew for each run, and each run verified: every stream\n\
         had every acknowledged message once, in order. Times count from when a post was due.\n\
         Memory is what comes on top of what the server has after {WARM_UP_RATE} posts/s for 5 s.\n\
         To the last stream: until all {streams} had it. Pages' streams bring each message's\n\
         HTML, the API's its text. Figures: the median of the runs (the least to the most)."
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
    // A process of its own for each run: one that has held streams keeps the room that they took.
    let lodge = start(scratch)?;
    // Posts without a stream: what a server takes for these, whoever listens, it has taken then.
    lodge.load(&format!("{load} --streams-per-user 0 --rate {WARM_UP_RATE} --duration 5s"))?;
    let before = Look::at(lodge.pid())?;
    let seconds = options.common.seconds;
    let posts = format!("{load} --verify --rate {RATE} --duration {seconds}s {kind}");
    let (report, looks) = watched(&lodge, options.streams, &posts)?;
    lodge.terminate()?;
    let (open, end) = looks.first().zip(looks.last()).context("the streams were never all open")?;
    let streams = f64::from(options.streams);
    let each_kb = |look: &Look| (look.resident_mb - before.resident_mb) * 1e3 / streams;
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

/// Runs a load, and looks at the server as long as all streams are open.
fn watched(lodge: &Server, streams: u32, load: &str) -> Result<(Report, Vec<Look>)> {
    thread::scope(|scope| {
        let running = scope.spawn(|| lodge.load(load));
        let mut looks = Vec::new();
        while !running.is_finished() {
            if lodge.metric(OPEN)?.unwrap_or_default() >= f64::from(streams) {
                looks.push(Look::at(lodge.pid())?);
            }
            thread::sleep(LOOK_EVERY);
        }
        let report = running.join().ok().context("the load panicked")??;
        Ok((report, looks))
    })
}
