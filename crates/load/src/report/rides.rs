//! The report of rides: a row for each part of the run, beside what others published.

use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::Serialize;

use super::seeds::{RIDE_RUNS, SeedRun};
use super::{Figures, Latency, Pacing, decimal, save, thousands};
use crate::record::float;
use crate::rides::{Events, RidesPlan, RidesRun, Stage, Verification};

/// Width of a row's name, of how many clients it had, and of a figure.
const NAME: usize = 16;
const CLIENTS: usize = 8;
const FIGURE: usize = 12;

/// Everything that there is to say.
#[derive(Debug, Serialize)]
pub(crate) struct RidesReport {
    generator: String,
    command: &'static str,
    url: String,
    started_unix_s: u64,
    options: Options,
    interrupted: bool,
    rows: Vec<Row>,
    /// Where rides were recorded.
    events: Option<Events>,
    /// Acknowledged events a second, over all rows.
    events_per_s: Option<f64>,
    /// Where they were asked for: answers that there is nothing.
    absent: Option<u64>,
    /// Open loop only.
    pacing: Option<Pacing>,
    /// CPU time of the load generator for each request.
    client_cpu_us_per_request: Option<f64>,
    verification: Option<Verification>,
    published: Vec<SeedRun>,
}

/// What was asked for.
#[derive(Debug, Serialize)]
struct Options {
    /// In words: what was sent, and how.
    workload: String,
    resorts: u32,
    skiers: u32,
    lifts: u32,
    times: u32,
    season: String,
    day: u32,
    seed: u64,
    timeout_s: f64,
}

/// The figures of one part of the run.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    connections: u32,
    elapsed_s: f64,
    figures: Figures,
    /// Its requests are those of other rows.
    again: bool,
}

impl Row {
    fn new(stage: &Stage) -> Self {
        Self {
            name: stage.name,
            connections: stage.connections,
            elapsed_s: stage.elapsed.as_secs_f64(),
            figures: Figures::new(&stage.record, stage.elapsed),
            again: stage.again,
        }
    }
}

impl RidesReport {
    pub(crate) fn new(plan: &RidesPlan, started: SystemTime, run: &RidesRun) -> Self {
        let rows: Vec<Row> = run.stages.iter().map(Row::new).collect();
        let apart = || rows.iter().filter(|row| !row.again);
        let requests: u64 = apart().map(|row| row.figures.count).sum();
        let elapsed_s: f64 = apart().map(|row| row.elapsed_s).sum();
        let ranges = &plan.ranges;
        Self {
            generator: concat!("lodge load ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: plan.command,
            url: plan.url.clone(),
            started_unix_s: started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            options: Options {
                workload: run.workload.clone(),
                resorts: ranges.resorts,
                skiers: ranges.skiers,
                lifts: ranges.lifts,
                times: ranges.times,
                season: ranges.season.clone(),
                day: ranges.day,
                seed: plan.seed,
                timeout_s: plan.timeout.as_secs_f64(),
            },
            interrupted: run.interrupted,
            events: run.events,
            events_per_s: run
                .events
                .filter(|_| elapsed_s > 0.0)
                .map(|events| float(events.acknowledged) / elapsed_s),
            absent: run.absent,
            pacing: run
                .lag
                .as_ref()
                .map(|lag| Pacing { lag_ms: Latency::of(&lag.lag), queued: lag.queued }),
            client_cpu_us_per_request: run
                .cpu
                .filter(|_| requests > 0)
                .map(|cpu| cpu.as_secs_f64() * 1e6 / float(requests)),
            verification: run.verification.clone(),
            published: published(plan.command),
            rows,
        }
    }

    /// Whether something succeeded and nothing was found missing or wrong.
    pub(crate) fn sound(&self) -> bool {
        self.rows.iter().any(|row| row.figures.succeeded > 0)
            && self.events.is_none_or(|events| events.told_apart())
            && self.verification.as_ref().is_none_or(Verification::clean)
    }

    /// Writes the text report to `out`, and all of it as JSON to `json`.
    pub(crate) fn write(&self, json: Option<&Path>, out: &mut impl Write) -> Result<()> {
        self.text(out).context("cannot write the report")?;
        if let Some(path) = json {
            save(path, &(serde_json::to_string_pretty(self)? + "\n"))?;
        }
        Ok(())
    }

    fn text(&self, out: &mut impl Write) -> io::Result<()> {
        let options = &self.options;
        writeln!(out, "{} {} {}", self.generator, self.command, self.url)?;
        writeln!(out, "  {}; deadline {} s a try", options.workload, options.timeout_s)?;
        writeln!(
            out,
            "  day {} of season {}; {} resorts, {} skiers, {} lifts, {} times; seed {}",
            options.day,
            options.season,
            thousands(options.resorts.into()),
            thousands(options.skiers.into()),
            thousands(options.lifts.into()),
            thousands(options.times.into()),
            options.seed
        )?;
        if self.interrupted {
            writeln!(out, "  stopped early")?;
        }
        writeln!(out)?;
        self.table(out)?;
        self.errors(out)?;
        self.besides(out)?;
        if let Some(events) = &self.events {
            self.events(events, out)?;
        }
        if let Some(found) = &self.verification {
            verification(found, out)?;
        }
        Ok(())
    }

    /// Our rows, and beneath them those of others.
    fn table(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{:<NAME$}{:>CLIENTS$}", "ms", "clients")?;
        let titles = ["requests", "errors", "successes/s"].into_iter();
        for title in titles.chain(Latency::of(&crate::record::Times::new()).rows().map(|row| row.0))
        {
            write!(out, "{title:>FIGURE$}")?;
        }
        writeln!(out)?;
        for row in &self.rows {
            let figures = &row.figures;
            let latency = &figures.latency_ms;
            write!(out, "{:<NAME$}{:>CLIENTS$}", row.name, row.connections)?;
            let counts = [thousands(figures.count), thousands(figures.errors)].into_iter();
            let times = (0..latency.rows().len()).map(|index| latency.cell(index));
            for cell in counts.chain([decimal(figures.rate_per_s)]).chain(times) {
                write!(out, "{cell:>FIGURE$}")?;
            }
            writeln!(out)?;
        }
        writeln!(out, "\npublished before, on other machines:")?;
        for known in &self.published {
            writeln!(out, "  {}", published_line(known))?;
        }
        writeln!(out)
    }

    fn errors(&self, out: &mut impl Write) -> io::Result<()> {
        for row in self.rows.iter().filter(|row| !row.again) {
            row.figures.write_errors(&format!("errors, {}", row.name), out)?;
        }
        Ok(())
    }

    /// What is not a figure of the server's speed.
    fn besides(&self, out: &mut impl Write) -> io::Result<()> {
        if let Some(cpu_us) = self.client_cpu_us_per_request {
            writeln!(out, "client CPU, µs/request: {cpu_us:.2}")?;
        }
        if let Some(pacing) = &self.pacing {
            pacing.write("requests", out)?;
        }
        if let Some(absent) = self.absent {
            writeln!(out, "answered that there is nothing (404): {}", thousands(absent))?;
        }
        Ok(())
    }

    fn events(&self, events: &Events, out: &mut impl Write) -> io::Result<()> {
        let [acknowledged, refused, unknown, retries] =
            [events.acknowledged, events.refused, events.unknown, events.retries].map(thousands);
        writeln!(
            out,
            "events: {acknowledged} acknowledged, {}/s; {refused} refused or not sent, {unknown} of unknown outcome; {retries} retries",
            decimal(self.events_per_s.unwrap_or_default())
        )?;
        let repeats = [
            events.repeats_replayed,
            events.repeats_as_new,
            events.repeats_refused,
            events.repeats_unanswered,
        ];
        if repeats.iter().sum::<u64>() > 0 {
            let [replayed, as_new, refused, unanswered] = repeats.map(thousands);
            writeln!(
                out,
                "sent once more on purpose: {replayed} answered as replayed, {as_new} as new, {refused} refused, {unanswered} not answered"
            )?;
        }
        if events.new_as_replayed > 0 {
            let count = thousands(events.new_as_replayed);
            writeln!(out, "new, but answered as replayed: {count}")?;
        }
        if !events.told_apart() {
            writeln!(out, "REPETITIONS NOT TOLD FROM NEW EVENTS")?;
        }
        Ok(())
    }
}

/// What goes beside the command's own figures.
fn published(command: &str) -> Vec<SeedRun> {
    let reads = command == "rides-get";
    RIDE_RUNS.iter().filter(|known| (known.kind == "post") != reads).copied().collect()
}

fn published_line(known: &SeedRun) -> String {
    let rate = if known.rate.is_empty() { String::new() } else { format!(" {}/s", known.rate) };
    let times = [("mean", known.mean_ms), ("p99", known.p99_ms), ("max", known.max_ms)]
        .map(|(name, ms)| ms.map_or_else(String::new, |ms| format!(" {name} {ms} ms")))
        .concat();
    let measured = match known.measured {
        "" => String::new(),
        measured => format!(" ({})", measured.trim_end_matches('.')),
    };
    format!("{}, {}, {}:{rate}{times}{measured}", known.system, known.kind, known.how)
}

fn verification(found: &Verification, out: &mut impl Write) -> io::Result<()> {
    let [days, wrong, unreadable] =
        [found.skier_days, found.skier_days_wrong, found.skier_days_unreadable].map(thousands);
    writeln!(out, "read back: {days} skiers' days: {wrong} wrong, {unreadable} unreadable")?;
    let [resorts, wrong] = [found.resorts, found.resorts_wrong].map(thousands);
    writeln!(out, "           skiers of {resorts} resorts: {wrong} wrong")?;
    match &found.ledger {
        None => writeln!(out, "           no ledger")?,
        Some(ledger) => {
            let [stored, least, most] = [ledger.stored, ledger.least, ledger.most].map(thousands);
            writeln!(
                out,
                "           ledger: {stored} stored, and must be from {least} to {most}"
            )?;
        }
    }
    let [asked, unknown] = [found.asked_again, found.unknown].map(thousands);
    if found.asked_again + found.unknown > 0 {
        writeln!(
            out,
            "           of unknown outcome: {asked} events sent once more, {unknown} still unknown"
        )?;
    }
    for example in &found.examples {
        writeln!(out, "for example: {example}")?;
    }
    let refused = thousands(found.refused);
    match found {
        _ if !found.right() => writeln!(out, "NOT AS ACKNOWLEDGED"),
        Verification { unknown: 1.., .. } => writeln!(
            out,
            "NOT VERIFIED: {unknown} events may be stored or not; what was acknowledged is counted once, and at most these besides"
        ),
        Verification { acknowledged: 0, .. } => {
            writeln!(out, "NOTHING TO VERIFY: no event was acknowledged")
        }
        Verification { refused: 1.., .. } => writeln!(
            out,
            "AS ACKNOWLEDGED: what was acknowledged is counted once; {refused} events were refused or not sent"
        ),
        _ => writeln!(out, "VERIFIED"),
    }
}
