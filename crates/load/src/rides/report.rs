//! The report of rides: a row for each part of the run, and published figures for comparison.

use std::io::Write;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use serde::Serialize;

use super::plan::RidesPlan;
use super::ride::Ranges;
use super::tally::Events;
use super::verify::Verification;
use crate::engine::outcome::Outcomes;
use crate::engine::pace::Flow;
use crate::engine::record::Record;
use crate::engine::run::Measured;
use crate::engine::times::float;
use crate::report::figures::{Figures, Latency, Pacing, decimal, thousands, us_per_request};
use crate::report::page::{Facts, Page, Published, Report, RunOutcome, Section, Table};
use crate::report::published::{PublishedRun, published};

/// The options of the run.
#[derive(Debug, Serialize)]
struct Options {
    /// A description of what was sent, and how.
    workload: String,
    #[serde(flatten)]
    ranges: Ranges,
    seed: u64,
    timeout_s: f64,
}

/// The results of the run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Run {
    /// A description of what was sent, and how.
    #[serde(skip)]
    workload: String,
    /// All measurements so far.
    #[serde(skip)]
    total: Measured,
    interrupted: bool,
    pub(crate) rows: Vec<Row>,
    /// `None` if rides were only read.
    pub(crate) events: Option<Events>,
    /// Acknowledged events a second, over all rows.
    events_per_s: Option<f64>,
    /// 404 responses to reads; `None` if rides were recorded.
    pub(crate) absent: Option<u64>,
    /// `None` in a closed loop.
    pacing: Option<Pacing>,
    /// CPU time of the load generator for each request.
    client_cpu_us_per_request: Option<f64>,
    pub(crate) verification: Option<Verification>,
    published: Vec<PublishedRun>,
}

/// The figures of one part of the run.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    name: &'static str,
    connections: u32,
    elapsed_s: f64,
    figures: Figures,
    /// A total: its requests are also in other rows.
    again: bool,
}

impl Row {
    fn new(name: &'static str, connections: u32, record: &Record, elapsed: Duration) -> Self {
        let (elapsed_s, figures) = (elapsed.as_secs_f64(), Figures::new(record, elapsed));
        Self { name, connections, elapsed_s, figures, again: false }
    }
}

type RidesReport = Report<Options, Run>;

/// Writes the report to `out` and to the file that the plan names.
pub(crate) fn write(
    plan: &RidesPlan,
    started: SystemTime,
    run: Run,
    out: &mut impl Write,
) -> Result<RunOutcome> {
    let options = Options {
        workload: run.workload.clone(),
        ranges: plan.args.ranges.clone(),
        seed: plan.args.seed,
        timeout_s: plan.args.timeout.as_secs_f64(),
    };
    let run = run.finished(plan.command);
    let is_sound = run.rows.iter().any(|row| row.figures.succeeded > 0)
        && run.events.is_none_or(|events| events.idempotency_holds())
        && run.verification.as_ref().is_none_or(Verification::clean);
    let report = Report::new(plan.command, &plan.args.url, started, options, run);
    report.write(&page(&report), &plan.args.files, out)?;
    Ok(RunOutcome::of(is_sound))
}

impl Run {
    /// An empty run with at most `parts` kinds of iterations at one pace.
    pub(crate) fn new(workload: String, parts: usize) -> Self {
        Self { workload, total: Measured::new(parts), ..Self::default() }
    }

    /// Adds the measurements at one pace, a row for each kind of iteration.
    pub(crate) fn add(&mut self, names: &[&'static str], flow: Flow, measured: &Measured) {
        self.pacing = flow.rate_per_s.map(|_| Pacing::of(measured)).or(self.pacing);
        self.total.merge(measured);
        let row = |(&name, record)| Row::new(name, flow.connections, record, measured.elapsed);
        self.rows.extend(names.iter().zip(&measured.records).map(row));
    }

    /// Adds a total row of all rows so far.
    pub(crate) fn add_all(&mut self, connections: u32) {
        let all = Row::new("all", connections, &self.total.all(), self.total.elapsed);
        self.rows.push(Row { again: true, ..all });
    }

    /// Computes the figures over all rows.
    fn finished(self, command: &str) -> Self {
        let Measured { elapsed, cpu, interrupted, .. } = self.total;
        let requests = self.rows.iter().filter(|row| !row.again).map(|row| row.figures.count).sum();
        let per_s = |events: Events| float(events.outcomes.acknowledged) / elapsed.as_secs_f64();
        let is_reading = command == "rides-get";
        let beside = |known: &PublishedRun| (known.kind != "post") == is_reading;
        Self {
            interrupted,
            events_per_s: self.events.filter(|_| !elapsed.is_zero()).map(per_s),
            client_cpu_us_per_request: us_per_request(cpu, requests),
            published: published("rides").into_iter().filter(beside).collect(),
            ..self
        }
    }
}

fn page(report: &RidesReport) -> Page {
    let (options, run) = (&report.options, &report.figures);
    let Ranges { resorts, skiers, lifts, times, season, day } = &options.ranges;
    let [resorts, skiers, lifts, times] =
        [resorts, skiers, lifts, times].map(|count| thousands((*count).into()));
    let mut page = report.page();
    page.about = vec![
        format!("{}; timeout {} s per try", options.workload, options.timeout_s),
        format!(
            "day {day} of season {season}; {resorts} resorts, {skiers} skiers, {lifts} lifts, {times} times; seed {}",
            options.seed
        ),
    ];
    if run.interrupted {
        page.about.push("stopped early".to_owned());
    }
    page.sections = vec![
        Section::Table(table(run)),
        Section::Published(Published { ours: Vec::new(), known: run.published.clone() }),
        Section::Facts(facts(run)),
    ];
    page.verdict = run.verification.as_ref().map(Verification::verdict);
    page
}

fn table(run: &Run) -> Table {
    let titles = ["ms", "clients", "requests", "errors", "successes/s"];
    let row = |row: &Row| {
        let figures = &row.figures;
        let [connections, count, errors] =
            [row.connections.into(), figures.count, figures.errors].map(thousands);
        let cells = [row.name.to_owned(), connections, count, errors, decimal(figures.rate_per_s)];
        cells.into_iter().chain(figures.latency_ms.cells()).collect()
    };
    Table::new("Figures", titles.iter().chain(&Latency::TITLES), run.rows.iter().map(row))
}

/// Returns everything that is not a figure of the server's speed.
fn facts(run: &Run) -> Facts {
    let mut facts = Facts::default();
    for row in run.rows.iter().filter(|row| !row.again) {
        facts.add_errors(&format!("errors, {}", row.name), &row.figures);
    }
    facts.add_cpu(run.client_cpu_us_per_request);
    facts.add_pacing(run.pacing.as_ref(), "requests");
    if let Some(absent) = run.absent {
        facts.add("no rides found (404)", thousands(absent));
    }
    if let Some(events) = &run.events {
        add_events(&mut facts, events, run.events_per_s.unwrap_or_default());
    }
    if let Some(found) = &run.verification {
        add_verification(&mut facts, found);
    }
    facts
}

fn add_events(facts: &mut Facts, events: &Events, per_s: f64) {
    let Outcomes { acknowledged, refused, unknown } = events.outcomes;
    let [acknowledged, refused, unknown, retries] =
        [acknowledged, refused, unknown, events.retries].map(thousands);
    facts.add(
        "events",
        format!(
            "{acknowledged} acknowledged, {}/s; {refused} refused or not sent, {unknown} unknown; {retries} retries",
            decimal(per_s)
        ),
    );
    let repeats = [
        events.repeats_replayed,
        events.repeats_as_new,
        events.repeats_refused,
        events.repeats_unanswered,
    ];
    if repeats.iter().sum::<u64>() > 0 {
        let [replayed, as_new, refused, unanswered] = repeats.map(thousands);
        facts.add(
            "repeated on purpose",
            format!(
                "{replayed} answered as replayed, {as_new} as new, {refused} refused, {unanswered} not answered"
            ),
        );
    }
    if events.new_as_replayed > 0 {
        facts.add("new events answered as replayed", thousands(events.new_as_replayed));
    }
    if !events.idempotency_holds() {
        facts.add("IDEMPOTENCY", "FAILED: repeats were answered as new events, or the reverse");
    }
}

fn add_verification(facts: &mut Facts, found: &Verification) {
    let [days, wrong, unreadable] =
        [found.skier_days, found.skier_days_wrong, found.skier_days_unreadable].map(thousands);
    facts.add("read back", format!("{days} skier days: {wrong} wrong, {unreadable} unreadable"));
    let [resorts, wrong] = [found.resorts, found.resorts_wrong].map(thousands);
    facts.add("skiers counted", format!("in {resorts} resorts: {wrong} wrong"));
    let ledger = found.ledger.map_or_else(
        || "none".to_owned(),
        |ledger| {
            let [stored, least, most] = [ledger.stored, ledger.least, ledger.most].map(thousands);
            format!("{stored} stored, expected from {least} to {most}")
        },
    );
    facts.add("ledger", ledger);
    if found.asked_again + found.unknown > 0 {
        let [asked, unknown] = [found.asked_again, found.unknown].map(thousands);
        facts.add(
            "of unknown outcome",
            format!("{asked} events sent again, {unknown} still unknown"),
        );
    }
    facts.add_examples(&found.examples);
}
