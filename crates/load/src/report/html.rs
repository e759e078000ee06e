//! The report as one self-contained page: no script, no request to anyone.

use anyhow::Result;
use askama::Template;

use super::plot::{Frame, Plot, Scale};
use super::seeds::SeedRun;
use super::{Figures, Latency, Report, RunReport, decimal, thousands};
use crate::series::Point;

pub(crate) fn render(report: &Report) -> Result<String> {
    let page = Page {
        report,
        tiles: tiles(report),
        rows: rows(&report.total),
        columns: report.total.columns().iter().map(|(name, _)| *name).collect(),
        plots: vec![
            percentiles(&report.total),
            throughput(&all_windows(report), time_scale(report), report.total.all.rate_per_s),
            latency(&all_windows(report), time_scale(report), &report.total.all.latency_ms),
        ],
        curve: curve_table(&report.total),
        series: series_table(report),
        comparison: comparison(report),
        facts: facts(report),
        runs: runs(report),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    report: &'a Report,
    tiles: Vec<(&'static str, String)>,
    columns: Vec<&'static str>,
    rows: Vec<(String, Vec<String>)>,
    plots: Vec<Plot>,
    curve: Vec<(String, Vec<String>)>,
    series: Vec<Vec<String>>,
    comparison: Vec<Compared>,
    facts: Vec<(&'static str, String)>,
    runs: Vec<Vec<String>>,
}

/// A row of the comparison with the systems before.
struct Compared {
    this_run: bool,
    system: String,
    how: String,
    kind: &'static str,
    rate: String,
    /// Mean, deviation, median, p90, p99, max.
    ms: Vec<String>,
    measured: String,
}

pub(super) fn ms(value: f64) -> String {
    format!("{value:.3}")
}

fn tiles(report: &Report) -> Vec<(&'static str, String)> {
    let all = &report.total.all;
    let mut tiles = vec![
        ("successes a second", decimal(all.rate_per_s)),
        ("median, ms", ms(all.latency_ms.median)),
        ("p99, ms", ms(all.latency_ms.p99)),
        ("errors", format!("{:.3} %", all.error_percent)),
    ];
    if let Some(found) = &report.total.verification {
        tiles.push((
            "verification",
            if found.clean() { "all right" } else { "NOT as acknowledged" }.to_owned(),
        ));
    }
    tiles
}

/// The table of figures: a name and one figure per column.
fn rows(run: &RunReport) -> Vec<(String, Vec<String>)> {
    let columns = run.columns();
    let row = |name: &str, figure: &dyn Fn(&Figures) -> String| {
        (name.to_owned(), columns.iter().map(|(_, figures)| figure(figures)).collect())
    };
    let mut rows = vec![
        row("Requests", &|figures| thousands(figures.count)),
        row("Errors", &|figures| thousands(figures.errors)),
        row("Errors, %", &|figures| format!("{:.3}", figures.error_percent)),
    ];
    for kind in run.all.errors_by_kind.keys() {
        rows.push(row(&format!("Error: {kind}"), &|figures| {
            thousands(figures.errors_by_kind.get(kind).copied().unwrap_or_default())
        }));
    }
    rows.push(row("Successes a second", &|figures| decimal(figures.rate_per_s)));
    rows.push(row("Sent, KB/s", &|figures| decimal(figures.sent_kb_per_s)));
    rows.push(row("Received, KB/s", &|figures| decimal(figures.received_kb_per_s)));
    for (index, (name, _)) in run.all.latency_ms.rows().iter().enumerate() {
        rows.push(row(&format!("Latency {name}, ms"), &|figures| figures.latency_ms.cell(index)));
    }
    rows.push(row("First byte mean, ms", &|figures| ms(figures.wait_ms.mean)));
    rows.push(row("First byte p99, ms", &|figures| ms(figures.wait_ms.p99)));
    if run.all.connect_ms.count > 0 {
        rows.push(row("New connections", &|figures| thousands(figures.connect_ms.count)));
        rows.push(row("Connect mean, ms", &|figures| ms(figures.connect_ms.mean)));
        rows.push(row("Connect p99, ms", &|figures| ms(figures.connect_ms.p99)));
    }
    for (index, within) in run.all.within.iter().enumerate() {
        rows.push(row(&format!("Served within {} ms, %", within.ms), &|figures| {
            format!("{:.3}", figures.within[index].percent)
        }));
    }
    rows
}

/// Where a percentile lies on the axis: each nine takes as much room as the one before.
fn nines(percent: f64) -> f64 {
    -((100.0 - percent).max(0.001) / 100.0).log10()
}

fn percentiles(run: &RunReport) -> Plot {
    let columns = run.columns();
    let values = columns
        .iter()
        .flat_map(|(_, figures)| figures.curve.iter().map(|point| point.ms))
        .collect::<Vec<_>>();
    let frame =
        Frame { x: Scale::Linear { from: 0.0, to: 5.0 }, y: Scale::log(values.iter().copied()) };
    let lines = columns.iter().enumerate().filter(|(_, (_, figures))| figures.succeeded > 0).map(
        |(style, (name, figures))| {
            let points: Vec<(f64, f64)> = figures
                .curve
                .iter()
                .filter(|point| point.percent < 100.0)
                .map(|point| (nines(point.percent), point.ms))
                .collect();
            frame.line(*name, style, &points)
        },
    );
    let latency = &run.all.latency_ms;
    Plot {
        id: "percentiles",
        title: "Latency by percentile",
        summary: format!(
            "Half of the successes took at most {:.3} ms, 90 % at most {:.3} ms, 99 % at most {:.3} ms, 99.9 % at most {:.3} ms; the slowest {:.3} ms.",
            latency.median, latency.p90, latency.p99, latency.p999, latency.max
        ),
        x_label: "percentile",
        y_label: "ms",
        x_ticks: frame.x_ticks_at(&[
            (0.0, "0"),
            (nines(50.0), "50"),
            (1.0, "90"),
            (2.0, "99"),
            (3.0, "99.9"),
            (4.0, "99.99"),
            (5.0, "99.999"),
        ]),
        y_ticks: frame.y_ticks(),
        lines: lines.collect(),
    }
}

/// The windows of all runs, one run after the other; times from the start of the first.
fn windows(report: &Report, of: impl Fn(&RunReport) -> Option<&Figures>) -> Vec<Point> {
    let mut points = Vec::new();
    let mut offset_s = 0.0;
    for run in &report.runs {
        if let Some(figures) = of(run) {
            points.extend(
                figures
                    .series
                    .iter()
                    .filter(|point| point.width_s > 0.0)
                    .map(|point| Point { at_s: point.at_s + offset_s, ..*point }),
            );
        }
        offset_s += run.elapsed_s;
    }
    points
}

/// The series of each column of the report, by name.
fn all_windows(report: &Report) -> Vec<(&'static str, Vec<Point>)> {
    let get: fn(&RunReport) -> Option<&Figures> = |run| run.get.as_ref();
    let put: fn(&RunReport) -> Option<&Figures> = |run| run.put.as_ref();
    let mut all = vec![("all", windows(report, |run| Some(&run.all)))];
    if report.total.get.is_some() {
        all.push(("reads", windows(report, get)));
        all.push(("writes", windows(report, put)));
    }
    all
}

/// A window's place on the time axis: its middle.
fn middle(point: &Point) -> f64 {
    point.at_s + point.width_s / 2.0
}

fn time_scale(report: &Report) -> Scale {
    Scale::Linear {
        from: 0.0,
        to: report.runs.iter().map(|run| run.elapsed_s).sum::<f64>().max(0.001),
    }
}

/// Successes in each window of these series, the first of which holds all.
pub(super) fn throughput(
    series: &[(&'static str, Vec<Point>)],
    time: Scale,
    rate_per_s: f64,
) -> Plot {
    let frame = Frame {
        x: time,
        y: Scale::from_zero(
            series.iter().flat_map(|(_, points)| points.iter().map(|point| point.rate_per_s)),
        ),
    };
    let line = |(style, (name, points)): (usize, &(&'static str, Vec<Point>))| {
        frame.line(
            *name,
            style,
            &points.iter().map(|point| (middle(point), point.rate_per_s)).collect::<Vec<_>>(),
        )
    };
    let rates = || series[0].1.iter().map(|point| point.rate_per_s);
    let least = rates().fold(f64::INFINITY, f64::min);
    Plot {
        id: "throughput",
        title: "Throughput over time",
        summary: format!(
            "Successes a second in {} windows: between {} and {}, {} on average.",
            series[0].1.len(),
            decimal(if least.is_finite() { least } else { 0.0 }),
            decimal(rates().fold(0.0, f64::max)),
            decimal(rate_per_s)
        ),
        x_label: "seconds",
        y_label: "successes/s",
        x_ticks: frame.x_ticks(),
        y_ticks: frame.y_ticks(),
        lines: series.iter().enumerate().map(line).collect(),
    }
}

/// Latencies in each window of these series, the first of which holds all.
pub(super) fn latency(series: &[(&'static str, Vec<Point>)], time: Scale, whole: &Latency) -> Plot {
    // With reads and writes apart their sum says nothing new: it is left out to keep the lines few.
    let shown = if series.len() > 1 { &series[1..] } else { series };
    let values: Vec<f64> = shown
        .iter()
        .flat_map(|(_, points)| points.iter().flat_map(|point| [point.p50_ms, point.p99_ms]))
        .collect();
    let frame = Frame { x: time, y: Scale::log(values.iter().copied()) };
    let mut lines = Vec::new();
    for (index, (name, points)) in shown.iter().enumerate() {
        let served: Vec<&Point> = points.iter().filter(|point| point.succeeded > 0).collect();
        let line = |pick: fn(&Point) -> f64| {
            served.iter().map(|point| (middle(point), pick(point))).collect::<Vec<_>>()
        };
        lines.push(frame.line(format!("{name} p50"), 2 * index, &line(|point| point.p50_ms)));
        lines.push(frame.line(format!("{name} p99"), 2 * index + 1, &line(|point| point.p99_ms)));
    }
    let worst = series[0].1.iter().map(|point| point.p99_ms).fold(0.0, f64::max);
    Plot {
        id: "latency",
        title: "Latency over time",
        summary: format!(
            "Median and 99th percentile in each window. The worst window's p99 was {worst:.3} ms, the whole run's {:.3} ms.",
            whole.p99
        ),
        x_label: "seconds",
        y_label: "ms",
        x_ticks: frame.x_ticks(),
        y_ticks: frame.y_ticks(),
        lines,
    }
}

fn curve_table(run: &RunReport) -> Vec<(String, Vec<String>)> {
    let columns = run.columns();
    let row = |(index, point): (usize, &super::CurvePoint)| {
        (
            point.percent.to_string(),
            columns.iter().map(|(_, figures)| ms(figures.curve[index].ms)).collect(),
        )
    };
    run.all.curve.iter().enumerate().map(row).collect()
}

fn series_table(report: &Report) -> Vec<Vec<String>> {
    let row = |point: &Point| {
        vec![
            decimal(point.at_s),
            decimal(point.rate_per_s),
            thousands(point.errors),
            ms(point.p50_ms),
            ms(point.p99_ms),
            ms(point.max_ms),
        ]
    };
    windows(report, |run| Some(&run.all)).iter().map(row).collect()
}

/// This run first, then what the systems before recorded of the same kinds of request.
fn comparison(report: &Report) -> Vec<Compared> {
    let (reads, writes) = match report.command {
        "links-get" => (Some(&report.total.all), None),
        "links-put" => (None, Some(&report.total.all)),
        _ => (report.total.get.as_ref(), report.total.put.as_ref()),
    };
    let mut rows = Vec::new();
    for (kind, figures) in [("get", reads), ("put", writes)] {
        let Some(figures) = figures else { continue };
        rows.push(this_run(report, kind, figures));
        rows.extend(report.seeds.iter().filter(|seed| seed.kind == kind).map(seed_row));
    }
    rows
}

fn this_run(report: &Report, kind: &'static str, figures: &Figures) -> Compared {
    let latency = &figures.latency_ms;
    let options = &report.options;
    Compared {
        this_run: true,
        system: "This run".to_owned(),
        how: format!("{}, {} connections", options.pace, options.connections),
        kind,
        rate: decimal(figures.rate_per_s),
        ms: [latency.mean, latency.sd, latency.median, latency.p90, latency.p99, latency.max]
            .map(ms)
            .to_vec(),
        measured: format!(
            "{}. {} of {} requests were errors and are in no other figure.",
            options.workload,
            thousands(figures.errors),
            thousands(figures.count)
        ),
    }
}

fn seed_row(seed: &SeedRun) -> Compared {
    let stated =
        |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| value.to_string());
    Compared {
        this_run: false,
        system: seed.system.to_owned(),
        how: seed.how.to_owned(),
        kind: seed.kind,
        rate: seed.rate.to_owned(),
        ms: [seed.mean_ms, seed.sd_ms, seed.median_ms, seed.p90_ms, seed.p99_ms, seed.max_ms]
            .map(stated)
            .to_vec(),
        measured: seed.measured.to_owned(),
    }
}

/// What was asked for, and what is not a figure of the server's speed.
fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let (options, total) = (&report.options, &report.total);
    let mut facts = vec![
        ("Server", report.url.clone()),
        ("Requests", options.workload.clone()),
        ("Pace", options.pace.clone()),
        (
            "Connections",
            format!(
                "{}, {}",
                options.connections,
                if options.new_connections { "a new one for each request" } else { "kept" }
            ),
        ),
        ("Until", options.until.clone()),
        (
            "Time",
            format!(
                "{:.3} s{}",
                total.elapsed_s,
                if total.interrupted { ", stopped early" } else { "" }
            ),
        ),
        ("Deadline of a request", format!("{} s", options.timeout_s)),
        ("Threads of the client", options.threads.to_string()),
        ("Seed and prefix", format!("{} {}", options.seed, options.prefix)),
    ];
    facts.extend(
        total.all.error_details.iter().map(|(kind, detail)| ("Error", format!("{kind}: {detail}"))),
    );
    if let Some(cpu_us) = total.client_cpu_us_per_request {
        facts.push(("Client CPU", format!("{cpu_us:.2} µs a request")));
    }
    if let Some(pacing) = &total.pacing {
        let lag = &pacing.lag_ms;
        facts.push(("Pacing lag", format!("median {:.3} ms, p99 {:.3} ms, max {:.3} ms: the client's own lateness, which is inside the latencies", lag.median, lag.p99, lag.max)));
        facts.push(("Waited for a connection", format!("{} requests", thousands(pacing.queued))));
    }
    if let Some(writes) = &total.writes {
        let [acknowledged, refused, unknown] =
            [writes.acknowledged, writes.refused, writes.unknown].map(thousands);
        facts.push(("Writes", format!("{acknowledged} acknowledged, {refused} refused or not sent, {unknown} of unknown outcome")));
    }
    if let Some(found) = &total.verification {
        if total.writes.is_some() {
            let [verified, missing, wrong, unreadable] =
                [found.verified, found.missing, found.wrong, found.unreadable].map(thousands);
            facts.push((
                "Read back",
                format!(
                    "{verified} verified, {missing} missing, {wrong} wrong, {unreadable} unreadable"
                ),
            ));
        }
        if found.reads_checked > 0 {
            facts.push((
                "Reads compared",
                format!(
                    "{}, {} with a wrong target",
                    thousands(found.reads_checked),
                    thousands(found.reads_wrong)
                ),
            ));
        }
    }
    facts
}

fn runs(report: &Report) -> Vec<Vec<String>> {
    let Some(repeat) = &report.repeat else { return Vec::new() };
    let mut rows: Vec<Vec<String>> = (1..)
        .zip(&report.runs)
        .map(|(number, run)| {
            vec![
                number.to_string(),
                decimal(run.all.rate_per_s),
                ms(run.all.latency_ms.median),
                ms(run.all.latency_ms.p99),
                thousands(run.all.errors),
            ]
        })
        .collect();
    let spread = [repeat.rate_per_s, repeat.p50_ms, repeat.p99_ms];
    rows.push(vec![
        "mean".to_owned(),
        decimal(spread[0].mean),
        ms(spread[1].mean),
        ms(spread[2].mean),
        String::new(),
    ]);
    rows.push(vec![
        "sd".to_owned(),
        decimal(spread[0].sd),
        ms(spread[1].sd),
        ms(spread[2].sd),
        String::new(),
    ]);
    rows
}
