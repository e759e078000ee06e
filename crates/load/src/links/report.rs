//! The report of links and accounts: figures of reads, of writes, and of both together.

use std::io::Write;
use std::time::SystemTime;

use anyhow::Result;
use serde::Serialize;

use super::plan::{Kind, Lane, Mix, Plan};
use super::set::LinkSet;
use super::verify::Verification;
use crate::accounts::{Choice, SeededUsers};
use crate::engine::outcome::Outcomes;
use crate::engine::pace::Until;
use crate::engine::record::Record;
use crate::engine::run::Measured;
use crate::engine::series::Point;
use crate::report::figures::{
    Figures, Latency, Pacing, Spread, decimal, ms, thousands, us_per_request,
};
use crate::report::page::{Facts, Ours, Page, Published, Report, RunOutcome, Section, Table};
use crate::report::plots::{self, Series};
use crate::report::published::{PublishedRun, published};

/// One finished run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) measured: Measured,
    pub(crate) writes: Outcomes,
    pub(crate) verification: Option<Verification>,
}

/// The options of the run.
#[derive(Debug, Serialize)]
struct Options {
    /// Closed or open loop, and the rate.
    pace: String,
    connections: u32,
    threads: u32,
    new_connections: bool,
    /// The number of requests or the duration.
    until: String,
    timeout_s: f64,
    repeat: u32,
    /// A description of what was read and written.
    workload: String,
    seed: u64,
    prefix: String,
    verify: bool,
}

/// The results.
#[derive(Debug, Serialize)]
struct Results {
    /// All runs merged.
    total: RunReport,
    runs: Vec<RunReport>,
    /// `None` for a single run.
    repeat: Option<Repeat>,
    seeds: Vec<PublishedRun>,
}

/// One run, or all runs merged.
#[derive(Debug, Serialize)]
struct RunReport {
    elapsed_s: f64,
    interrupted: bool,
    /// Reads and writes together.
    all: Figures,
    /// Reads and writes separately, if there are both.
    get: Option<Figures>,
    put: Option<Figures>,
    /// `None` in a closed loop.
    pacing: Option<Pacing>,
    /// `None` without writes.
    writes: Option<Outcomes>,
    /// CPU time of the load generator for each request.
    client_cpu_us_per_request: Option<f64>,
    verification: Option<Verification>,
}

/// Mean and standard deviation over the runs.
#[derive(Debug, Clone, Copy, Serialize)]
struct Repeat {
    runs: u64,
    rate_per_s: Spread,
    p50_ms: Spread,
    p99_ms: Spread,
}

type LinksReport = Report<Options, Results>;

/// Writes the report to `out` and to the files that the plan names.
pub(crate) fn write(
    plan: &Plan,
    started: SystemTime,
    runs: &[Run],
    out: &mut impl Write,
) -> Result<RunOutcome> {
    let report = Report::new(
        plan.command,
        &plan.args.url,
        started,
        Options::new(plan),
        Results::new(plan, runs),
    );
    let page = page(&report);
    report.write(&page, &plan.args.files, out)?;
    let total = &report.figures.total;
    let is_clean = total.verification.as_ref().is_none_or(Verification::clean);
    Ok(RunOutcome::of(total.all.succeeded > 0 && is_clean))
}

/// Merges all runs: counts and times are summed.
fn together(runs: &[Run]) -> Run {
    let (measured, writes) = (Measured::new(2), Outcomes::default());
    let mut total = Run { measured, writes, verification: None };
    for run in runs {
        total.measured.merge(&run.measured);
        total.writes += run.writes;
        if let Some(found) = &run.verification {
            *total.verification.get_or_insert_default() += found.clone();
        }
    }
    total
}

impl Options {
    fn new(plan: &Plan) -> Self {
        let args = &plan.args;
        Self {
            pace: pace(plan),
            connections: args.connections,
            threads: crate::engine::threads(args.threads, args.connections),
            new_connections: args.new_connections,
            until: until(plan),
            timeout_s: args.timeout.as_secs_f64(),
            repeat: args.repeat,
            workload: workload(plan),
            seed: args.seed,
            prefix: plan.prefix.clone(),
            verify: args.verify,
        }
    }
}

fn pace(plan: &Plan) -> String {
    let rate = |lane: &Lane| lane.flow.rate_per_s.unwrap_or_default();
    match &plan.lanes[..] {
        [one] if one.flow.rate_per_s.is_none() => "closed loop".to_owned(),
        [one] => format!("open loop at {}/s", rate(one)),
        lanes => {
            let of = |lane| format!("{}/s on {} connections", rate(lane), lane.flow.connections);
            let lanes: Vec<String> = lanes.iter().map(of).collect();
            format!("open loop, reads at {}", lanes.join(", writes at "))
        }
    }
}

fn until(plan: &Plan) -> String {
    let mut requests = 0;
    for lane in &plan.lanes {
        match lane.flow.until {
            Until::Requests(count) => requests += count,
            Until::Duration(duration) => return format!("{} s", duration.as_secs_f64()),
        }
    }
    format!("{requests} requests")
}

fn workload(plan: &Plan) -> String {
    let mut parts = Vec::new();
    if let Some(get) = &plan.get {
        let method = if get.head { "HEAD" } else { "GET" };
        parts.push(match (&get.set, get.set.count()) {
            (LinkSet::Fixed, _) => format!("{method} of one path"),
            (LinkSet::Users(people), _) => persons(people, get.choice),
            (_, 1) => format!("{method} of one link"),
            (_, count) => format!("{method} of {count} links at random"),
        });
    }
    if let Some(put) = &plan.put {
        let what = if put.same_pair { "the same link every time" } else { "a new link each" };
        parts.push(format!("PUT of {what}"));
    }
    for lane in &plan.lanes {
        if let Mix::WriteShare(share) = lane.mix {
            parts.push(format!("{} % writes", share * 100.0));
        }
    }
    parts.join(", ")
}

fn persons(people: &SeededUsers, choice: Choice) -> String {
    let how = if matches!(choice, Choice::Zipf(_)) { "by Zipf's law" } else { "at random" };
    match people.signed_in_count() {
        0 => format!("sign-ins of {} accounts {how}", people.count),
        signed_in if signed_in == people.count => format!("GET of {signed_in} sessions {how}"),
        signed_in => {
            format!("GET of {} users {how}, {signed_in} of them signed in", people.count)
        }
    }
}

impl Results {
    fn new(plan: &Plan, runs: &[Run]) -> Self {
        let reports: Vec<RunReport> = runs.iter().map(|run| RunReport::new(plan, run)).collect();
        let mut total = RunReport::new(plan, &together(runs));
        if runs.len() > 1 {
            let RunReport { all, get, put, .. } = &mut total;
            for figures in std::iter::once(all).chain(get).chain(put) {
                figures.series.clear();
            }
        }
        let is_links = plan.command.starts_with("links-");
        Self {
            total,
            repeat: (reports.len() > 1).then(|| Repeat::of(&reports)),
            runs: reports,
            seeds: if is_links { published("links") } else { Vec::new() },
        }
    }
}

impl RunReport {
    fn new(plan: &Plan, run: &Run) -> Self {
        let measured = &run.measured;
        let figures = |record: &Record| Figures::new(record, measured.elapsed);
        let is_mixed = plan.get.is_some() && plan.put.is_some();
        let apart = |kind| is_mixed.then(|| figures(&measured.records[kind as usize]));
        let all = figures(&measured.all());
        let is_open = plan.lanes.iter().any(|lane| lane.flow.rate_per_s.is_some());
        Self {
            elapsed_s: measured.elapsed.as_secs_f64(),
            interrupted: measured.interrupted,
            get: apart(Kind::Get),
            put: apart(Kind::Put),
            pacing: is_open.then(|| Pacing::of(measured)),
            writes: plan.put.is_some().then_some(run.writes),
            client_cpu_us_per_request: us_per_request(measured.cpu, all.count),
            verification: run.verification.clone(),
            all,
        }
    }

    /// Returns the figures with their names: all, then reads and writes if there are both.
    fn columns(&self) -> Vec<(&'static str, &Figures)> {
        let apart = [("reads", &self.get), ("writes", &self.put)];
        let apart = apart.into_iter().filter_map(|(name, part)| Some((name, part.as_ref()?)));
        std::iter::once(("all", &self.all)).chain(apart).collect()
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

fn page(report: &LinksReport) -> Page {
    let (options, runs, total) = (&report.options, &report.figures, &report.figures.total);
    let kept = if options.new_connections { "one per request" } else { "kept alive" };
    let mut page = report.page();
    page.about = vec![
        format!("{}; {}; {}", options.pace, options.until, options.workload),
        format!(
            "{} connections, {kept}; {} threads; timeout {} s; seed {}, prefix {}",
            options.connections, options.threads, options.timeout_s, options.seed, options.prefix
        ),
    ];
    if runs.runs.is_empty() {
        page.about.push("stopped before the first run".to_owned());
        return page;
    }
    if total.interrupted {
        page.about.push("stopped early".to_owned());
    }
    page.tiles = vec![
        ("successes a second", decimal(total.all.rate_per_s)),
        ("median, ms", ms(total.all.latency_ms.median)),
        ("p99, ms", ms(total.all.latency_ms.p99)),
        ("errors", format!("{:.3} %", total.all.error_percent)),
    ];
    let (columns, series, elapsed_s) = (total.columns(), series(runs), total.elapsed_s);
    page.sections = vec![
        Section::Plot(plots::percentiles(&columns)),
        Section::Plot(plots::throughput(&series, elapsed_s, total.all.rate_per_s)),
        Section::Plot(plots::latency(&series, elapsed_s, &total.all.latency_ms)),
        Section::Table(curve(&columns)),
        Section::Table(windows(&series[0].1)),
        Section::Table(figures(&columns)),
        Section::Facts(facts(total)),
    ];
    page.sections
        .extend(runs.repeat.as_ref().map(|repeat| Section::Table(run_by_run(runs, repeat))));
    if !runs.seeds.is_empty() {
        page.sections.push(Section::Published(beside(report)));
    }
    page.verdict = total
        .verification
        .as_ref()
        .map(|found| if found.clean() { "VERIFIED" } else { "VERIFICATION FAILED" }.to_owned());
    page
}

/// Returns the windows of all runs, one run after another; times count from the start of the first.
fn series(runs: &Results) -> Vec<Series> {
    let mut series: Vec<Series> =
        runs.total.columns().iter().map(|(name, _)| (*name, Vec::new())).collect();
    let mut offset_s = 0.0;
    for run in &runs.runs {
        for ((_, points), (_, figures)) in series.iter_mut().zip(run.columns()) {
            let wide = figures.series.iter().filter(|point| point.width_s > 0.0);
            points.extend(wide.map(|point| Point { at_s: point.at_s + offset_s, ..*point }));
        }
        offset_s += run.elapsed_s;
    }
    series
}

/// Returns the table of figures, a column each.
fn figures(columns: &[(&'static str, &Figures)]) -> Table {
    let all = columns[0].1;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, figure: &dyn Fn(&Figures) -> String| {
        let cells = columns.iter().map(|(_, figures)| figure(figures));
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    };
    let percent = |value: f64| format!("{value:.3}");
    row("requests", &|figures| thousands(figures.count));
    row("errors", &|figures| thousands(figures.errors));
    row("errors, %", &|figures| percent(figures.error_percent));
    for kind in all.errors_by_kind.keys() {
        row(&format!("  {kind}"), &|figures| {
            thousands(figures.errors_by_kind.get(kind).copied().unwrap_or_default())
        });
    }
    row("successes/s", &|figures| decimal(figures.rate_per_s));
    row("sent, KB/s", &|figures| decimal(figures.sent_kb_per_s));
    row("received, KB/s", &|figures| decimal(figures.received_kb_per_s));
    let mut distribution = |title: &str, names: &[usize], of: fn(&Figures) -> &Latency| {
        row(title, &|_| String::new());
        for &index in names {
            let name = format!("  {}", Latency::TITLES[index]);
            row(&name, &|figures| of(figures).cells()[index].clone());
        }
    };
    distribution("latency of successes, ms", &[0, 1, 2, 3, 4, 5, 6, 7, 8], |of| &of.latency_ms);
    distribution("first byte after sending, ms", &[1, 6], |of| &of.wait_ms);
    if all.connect_ms.count > 0 {
        distribution("new connections, ms", &[1, 6, 8], |of| &of.connect_ms);
        row("  count", &|figures| thousands(figures.connect_ms.count));
    }
    for (index, within) in all.within.iter().enumerate() {
        row(&format!("{} ms or less, % of all", within.ms), &|figures| {
            percent(figures.within[index].percent)
        });
    }
    let head = std::iter::once("").chain(columns.iter().map(|(name, _)| *name));
    Table {
        note: "Latencies are of successes only, from the intended send time to the complete response. The rows \"ms or less\" are shares of all requests, errors included. 1 KB is 1,024 bytes.",
        ..Table::new("Figures", head, rows.into_iter())
    }
}

fn curve(columns: &[(&'static str, &Figures)]) -> Table {
    let head = columns.iter().map(|(name, _)| format!("{name}, ms"));
    let row = |(index, percent): (usize, f64)| {
        let cells = columns.iter().map(|(_, figures)| ms(figures.curve[index].ms));
        std::iter::once(percent.to_string()).chain(cells).collect()
    };
    let percents = columns[0].1.curve.iter().map(|point| point.percent);
    let head = std::iter::once("Percentile".to_owned()).chain(head);
    Table::new("Percentiles", head, percents.enumerate().map(row)).long()
}

fn windows(points: &[Point]) -> Table {
    let row = |point: &Point| {
        let [p50, p99, max] = [point.p50_ms, point.p99_ms, point.max_ms].map(ms);
        vec![decimal(point.at_s), decimal(point.rate_per_s), thousands(point.errors), p50, p99, max]
    };
    let head = ["From, s", "successes/s", "errors", "p50, ms", "p99, ms", "max, ms"];
    Table::new("Throughput and latency over time", head, points.iter().map(row)).long()
}

/// Returns everything that is not a figure of the server's speed.
fn facts(run: &RunReport) -> Facts {
    let mut facts = Facts::default();
    facts.add("time", format!("{:.3} s", run.elapsed_s));
    for (kind, detail) in &run.all.error_details {
        facts.add(kind, detail);
    }
    facts.add_cpu(run.client_cpu_us_per_request);
    facts.add_pacing(run.pacing.as_ref(), "requests");
    if let Some(Outcomes { acknowledged, refused, unknown }) = run.writes {
        let [acknowledged, refused, unknown] = [acknowledged, refused, unknown].map(thousands);
        facts.add(
            "writes",
            format!(
                "{acknowledged} acknowledged, {refused} refused or not sent, {unknown} unknown"
            ),
        );
    }
    let Some(found) = &run.verification else { return facts };
    if run.writes.is_some() {
        let [acknowledged, verified, missing, wrong, unreadable] =
            [found.acknowledged, found.verified, found.missing, found.wrong, found.unreadable]
                .map(thousands);
        facts.add(
            "read back",
            format!(
                "{acknowledged} links acknowledged: {verified} verified, {missing} missing, {wrong} wrong, {unreadable} unreadable"
            ),
        );
        let [unknown, stored, wrong] =
            [found.unknown, found.unknown_stored, found.unknown_wrong].map(thousands);
        facts.add("of unknown outcome", format!("{unknown} links: {stored} stored, {wrong} wrong"));
    }
    if found.unchecked > 0 {
        facts.add("writes not checked (too many to track)", thousands(found.unchecked));
    }
    if found.reads_checked > 0 {
        let [checked, wrong] = [found.reads_checked, found.reads_wrong].map(thousands);
        facts.add("reads compared", format!("{checked}, {wrong} with a wrong target"));
    }
    let examples = found.examples.as_slice();
    if !examples.is_empty() {
        facts.add("for example", examples.join(" "));
    }
    facts
}

fn run_by_run(runs: &Results, repeat: &Repeat) -> Table {
    let row =
        |name: String, rate, p50, p99, errors| vec![name, decimal(rate), ms(p50), ms(p99), errors];
    let mut rows: Vec<Vec<String>> = (1..)
        .zip(&runs.runs)
        .map(|(number, RunReport { all, .. })| {
            let Latency { median, p99, .. } = all.latency_ms;
            row(u64::to_string(&number), all.rate_per_s, median, p99, thousands(all.errors))
        })
        .collect();
    for (name, of) in [("mean", (|s| s.mean) as fn(Spread) -> f64), ("sd", |s| s.sd)] {
        let [rate, p50, p99] = [repeat.rate_per_s, repeat.p50_ms, repeat.p99_ms].map(of);
        rows.push(row(name.to_owned(), rate, p50, p99, String::new()));
    }
    let head = ["run", "successes/s", "p50, ms", "p99, ms", "errors"];
    Table::new("Run by run", head, rows.into_iter())
}

/// Returns this run beside published figures for the same kinds of request.
fn beside(report: &LinksReport) -> Published {
    let (options, total) = (&report.options, &report.figures.total);
    let (reads, writes) = match report.command {
        "links-get" => (Some(&total.all), None),
        "links-put" => (None, Some(&total.all)),
        _ => (total.get.as_ref(), total.put.as_ref()),
    };
    let of = |(kind, figures): (&'static str, Option<&Figures>)| {
        let figures = figures?;
        let Latency { mean, sd, median, p90, p99, max, .. } = figures.latency_ms;
        Some(Ours {
            kind,
            how: format!("{}, {} connections", options.pace, options.connections),
            rate: decimal(figures.rate_per_s),
            ms: [mean, sd, median, p90, p99, max].map(ms),
            measured: format!(
                "{}. {} of {} requests were errors, which no other figure includes.",
                options.workload,
                thousands(figures.errors),
                thousands(figures.count)
            ),
        })
    };
    let ours: Vec<Ours> = [("get", reads), ("put", writes)].into_iter().filter_map(of).collect();
    let is_same = |known: &&PublishedRun| ours.iter().any(|own| own.kind == known.kind);
    Published { known: report.figures.seeds.iter().filter(is_same).cloned().collect(), ours }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn several_runs_make_one_total() {
        let run = |elapsed_s, successes, missing| {
            let mut measured = Measured::new(2);
            measured.records[Kind::Get as usize].succeeded = successes;
            (measured.elapsed, measured.cpu) = (Duration::from_secs(elapsed_s), None);
            let verification = Some(Verification { missing, ..Verification::default() });
            let writes = Outcomes { acknowledged: 0, refused: 1, unknown: 2 };
            Run { measured, writes, verification }
        };
        let Run { measured, writes: Outcomes { refused, unknown, .. }, verification } =
            together(&[run(1, 10, 0), run(3, 30, 2)]);
        assert_eq!((measured.elapsed, measured.cpu), (Duration::from_secs(4), None));
        assert_eq!((measured.records[0].succeeded, refused, unknown), (40, 2, 4));
        assert_eq!(verification.map(|found| found.clean()), Some(false));
    }
}
