//! The plots of a report.

use super::figures::{Figures, Latency, decimal};
use super::plot::{Frame, Plot, Scale};
use crate::engine::series::Point;

/// Windows with their name.
pub(crate) type Series = (&'static str, Vec<Point>);

/// Where a percentile lies on the axis: each nine takes as much room as the one before.
fn nines(percent: f64) -> f64 {
    -((100.0 - percent).max(0.001) / 100.0).log10()
}

/// Latencies of these columns, the first of which holds all.
pub(crate) fn percentiles(columns: &[(&'static str, &Figures)]) -> Plot {
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
    let latency = &columns[0].1.latency_ms;
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

/// A window's place on the time axis: its middle.
fn middle(point: &Point) -> f64 {
    point.at_s + point.width_s / 2.0
}

fn time(elapsed_s: f64) -> Scale {
    Scale::Linear { from: 0.0, to: elapsed_s.max(0.001) }
}

/// Successes in each window of these series, the first of which holds all.
pub(crate) fn throughput(series: &[Series], elapsed_s: f64, rate_per_s: f64) -> Plot {
    let frame = Frame {
        x: time(elapsed_s),
        y: Scale::from_zero(
            series.iter().flat_map(|(_, points)| points.iter().map(|point| point.rate_per_s)),
        ),
    };
    let line = |(style, (name, points)): (usize, &Series)| {
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
pub(crate) fn latency(series: &[Series], elapsed_s: f64, whole: &Latency) -> Plot {
    // With reads and writes apart their sum says nothing new: it is left out to keep the lines few.
    let shown = if series.len() > 1 { &series[1..] } else { series };
    let values: Vec<f64> = shown
        .iter()
        .flat_map(|(_, points)| points.iter().flat_map(|point| [point.p50_ms, point.p99_ms]))
        .collect();
    let frame = Frame { x: time(elapsed_s), y: Scale::log(values.iter().copied()) };
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
