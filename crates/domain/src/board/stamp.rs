//! Hybrid logical timestamps of events.

use std::fmt;

use jiff::{Timestamp, fmt::temporal::DateTimePrinter};
use serde::{Deserialize, Serialize};

/// A hybrid logical time (Kulkarni et al., 2014) in microseconds since 1970. It is the clock's time while the clock
/// advances, and otherwise the latest known stamp plus one microsecond.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Stamp(i64);

impl Stamp {
    /// The stamp of an event at `now` by this clock, later than `latest`.
    pub fn after(latest: Option<Self>, now: Timestamp) -> Self {
        let clock = now.as_microsecond().max(0);
        Self(latest.map_or(clock, |latest| clock.max(latest.0.saturating_add(1))))
    }

    /// A stamp from a store.
    pub fn stored(microseconds: i64) -> Self {
        Self(microseconds)
    }

    /// Microseconds since 1970.
    pub fn microseconds(self) -> i64 {
        self.0
    }

    /// The stamp as a calendar time.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_microsecond(self.0).unwrap_or(Timestamp::MAX)
    }
}

/// RFC 3339 in UTC with six digits after the second, so that stamps sort as text.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(6));
        f.write_str(&PRINTER.timestamp_to_string(&self.timestamp()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    #[test]
    fn stamps_increase_when_the_clock_goes_back() {
        let first = Stamp::after(None, at(1_000));
        let second = Stamp::after(Some(first), at(1_000));
        let third = Stamp::after(Some(second), at(400));
        let fourth = Stamp::after(Some(third), at(1_001));
        assert_eq!(
            [first, second, third, fourth].map(Stamp::microseconds),
            [1_000_000, 1_000_001, 1_000_002, 1_001_000]
        );
    }

    #[test]
    fn stamps_sort_as_text() {
        let stamps = [0, 1, 999_999, 1_000_000, 1_767_225_600_000_000, 1_767_225_600_000_001];
        let texts: Vec<_> = stamps.iter().map(|stamp| Stamp::stored(*stamp).to_string()).collect();
        assert!(texts.is_sorted(), "{texts:?}");
        assert_eq!(texts[5], "2026-01-01T00:00:00.000001Z");
    }
}
