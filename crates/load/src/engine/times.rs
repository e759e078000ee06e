//! Distributions of durations.

use std::time::Duration;

use hdrhistogram::Histogram;

/// A distribution of durations: exact count, mean, deviation, minimum and maximum; percentiles to 0.1 %.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    histogram_ns: Histogram<u64>,
    sum_ms: f64,
    sum_squares_ms: f64,
    min: Duration,
    max: Duration,
}

impl Default for Times {
    fn default() -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the bounds are constants that the histogram accepts"
        )]
        let mut histogram_ns = Histogram::new_with_bounds(100, 1 << 32, 3).expect("valid bounds");
        histogram_ns.auto(true);
        Self {
            histogram_ns,
            sum_ms: 0.0,
            sum_squares_ms: 0.0,
            min: Duration::MAX,
            max: Duration::ZERO,
        }
    }
}

impl Times {
    pub(crate) fn record(&mut self, time: Duration) {
        self.histogram_ns.saturating_record(nanoseconds(time));
        let ms = time.as_secs_f64() * 1e3;
        self.sum_ms += ms;
        self.sum_squares_ms += ms * ms;
        self.min = self.min.min(time);
        self.max = self.max.max(time);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        // Both resize themselves, so adding cannot fail.
        let added = self.histogram_ns.add(&other.histogram_ns);
        debug_assert!(added.is_ok());
        self.sum_ms += other.sum_ms;
        self.sum_squares_ms += other.sum_squares_ms;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn count(&self) -> u64 {
        self.histogram_ns.len()
    }

    pub(crate) fn min_ms(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.min.as_secs_f64() * 1e3 }
    }

    pub(crate) fn max_ms(&self) -> f64 {
        self.max.as_secs_f64() * 1e3
    }

    pub(crate) fn mean_ms(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ms / float(self.count()) }
    }

    /// Returns the population standard deviation.
    pub(crate) fn deviation_ms(&self) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let mean = self.mean_ms();
        (self.sum_squares_ms / float(self.count()) - mean * mean).max(0.0).sqrt()
    }

    /// Returns the time that `percent` of the requests did not exceed, at most the maximum.
    pub(crate) fn percentile_ms(&self, percent: f64) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        (float(self.histogram_ns.value_at_percentile(percent)) / 1e6)
            .clamp(self.min_ms(), self.max_ms())
    }
}

/// Converts to nanoseconds, saturating at about 584 years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts a count to a float.
#[expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of a run stay below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_distribution_has_zeros() {
        let times = Times::default();
        let figures = [
            times.min_ms(),
            times.max_ms(),
            times.mean_ms(),
            times.deviation_ms(),
            times.percentile_ms(99.9),
        ];
        assert!(figures.iter().all(|figure| *figure == 0.0));
    }
}
