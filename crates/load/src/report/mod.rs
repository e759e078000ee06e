//! The figures of a report, from what was measured. Text, JSON and HTML show the same ones.

pub(crate) mod board;
mod board_html;
mod html;
mod json;
mod plot;
pub(crate) mod rides;
mod seeds;
mod text;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::links::LinkSet;
use crate::people::{Choice, People};
use crate::plan::{Mix, Plan, Until};
use crate::record::{Measured, Record, Times, WITHIN_MS, float};
use crate::run::Run;
use crate::series::Point;
use crate::verify::Verification;
use seeds::{SEED_RUNS, SeedRun};

/// Bytes in a KB, as `ab` counts them.
const KB: f64 = 1024.0;
/// The percentiles of the curve.
const CURVE: [f64; 16] = [
    0.0, 10.0, 25.0, 50.0, 66.0, 75.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 99.99, 99.999,
    100.0,
];

/// Everything that there is to say.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) generator: String,
    pub(crate) command: &'static str,
    pub(crate) url: String,
    pub(crate) started_unix_s: u64,
    pub(crate) options: Options,
    /// All runs taken together.
    pub(crate) total: RunReport,
    pub(crate) runs: Vec<RunReport>,
    /// With more than one run.
    pub(crate) repeat: Option<Repeat>,
    pub(crate) seeds: &'static [SeedRun],
}

/// What was asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Options {
    /// In words: closed or open, and how fast.
    pub(crate) pace: String,
    pub(crate) connections: u32,
    pub(crate) threads: u32,
    pub(crate) new_connections: bool,
    /// In words: how long.
    pub(crate) until: String,
    pub(crate) timeout_s: f64,
    pub(crate) repeat: u32,
    /// In words: what was read and written.
    pub(crate) workload: String,
    pub(crate) seed: u64,
    pub(crate) prefix: String,
    pub(crate) verify: bool,
}

/// One run, or all together.
#[derive(Debug, Serialize)]
pub(crate) struct RunReport {
    pub(crate) elapsed_s: f64,
    pub(crate) interrupted: bool,
    /// Reads and writes together.
    pub(crate) all: Figures,
    /// Apart, when there are both.
    pub(crate) get: Option<Figures>,
    pub(crate) put: Option<Figures>,
    /// Open loop only.
    pub(crate) pacing: Option<Pacing>,
    /// When there are writes.
    pub(crate) writes: Option<Writes>,
    /// CPU time of the load generator for each request.
    pub(crate) client_cpu_us_per_request: Option<f64>,
    pub(crate) verification: Option<Verification>,
}

/// The figures of one kind of request.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figures {
    pub(crate) count: u64,
    pub(crate) succeeded: u64,
    pub(crate) errors: u64,
    pub(crate) error_percent: f64,
    pub(crate) errors_by_kind: BTreeMap<String, u64>,
    /// What the system said the first time, where it said something.
    pub(crate) error_details: BTreeMap<String, String>,
    /// Successes a second.
    pub(crate) rate_per_s: f64,
    pub(crate) sent_kb_per_s: f64,
    pub(crate) received_kb_per_s: f64,
    /// Of the successes, from the intended send time to the whole answer.
    pub(crate) latency_ms: Latency,
    /// To the first byte of the answer.
    pub(crate) wait_ms: Latency,
    /// Of new connections made during the run.
    pub(crate) connect_ms: Latency,
    /// Of all requests, errors too: served successfully within so many ms.
    pub(crate) within: Vec<Within>,
    pub(crate) curve: Vec<CurvePoint>,
    /// Over time; empty for several runs together.
    pub(crate) series: Vec<Point>,
}

/// A distribution in ms.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Latency {
    pub(crate) count: u64,
    pub(crate) min: f64,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
    pub(crate) median: f64,
    pub(crate) p90: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Within {
    pub(crate) ms: u64,
    pub(crate) percent: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct CurvePoint {
    pub(crate) percent: f64,
    pub(crate) ms: f64,
}

/// How well the client kept its own schedule.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Pacing {
    /// From the intended time to the sending, where a connection lay idle.
    pub(crate) lag_ms: Latency,
    /// Requests that waited for a free connection.
    pub(crate) queued: u64,
}

impl Pacing {
    /// In words, for a terminal; `what` waited.
    fn write(&self, what: &str, out: &mut impl Write) -> io::Result<()> {
        let lag = &self.lag_ms;
        writeln!(
            out,
            "pacing lag (the client's own lateness, inside the latencies), ms: median {:.3}, p99 {:.3}, max {:.3}",
            lag.median, lag.p99, lag.max
        )?;
        writeln!(out, "waited for a free connection: {} {what}", thousands(self.queued))
    }
}

/// What became of the writes, as far as the client can know.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Writes {
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
    pub(crate) unknown: u64,
}

/// Mean and deviation over the runs.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Repeat {
    pub(crate) runs: u64,
    pub(crate) rate_per_s: Spread,
    pub(crate) p50_ms: Spread,
    pub(crate) p99_ms: Spread,
}

/// Mean, and the deviation of a sample (n - 1).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// 0 if there are none.
    pub mean: f64,
    /// 0 if there is one.
    pub sd: f64,
}

impl Spread {
    /// Of these figures.
    pub fn of(values: &[f64]) -> Self {
        let count = float(values.len() as u64);
        if values.is_empty() {
            return Self { mean: 0.0, sd: 0.0 };
        }
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, sd: if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 } }
    }
}

impl Report {
    pub(crate) fn new(plan: &Plan, started: SystemTime, runs: &[Run]) -> Self {
        let reports: Vec<RunReport> = runs.iter().map(|run| RunReport::new(plan, run)).collect();
        let total = RunReport::new(plan, &together(runs));
        let total = if runs.len() > 1 { total.without_series() } else { total };
        Self {
            generator: concat!("lodge load ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: plan.command,
            url: plan.url.clone(),
            started_unix_s: started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            options: Options::new(plan),
            total,
            repeat: (reports.len() > 1).then(|| Repeat::of(&reports)),
            runs: reports,
            seeds: if plan.command.starts_with("links-") { SEED_RUNS } else { &[] },
        }
    }

    /// Whether something succeeded and nothing was found missing or wrong.
    pub(crate) fn sound(&self) -> bool {
        self.total.all.succeeded > 0
            && self.total.verification.as_ref().is_none_or(Verification::clean)
    }
}

/// All runs as one: counts and times added up.
fn together(runs: &[Run]) -> Run {
    let mut total = Run {
        measured: Measured::new(),
        elapsed: Duration::ZERO,
        cpu: Some(Duration::ZERO),
        interrupted: false,
        verification: None,
    };
    for run in runs {
        total.measured.merge(&run.measured);
        total.elapsed += run.elapsed;
        total.cpu = total.cpu.zip(run.cpu).map(|(sum, more)| sum + more);
        total.interrupted |= run.interrupted;
        if let Some(found) = &run.verification {
            total.verification.get_or_insert_default().merge(found);
        }
    }
    total
}

impl Options {
    fn new(plan: &Plan) -> Self {
        Self {
            pace: pace(plan),
            connections: plan.connections,
            threads: plan.threads,
            new_connections: !plan.keep,
            until: until(plan),
            timeout_s: plan.timeout.as_secs_f64(),
            repeat: plan.repeat,
            workload: workload(plan),
            seed: plan.seed,
            prefix: plan.prefix.clone(),
            verify: plan.verify,
        }
    }
}

fn pace(plan: &Plan) -> String {
    let rates: Vec<f64> = plan.lanes.iter().filter_map(|lane| lane.flow.rate_per_s).collect();
    match rates[..] {
        [] => "closed loop".to_owned(),
        [rate] => format!("open loop at {rate}/s"),
        _ => {
            let of = |lane: &crate::plan::Lane| {
                format!(
                    "{}/s on {} connections",
                    lane.flow.rate_per_s.unwrap_or_default(),
                    lane.flow.connections
                )
            };
            let lanes: Vec<String> = plan.lanes.iter().map(of).collect();
            format!("open loop, reads at {}", lanes.join(", writes at "))
        }
    }
}

fn until(plan: &Plan) -> String {
    let requests: u64 = plan
        .lanes
        .iter()
        .map(|lane| if let Until::Requests(count) = lane.flow.until { count } else { 0 })
        .sum();
    let duration = plan.lanes.iter().find_map(|lane| {
        if let Until::Duration(duration) = lane.flow.until { Some(duration) } else { None }
    });
    duration.map_or_else(
        || format!("{requests} requests"),
        |duration| format!("{} s", duration.as_secs_f64()),
    )
}

fn workload(plan: &Plan) -> String {
    let mut parts = Vec::new();
    if let Some(get) = &plan.get {
        let method = if get.head { "HEAD" } else { "GET" };
        parts.push(match (&get.set, get.set.count()) {
            (LinkSet::Fixed, _) => format!("{method} of one path"),
            (LinkSet::People(people), _) => persons(people, get.choice),
            (_, 1) => format!("{method} of one link"),
            (_, count) => format!("{method} of {count} links at random"),
        });
    }
    if let Some(put) = &plan.put {
        parts.push(
            if put.same_pair { "PUT of one and the same pair" } else { "PUT of a new link each" }
                .to_owned(),
        );
    }
    for lane in &plan.lanes {
        if let Mix::WriteShare(share) = lane.mix {
            parts.push(format!("{} % writes", share * 100.0));
        }
    }
    parts.join(", ")
}

fn persons(people: &People, choice: Choice) -> String {
    let how = if matches!(choice, Choice::Zipf(_)) { "by Zipf's law" } else { "at random" };
    match people.signed_in_count() {
        0 => format!("sign-ins of {} accounts {how}", people.count),
        signed_in if signed_in == people.count => format!("GET of {signed_in} sessions {how}"),
        signed_in => {
            format!("GET of {} people {how}, {signed_in} of them signed in", people.count)
        }
    }
}

impl RunReport {
    fn new(plan: &Plan, run: &Run) -> Self {
        let mixed = plan.get.is_some() && plan.put.is_some();
        let apart = |record: &Record| mixed.then(|| Figures::new(record, run.elapsed));
        let all = Figures::new(&run.measured.both(), run.elapsed);
        let open = plan.lanes.iter().any(|lane| lane.flow.rate_per_s.is_some());
        Self {
            elapsed_s: run.elapsed.as_secs_f64(),
            interrupted: run.interrupted,
            get: apart(&run.measured.get),
            put: apart(&run.measured.put),
            pacing: open.then(|| Pacing {
                lag_ms: Latency::of(&run.measured.lag),
                queued: run.measured.queued,
            }),
            writes: plan.put.is_some().then_some(Writes {
                acknowledged: run.measured.put.succeeded,
                refused: run.measured.writes_refused,
                unknown: run.measured.writes_unknown,
            }),
            client_cpu_us_per_request: run
                .cpu
                .filter(|_| all.count > 0)
                .map(|cpu| cpu.as_secs_f64() * 1e6 / float(all.count)),
            verification: run.verification.clone(),
            all,
        }
    }

    fn without_series(mut self) -> Self {
        for figures in std::iter::once(&mut self.all).chain(&mut self.get).chain(&mut self.put) {
            figures.series.clear();
        }
        self
    }

    /// The figures with their names: all, and reads and writes where both are.
    pub(crate) fn columns(&self) -> Vec<(&'static str, &Figures)> {
        let mut columns = vec![("all", &self.all)];
        columns.extend(self.get.as_ref().map(|figures| ("reads", figures)));
        columns.extend(self.put.as_ref().map(|figures| ("writes", figures)));
        columns
    }
}

impl Figures {
    /// What went wrong how often, a line each after `name`, and what the system said of it.
    fn write_errors(&self, name: &str, out: &mut impl Write) -> io::Result<()> {
        for (kind, count) in &self.errors_by_kind {
            writeln!(out, "{name}: {} {kind}", thousands(*count))?;
        }
        for (kind, detail) in &self.error_details {
            writeln!(out, "  ({kind}: {detail})")?;
        }
        Ok(())
    }

    fn new(record: &Record, elapsed: Duration) -> Self {
        let failed = record.failed();
        let count = record.succeeded + failed;
        let percent = |part: u64| if count == 0 { 0.0 } else { 100.0 * float(part) / float(count) };
        let seconds = elapsed.as_secs_f64();
        let per_s = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        Self {
            count,
            succeeded: record.succeeded,
            errors: failed,
            error_percent: percent(failed),
            errors_by_kind: record
                .errors
                .iter()
                .map(|(kind, count)| (kind.to_string(), *count))
                .collect(),
            error_details: record
                .details
                .iter()
                .map(|(kind, detail)| (kind.to_string(), detail.clone()))
                .collect(),
            rate_per_s: per_s(float(record.succeeded)),
            sent_kb_per_s: per_s(float(record.sent_bytes)) / KB,
            received_kb_per_s: per_s(float(record.received_bytes)) / KB,
            latency_ms: Latency::of(&record.total),
            wait_ms: Latency::of(&record.wait),
            connect_ms: Latency::of(&record.connect),
            within: WITHIN_MS
                .iter()
                .zip(record.within)
                .map(|(&ms, served)| Within { ms, percent: percent(served) })
                .collect(),
            curve: CURVE
                .iter()
                .map(|&percent| CurvePoint { percent, ms: record.total.percentile_ms(percent) })
                .collect(),
            series: record.series.points(elapsed),
        }
    }
}

impl Latency {
    fn of(times: &Times) -> Self {
        Self {
            count: times.count(),
            min: times.min_ms(),
            mean: times.mean_ms(),
            sd: times.deviation_ms(),
            median: times.percentile_ms(50.0),
            p90: times.percentile_ms(90.0),
            p95: times.percentile_ms(95.0),
            p99: times.percentile_ms(99.0),
            p999: times.percentile_ms(99.9),
            max: times.max_ms(),
        }
    }

    /// Row `index` as text; a dash when nothing succeeded.
    pub(crate) fn cell(&self, index: usize) -> String {
        match self.rows().get(index) {
            Some((_, ms)) if self.count > 0 => format!("{ms:.3}"),
            _ => "–".to_owned(),
        }
    }

    /// The rows that every report shows.
    pub(crate) fn rows(&self) -> [(&'static str, f64); 9] {
        [
            ("min", self.min),
            ("mean", self.mean),
            ("sd", self.sd),
            ("median", self.median),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p99.9", self.p999),
            ("max", self.max),
        ]
    }
}

impl Repeat {
    fn of(runs: &[RunReport]) -> Self {
        let spread = |figure: fn(&Figures) -> f64| {
            Spread::of(&runs.iter().map(|run| figure(&run.all)).collect::<Vec<_>>())
        };
        Self {
            runs: runs.len() as u64,
            rate_per_s: spread(|figures| figures.rate_per_s),
            p50_ms: spread(|figures| figures.latency_ms.median),
            p99_ms: spread(|figures| figures.latency_ms.p99),
        }
    }
}

/// Writes the text report to `out` and whatever files the plan names.
pub(crate) fn write(plan: &Plan, report: &Report, out: &mut impl Write) -> Result<()> {
    text::write(report, out).context("cannot write the report")?;
    if let Some(path) = &plan.json {
        save(path, &json::render(report)?)?;
    }
    if let Some(path) = &plan.html {
        save(path, &html::render(report)?)?;
    }
    Ok(())
}

fn save(path: &Path, content: &str) -> Result<()> {
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// 1234567 as 1,234,567.
pub(crate) fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of some size with one decimal and thousands apart.
pub(crate) fn decimal(value: f64) -> String {
    let text = format!("{value:.1}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
    whole.parse().map_or_else(|_| text.clone(), |whole| format!("{}.{fraction}", thousands(whole)))
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
