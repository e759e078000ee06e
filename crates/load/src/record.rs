//! What was measured. Each thread fills its own record; they are merged at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::series::Series;

/// The two kinds of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Get,
    Put,
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ErrorKind {
    /// An answer, but not one that counts as success.
    Status(u16),
    /// No whole answer before the deadline.
    Timeout,
    /// No connection.
    Connect,
    /// The connection broke before the whole answer was here.
    Reset,
    /// What came was not HTTP/1.1.
    Malformed,
    /// A redirect to another place than asked for.
    WrongTarget,
    /// Due, but no connection was free before the deadline, or the run was stopped.
    NotSent,
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(code) => write!(f, "status {code}"),
            Self::Timeout => f.write_str("timeout"),
            Self::Connect => f.write_str("connect"),
            Self::Reset => f.write_str("reset"),
            Self::Malformed => f.write_str("malformed answer"),
            Self::WrongTarget => f.write_str("wrong target"),
            Self::NotSent => f.write_str("not sent"),
        }
    }
}

/// The bounds of "served within", in ms.
pub(crate) const WITHIN_MS: [u64; 4] = [10, 20, 50, 100];

/// A distribution of times: exact count, mean, deviation, least and most; percentiles to 0.1 %.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    histogram_ns: Histogram<u64>,
    sum_ms: f64,
    sum_squares_ms: f64,
    min: Duration,
    max: Duration,
}

impl Times {
    pub(crate) fn new() -> Self {
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

    pub(crate) fn record(&mut self, time: Duration) {
        self.histogram_ns.saturating_record(nanoseconds(time));
        let ms = time.as_secs_f64() * 1e3;
        self.sum_ms += ms;
        self.sum_squares_ms += ms * ms;
        self.min = self.min.min(time);
        self.max = self.max.max(time);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        // Both grow by themselves, so adding cannot fail.
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

    /// The standard deviation of the times themselves.
    pub(crate) fn deviation_ms(&self) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let mean = self.mean_ms();
        (self.sum_squares_ms / float(self.count()) - mean * mean).max(0.0).sqrt()
    }

    /// The time that `percent` of the requests did not exceed; never more than the maximum.
    pub(crate) fn percentile_ms(&self, percent: f64) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        (float(self.histogram_ns.value_at_percentile(percent)) / 1e6)
            .clamp(self.min_ms(), self.max_ms())
    }
}

/// Whole nanoseconds; about 584 years fit.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of a run stay below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// One finished request, as it goes into the record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Since the start of the run.
    pub(crate) done_at: Duration,
    /// From the intended send time to the whole answer.
    pub(crate) total: Duration,
    /// From the request's first byte sent to the answer's first byte.
    pub(crate) wait: Option<Duration>,
    /// For a new connection.
    pub(crate) connect: Option<Duration>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) result: Result<(), ErrorKind>,
}

/// All requests of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) succeeded: u64,
    pub(crate) errors: BTreeMap<ErrorKind, u64>,
    /// What the system said the first time.
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
    pub(crate) fn new() -> Self {
        Self {
            succeeded: 0,
            errors: BTreeMap::new(),
            details: BTreeMap::new(),
            total: Times::new(),
            wait: Times::new(),
            connect: Times::new(),
            within: [0; WITHIN_MS.len()],
            sent_bytes: 0,
            received_bytes: 0,
            series: Series::new(),
        }
    }

    /// Latencies are those of successes; an error only counts as one.
    pub(crate) fn add(&mut self, sample: &Sample) {
        self.sent_bytes += sample.sent_bytes;
        self.received_bytes += sample.received_bytes;
        if let Some(connect) = sample.connect {
            self.connect.record(connect);
        }
        if let Err(error) = sample.result {
            *self.errors.entry(error).or_default() += 1;
            self.series.error(sample.done_at);
            return;
        }
        self.succeeded += 1;
        self.total.record(sample.total);
        if let Some(wait) = sample.wait {
            self.wait.record(wait);
        }
        for (count, bound_ms) in self.within.iter_mut().zip(WITHIN_MS) {
            *count += u64::from(sample.total <= Duration::from_millis(bound_ms));
        }
        self.series.success(sample.done_at, sample.total);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.succeeded += other.succeeded;
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

/// What one thread, or a whole run, measured.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) get: Record,
    pub(crate) put: Record,
    /// Open loop: from the intended time to the sending, where a connection lay idle: the client's own lateness.
    pub(crate) lag: Times,
    /// Open loop: requests that waited for a free connection.
    pub(crate) queued: u64,
    /// Writes that the server refused, or that were never sent.
    pub(crate) writes_refused: u64,
    /// Writes of which nobody knows whether they were stored.
    pub(crate) writes_unknown: u64,
}

impl Measured {
    pub(crate) fn new() -> Self {
        Self {
            get: Record::new(),
            put: Record::new(),
            lag: Times::new(),
            queued: 0,
            writes_refused: 0,
            writes_unknown: 0,
        }
    }

    pub(crate) fn of(&mut self, kind: Kind) -> &mut Record {
        match kind {
            Kind::Get => &mut self.get,
            Kind::Put => &mut self.put,
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.get.merge(&other.get);
        self.put.merge(&other.put);
        self.lag.merge(&other.lag);
        self.queued += other.queued;
        self.writes_refused += other.writes_refused;
        self.writes_unknown += other.writes_unknown;
    }

    /// Reads and writes as one.
    pub(crate) fn both(&self) -> Record {
        let mut both = self.get.clone();
        both.merge(&self.put);
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, result: Result<(), ErrorKind>) -> Sample {
        let total = Duration::from_millis(ms);
        Sample {
            done_at: total,
            total,
            wait: Some(total),
            connect: None,
            sent_bytes: 10,
            received_bytes: 20,
            result,
        }
    }

    #[test]
    fn figures_are_those_of_the_successes() {
        let mut record = Record::new();
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
        let (mut one, mut left, mut right) = (Record::new(), Record::new(), Record::new());
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

    #[test]
    fn an_empty_distribution_has_zeros() {
        let times = Times::new();
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
