//! Measurements. Each thread fills its own record; records are merged at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use super::outcome::ErrorKind;
use super::series::Series;
use super::times::Times;
use super::wire::Cost;

/// The bounds of "served within", in ms.
pub(crate) const WITHIN_MS: [u64; 4] = [10, 20, 50, 100];

/// The measurement of one finished request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// When the response was complete, since the start of the run.
    pub(crate) done_at: Duration,
    /// From the intended send time to the complete response.
    pub(crate) total: Duration,
    pub(crate) cost: Cost,
    pub(crate) result: Result<(), ErrorKind>,
}

/// The measurements of all requests of one kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) succeeded: u64,
    /// The time of the last success, since the start of the run.
    pub(crate) last_success: Duration,
    pub(crate) errors: BTreeMap<ErrorKind, u64>,
    /// The operating system's text for the first error of each kind.
    pub(crate) details: BTreeMap<ErrorKind, String>,
    pub(crate) total: Times,
    pub(crate) wait: Times,
    pub(crate) connect: Times,
    pub(crate) within: [u64; WITHIN_MS.len()],
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) series: Series,
}

impl Record {
    /// Adds a request. Only successes have latencies; errors are counted.
    pub(crate) fn add(&mut self, sample: &Sample) {
        let Cost { wait, connect, sent_bytes, received_bytes } = sample.cost;
        self.sent_bytes += sent_bytes;
        self.received_bytes += received_bytes;
        if let Some(connect) = connect {
            self.connect.record(connect);
        }
        if let Err(error) = sample.result {
            *self.errors.entry(error).or_default() += 1;
            self.series.error(sample.done_at);
            return;
        }
        self.succeeded += 1;
        self.last_success = self.last_success.max(sample.done_at);
        self.total.record(sample.total);
        if let Some(wait) = wait {
            self.wait.record(wait);
        }
        for (count, bound_ms) in self.within.iter_mut().zip(WITHIN_MS) {
            *count += u64::from(sample.total <= Duration::from_millis(bound_ms));
        }
        self.series.success(sample.done_at, sample.total);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.succeeded += other.succeeded;
        self.last_success = self.last_success.max(other.last_success);
        for (kind, count) in &other.errors {
            *self.errors.entry(*kind).or_default() += count;
        }
        for (kind, detail) in &other.details {
            self.details.entry(*kind).or_insert_with(|| detail.clone());
        }
        self.total.merge(&other.total);
        self.wait.merge(&other.wait);
        self.connect.merge(&other.connect);
        for (count, more) in self.within.iter_mut().zip(other.within) {
            *count += more;
        }
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.series.merge(&other.series);
    }

    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, result: Result<(), ErrorKind>) -> Sample {
        let total = Duration::from_millis(ms);
        let cost = Cost { wait: Some(total), connect: None, sent_bytes: 10, received_bytes: 20 };
        Sample { done_at: total, total, cost, result }
    }

    #[test]
    fn latencies_are_those_of_successes_only() {
        let mut record = Record::default();
        for ms in 1..=100 {
            record.add(&sample(ms, Ok(())));
        }
        record.add(&sample(9000, Err(ErrorKind::Timeout)));
        assert_eq!((record.succeeded, record.failed()), (100, 1));
        assert_eq!(record.within, [10, 20, 50, 100]);
        assert!((record.total.mean_ms() - 50.5).abs() < 1e-9);
        assert!((record.total.deviation_ms() - 28.866).abs() < 1e-3);
        assert!((record.total.percentile_ms(99.0) - 99.0).abs() < 0.1);
        assert!((record.total.max_ms() - 100.0).abs() < 1e-9);
        assert_eq!((record.sent_bytes, record.received_bytes), (1010, 2020));
    }

    #[test]
    fn merging_records_is_recording_into_one() {
        let (mut one, mut left, mut right) =
            (Record::default(), Record::default(), Record::default());
        for ms in 1..=50 {
            let result = if ms % 7 == 0 { Err(ErrorKind::Status(503)) } else { Ok(()) };
            one.add(&sample(ms, result));
            if ms % 2 == 0 { &mut left } else { &mut right }.add(&sample(ms, result));
        }
        left.merge(&right);
        assert_eq!(left.errors, one.errors);
        assert_eq!(left.within, one.within);
        assert!((left.total.percentile_ms(50.0) - one.total.percentile_ms(50.0)).abs() < 1e-9);
        assert!((left.total.deviation_ms() - one.total.deviation_ms()).abs() < 1e-6);
    }
}
