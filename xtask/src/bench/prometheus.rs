//! Parses metrics in Prometheus's text format.

use std::{collections::BTreeMap, ops::Add as _};

/// Suffix of the names of a histogram's lines.
const BUCKET: &str = "_bucket";

/// The sum of the metrics whose lines begin with `line_start`; `None` without such a line.
pub(crate) fn sum(metrics: &str, line_start: &str) -> Option<f64> {
    let lines = metrics.lines().filter(|line| line.starts_with(line_start));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).reduce(f64::add)
}

/// Histograms by name, summed over their labels.
#[derive(Debug, Default, Clone)]
pub(crate) struct Histograms(BTreeMap<String, Histogram>);

/// Pairs of a bucket's upper bound in seconds and its cumulative count; the last bound is infinite.
#[derive(Debug, Default, Clone)]
pub(crate) struct Histogram(Vec<(f64, f64)>);

impl Histograms {
    /// Adds the metrics of one process.
    pub(crate) fn add(&mut self, metrics: &str) {
        for line in metrics.lines() {
            if let Some((name, bound_s, count)) = bucket(line) {
                self.0.entry(name.to_owned()).or_default().add(bound_s, count);
            }
        }
    }

    /// Subtracts an earlier state.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        for (name, histogram) in &mut self.0 {
            if let Some(earlier) = before.0.get(name) {
                for (bound_s, count) in &earlier.0 {
                    histogram.add(*bound_s, -count);
                }
            }
        }
        self
    }

    /// The histogram of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Histogram> {
        self.0.get(name)
    }
}

/// A line such as `name_bucket{route="/api/me",le="0.005"} 17`.
fn bucket(line: &str) -> Option<(&str, f64, f64)> {
    let (series, count) = line.rsplit_once(' ')?;
    let (name, labels) = series.split_once('{')?;
    let bound = labels.split("le=\"").nth(1)?.split('"').next()?;
    let bound_s = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
    Some((name.strip_suffix(BUCKET)?, bound_s, count.parse().ok()?))
}

impl Histogram {
    fn add(&mut self, bound_s: f64, count: f64) {
        let known = self.0.iter_mut().find(|(bound, _)| bound.total_cmp(&bound_s).is_eq());
        if let Some((_, sum)) = known {
            *sum += count;
            return;
        }
        self.0.push((bound_s, count));
        self.0.sort_by(|one, other| one.0.total_cmp(&other.0));
    }

    /// The number of samples.
    pub(crate) fn count(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// The quantile `share` in seconds, interpolated linearly between two bounds; at most the last finite
    /// bound. `None` without samples.
    pub(crate) fn quantile_s(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count();
        let (mut from_s, mut below) = (0.0, 0.0);
        for &(bound_s, count) in &self.0 {
            if count >= wanted && count > below {
                let part = (wanted - below) / (count - below);
                let is_last = !bound_s.is_finite();
                return Some(if is_last { from_s } else { from_s + part * (bound_s - from_s) });
            }
            (from_s, below) = (bound_s, count);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "# TYPE lodge_x_seconds histogram\n\
        lodge_x_seconds_bucket{le=\"0.001\"} 5\nlodge_x_seconds_bucket{le=\"0.005\"} 5\n\
        lodge_x_seconds_bucket{le=\"+Inf\"} 5\nlodge_x_seconds_sum 0.001\nlodge_x_seconds_count 5\n";
    const AFTER: &str = "lodge_x_seconds_bucket{route=\"/a\",le=\"0.001\"} 55\n\
        lodge_x_seconds_bucket{route=\"/b\",le=\"0.001\"} 40\n\
        lodge_x_seconds_bucket{route=\"/a\",le=\"0.005\"} 65\n\
        lodge_x_seconds_bucket{route=\"/b\",le=\"0.005\"} 40\n\
        lodge_x_seconds_bucket{route=\"/a\",le=\"+Inf\"} 65\n\
        lodge_x_seconds_bucket{route=\"/b\",le=\"+Inf\"} 40\n";

    fn histograms(text: &str) -> Histograms {
        let mut histograms = Histograms::default();
        histograms.add(text);
        histograms
    }

    #[test]
    fn samples_from_before_a_run_are_subtracted() {
        let run = histograms(AFTER).since(&histograms(BEFORE));
        let histogram = run.get("lodge_x_seconds").unwrap();
        assert!((histogram.count() - 100.0).abs() < 1e-9);
        // 90 within 1 ms, the other 10 within 5 ms: the 99th of 100 is nine tenths of the way.
        assert!((histogram.quantile_s(0.99).unwrap() - 0.0046).abs() < 1e-9);
        assert!(run.get("lodge_y_seconds").is_none());
    }

    #[test]
    fn without_samples_there_is_no_quantile() {
        let none = histograms(BEFORE).since(&histograms(BEFORE));
        assert_eq!(none.get("lodge_x_seconds").unwrap().quantile_s(0.99), None);
    }

    #[test]
    fn samples_past_the_last_finite_bound_count_as_that_bound() {
        let text = "x_seconds_bucket{le=\"5\"} 1\nx_seconds_bucket{le=\"+Inf\"} 100\n";
        let p99_s = histograms(text).get("x_seconds").unwrap().quantile_s(0.99);
        assert_eq!(p99_s, Some(5.0));
    }
}
