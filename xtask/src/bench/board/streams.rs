//! Posts at a rate that people reach, while many listen.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{BoardOptions, Budget, GRACE, spread, start, tokens};
use crate::bench::{
    links::{load_to_its_end, number},
    median,
    servers::{self, Scratch},
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
        let (resident_mb, cpu_us) = (servers::resident_mb(pid)?, servers::cpu_us(pid)?);
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
    let (mut api, mut pages) = (Vec::new(), Vec::new());
    // In turn: what changes on this machine meanwhile changes for both.
    Budget::minutes(BUDGET).runs(options.runs, || {
        api.push(run(options, scratch, &[])?);
        pages.push(run(options, scratch, &["--pages"])?);
        Ok(())
    })?;
    let (streams, seconds) = (options.streams, options.seconds);
    println!(
        "\n{RATE} posts a second for {seconds} s to {streams} open streams, each of an account"
    );
    println!("of its own; a server started anew for each run, and each run verified: every stream");
    println!(
        "had every acknowledged message once, in order. Times count from when a post was due."
    );
    println!(
        "Memory is what comes on top of what the server has after {WARM_UP_RATE} posts/s for 5 s."
    );
    println!("To the last stream: until all {streams} had it. Pages' streams bring each message's");
    println!("HTML, the API's its text. Figures: the median of the runs (the least to the most).");
    println!("\n| {RATE} posts/s, {streams} streams | the API's streams | pages' streams | bar |");
    println!("| --- | --- | --- | --- |");
    let mut missed = Vec::new();
    for (place, (name, bar)) in ROWS.into_iter().enumerate() {
        let [api, pages] = [&api, &pages]
            .map(|runs| runs.iter().map(|run: &Figures| run[place]).collect::<Vec<_>>());
        let text = bar.map_or(String::new(), |bar| format!("{bar:.0}"));
        println!("| {name} | {} | {} | {text} |", spread(&api), spread(&pages));
        if bar.is_some_and(|bar| median(&api) >= bar || median(&pages) >= bar) {
            missed.push(name);
        }
    }
    ensure!(options.quick || missed.is_empty(), "not kept: {}", missed.join("; "));
    Ok(())
}

fn run(options: &BoardOptions, scratch: &Scratch, kind: &[&str]) -> Result<Figures> {
    let (users, duration) = (options.streams.to_string(), format!("{}s", options.seconds));
    let tokens = tokens(scratch);
    let load = ["board", "--users", &users, "--tokens", &tokens];
    let pace = ["--verify", "--rate", RATE, "--duration", &duration];
    // A process of its own for each run: one that has held streams keeps the room that they took.
    let lodge = start(scratch)?;
    warm_up(scratch, &load)?;
    let before = Look::at(lodge.pid())?;
    let (report, looks) =
        watched(scratch, lodge.pid(), options.streams, &[&load[..], &pace, kind].concat())?;
    lodge.terminate(GRACE)?;
    let (open, end) = looks.first().zip(looks.last()).context("the streams were never all open")?;
    let streams = f64::from(options.streams);
    let each_kb = |look: &Look| (look.resident_mb - before.resident_mb) * 1e3 / streams;
    let elapsed_us = (end.at - open.at).as_secs_f64() * 1e6;
    Ok([
        number(&report, "/posts/latency_ms/p99")?,
        number(&report, "/each_stream_ms/p99")?,
        number(&report, "/until_last_ms/p99")?,
        before.resident_mb,
        each_kb(open),
        each_kb(end),
        (end.cpu_us - open.cpu_us) / elapsed_us.max(1.0),
        number(&report, "/client_cpu_s")? / number(&report, "/elapsed_s")?,
    ])
}

/// Posts without a stream: what a server takes for these, whoever listens, it has taken then.
fn warm_up(scratch: &Scratch, load: &[&str]) -> Result<()> {
    let posts = ["--streams-per-user", "0", "--rate", WARM_UP_RATE, "--duration", "5s"];
    load_to_its_end(scratch, &[load, &posts].concat())?;
    Ok(())
}

/// Runs a load, and looks at the server as long as all streams are open.
fn watched(scratch: &Scratch, pid: u32, streams: u32, load: &[&str]) -> Result<(Value, Vec<Look>)> {
    thread::scope(|scope| {
        let running = scope.spawn(|| load_to_its_end(scratch, load));
        let mut looks = Vec::new();
        while !running.is_finished() {
            if servers::gauges(OPEN)? >= f64::from(streams) {
                looks.push(Look::at(pid)?);
            }
            thread::sleep(LOOK_EVERY);
        }
        let report = running.join().ok().context("the load panicked")??;
        Ok((report, looks))
    })
}
