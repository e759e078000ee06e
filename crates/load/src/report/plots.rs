//! The plots of a report.

use super::figures::{Figures, Latency, decimal};
use super::plot::{Frame, Plot, Scale};
use crate::engine::series::Point;

/// A name and its windows.
pub(crate) type Series = (&'static str, Vec<Point>);

/// Plots the percentiles of these columns; the first contains all requests.
pub(crate) fn percentiles(columns: &[(&'static str, &Figures)]) -> Plot {
    let values = columns.iter().flat_map(|(_, figures)| figures.curve.iter().map(|point| point.ms));
    let frame = Frame { x: Scale::Nines, y: Scale::log(values) };
    let mut lines = Vec::new();
    for (style, (name, figures)) in columns.iter().enumerate() {
        let below_all = figures.curve.iter().filter(|point| point.percent < 100.0);
        let points: Vec<(f64, f64)> = below_all.map(|point| (point.percent, point.ms)).collect();
        lines.extend((figures.succeeded > 0).then(|| frame.line(*name, style, &points)));
    }
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
        frame,
        lines,
    }
}

fn time(elapsed_s: f64) -> Scale {
    Scale::Linear { to: elapsed_s.max(0.001) }
}

/// Returns a figure of each window, at the window's middle.
fn over_time<'a>(
    points: impl Iterator<Item = &'a Point>,
    figure: fn(&Point) -> f64,
) -> Vec<(f64, f64)> {
    points.map(|point| (point.at_s + point.width_s / 2.0, figure(point))).collect()
}

fn rates((_, points): &Series) -> impl Iterator<Item = f64> {
    points.iter().map(|point| point.rate_per_s)
}

/// Plots the successes of each window; the first series contains all requests.
pub(crate) fn throughput(series: &[Series], elapsed_s: f64, rate_per_s: f64) -> Plot {
    let frame = Frame { x: time(elapsed_s), y: Scale::from_zero(series.iter().flat_map(rates)) };
    let line = |(style, (name, points)): (usize, &Series)| {
        frame.line(*name, style, &over_time(points.iter(), |point| point.rate_per_s))
    };
    let least = rates(&series[0]).fold(f64::INFINITY, f64::min);
    Plot {
        id: "throughput",
        title: "Throughput over time",
        summary: format!(
            "Successes a second in {} windows: between {} and {}, {} on average.",
            series[0].1.len(),
            decimal(if least.is_finite() { least } else { 0.0 }),
            decimal(rates(&series[0]).fold(0.0, f64::max)),
            decimal(rate_per_s)
        ),
        x_label: "seconds",
        y_label: "successes/s",
        frame,
        lines: series.iter().enumerate().map(line).collect(),
    }
}

/// Plots the latencies of each window; the first series contains all requests.
pub(crate) fn latency(series: &[Series], elapsed_s: f64, whole: &Latency) -> Plot {
    // With separate reads and writes the total is left out, to keep the number of lines low.
    let shown = if series.len() > 1 { &series[1..] } else { series };
    let points = shown.iter().flat_map(|(_, points)| points);
    let values = points.flat_map(|point| [point.p50_ms, point.p99_ms]);
    let frame = Frame { x: time(elapsed_s), y: Scale::log(values) };
    let mut lines = Vec::new();
    for (index, (name, points)) in shown.iter().enumerate() {
        let served = points.iter().filter(|point| point.succeeded > 0);
        let medians = over_time(served.clone(), |point| point.p50_ms);
        lines.push(frame.line(format!("{name} p50"), 2 * index, &medians));
        let p99s = over_time(served, |point| point.p99_ms);
        lines.push(frame.line(format!("{name} p99"), 2 * index + 1, &p99s));
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
        frame,
        lines,
    }
}
