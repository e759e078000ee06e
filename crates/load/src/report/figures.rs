//! The figures of a report, computed from the measurements. Text, JSON and HTML show the same figures.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::HumanCount;
use serde::Serialize;

use crate::engine::outcome::ErrorKind;
use crate::engine::record::{Record, WITHIN_MS};
use crate::engine::run::Measured;
use crate::engine::series::Point;
use crate::engine::times::{Times, float};

/// Bytes in a KB, as `ab` counts them.
const KB: f64 = 1024.0;
/// The percentiles of the curve.
const CURVE: [f64; 16] = [
    0.0, 10.0, 25.0, 50.0, 66.0, 75.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 99.99, 99.999,
    100.0,
];

/// The figures of one kind of request.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figures {
    pub(crate) count: u64,
    pub(crate) succeeded: u64,
    pub(crate) errors: u64,
    pub(crate) error_percent: f64,
    pub(crate) errors_by_kind: BTreeMap<String, u64>,
    /// The operating system's text for the first error of each kind, if any.
    pub(crate) error_details: BTreeMap<String, String>,
    /// Successes a second.
    pub(crate) rate_per_s: f64,
    pub(crate) sent_kb_per_s: f64,
    pub(crate) received_kb_per_s: f64,
    /// Of successes, from the intended send time to the complete response.
    pub(crate) latency_ms: Latency,
    /// Of successes, from sending to the first byte of the response.
    pub(crate) wait_ms: Latency,
    /// Connect times of connections opened during the run.
    pub(crate) connect_ms: Latency,
    /// Shares of all requests, errors included, that succeeded within a bound.
    pub(crate) within: Vec<Within>,
    pub(crate) curve: Vec<CurvePoint>,
    /// Over time; empty for the total of several runs.
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
    /// From the intended time to the sending, where a connection was idle.
    pub(crate) lag_ms: Latency,
    /// Requests that waited for a free connection.
    pub(crate) queued: u64,
}

impl Pacing {
    pub(crate) fn of(measured: &Measured) -> Self {
        Self { lag_ms: Latency::of(&measured.lag), queued: measured.queued }
    }
}

/// Mean and sample standard deviation (n - 1).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The mean; 0 without values.
    pub mean: f64,
    /// The standard deviation; 0 for fewer than two values.
    pub sd: f64,
}

impl Spread {
    /// Computes the spread of `values`.
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

impl Figures {
    pub(crate) fn new(record: &Record, elapsed: Duration) -> Self {
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
            errors_by_kind: by_name(&record.errors),
            error_details: by_name(&record.details),
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
    /// The column titles of `cells`.
    pub(crate) const TITLES: [&str; 9] =
        ["min", "mean", "sd", "median", "p90", "p95", "p99", "p99.9", "max"];

    pub(crate) fn of(times: &Times) -> Self {
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

    /// Formats the figures under `TITLES`; dashes if nothing succeeded.
    pub(crate) fn cells(&self) -> [String; 9] {
        let Self { min, mean, sd, median, p90, p95, p99, p999, max, .. } = *self;
        [min, mean, sd, median, p90, p95, p99, p999, max]
            .map(|value| if self.count > 0 { ms(value) } else { "–".to_owned() })
    }
}

fn by_name<T: Clone>(of: &BTreeMap<ErrorKind, T>) -> BTreeMap<String, T> {
    of.iter().map(|(kind, value)| (kind.to_string(), value.clone())).collect()
}

/// Returns the CPU time per request in microseconds.
pub(crate) fn us_per_request(cpu: Option<Duration>, count: u64) -> Option<f64> {
    cpu.filter(|_| count > 0).map(|cpu| cpu.as_secs_f64() * 1e6 / float(count))
}

/// Formats a time in ms with three decimals.
pub(crate) fn ms(value: f64) -> String {
    format!("{value:.3}")
}

/// Formats 1234567 as 1,234,567.
pub(crate) fn thousands(count: u64) -> String {
    HumanCount(count).to_string()
}

/// Formats a number with thousands separators and one decimal.
pub(crate) fn decimal(value: f64) -> String {
    let text = format!("{value:.1}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
    whole.parse().map_or_else(|_| text.clone(), |whole| format!("{}.{fraction}", thousands(whole)))
}
