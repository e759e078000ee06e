//! Clicks over time as a bar chart.

use jiff::{SignedDuration, Timestamp, ToSpan, Unit, Zoned, ZonedRound, tz::TimeZone};
use lodge_domain::links::{Grouping, clicks::ClickLine};

use crate::pages::{
    chart::{Chart, Words},
    words,
};

/// The age up to which a link's clicks are shown by hour, unless another period is chosen.
const YOUNG: SignedDuration = SignedDuration::from_hours(24);

/// The age up to which all clicks of a link are shown by day.
const BY_DAY_MAX: SignedDuration = SignedDuration::from_hours(62 * 24);

/// The days of the longest chart: the most lines of a report.
const DAYS_MAX: i64 = 1_000;

/// The period of a chart, up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    Day,
    Week,
    Month,
    All,
}

impl Period {
    /// All periods, with their names in a query and on the page.
    pub(super) const ALL: [(Self, &str, &str); 4] = [
        (Self::Day, "24h", "24 hours"),
        (Self::Week, "7d", "7 days"),
        (Self::Month, "30d", "30 days"),
        (Self::All, "all", "All"),
    ];

    /// Returns the period of a query. If it names none: 24 hours for a young link, 30 days for others.
    pub(super) fn named(name: &str, age: SignedDuration) -> Self {
        let known = Self::ALL.into_iter().find(|(_, known, _)| *known == name);
        let usual = if age < YOUNG { Self::Day } else { Self::Month };
        known.map_or(usual, |(period, ..)| period)
    }
}

/// The length of time of one bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Hour,
    Day,
    Month,
}

impl Step {
    /// The report that has the numbers.
    pub(super) fn grouping(self) -> Grouping {
        match self {
            Self::Hour => Grouping::Hour,
            Self::Day | Self::Month => Grouping::Day,
        }
    }

    /// The UTC hour, day or month of a time.
    fn around(self, at: Timestamp) -> Result<Zoned, jiff::Error> {
        let (at, round) = (at.to_zoned(TimeZone::UTC), ZonedRound::new());
        match self {
            Self::Hour => at.round(round.smallest(Unit::Hour).mode(jiff::RoundMode::Trunc)),
            Self::Day => at.start_of_day(),
            Self::Month => at.first_of_month()?.start_of_day(),
        }
    }
}

/// Returns the steps and the start of a period.
pub(super) fn span(period: Period, created_at: Timestamp, now: Timestamp) -> (Step, Timestamp) {
    let age = now.duration_since(created_at);
    let hours_ago = |hours| now.checked_sub(SignedDuration::from_hours(hours)).unwrap_or(now);
    let days_ago = |days: i64| hours_ago(days * 24);
    match period {
        Period::Day => (Step::Hour, hours_ago(23)),
        Period::Week => (Step::Day, days_ago(6)),
        Period::Month => (Step::Day, days_ago(29)),
        Period::All if age < BY_DAY_MAX => (Step::Day, created_at.min(days_ago(6))),
        Period::All => (Step::Month, created_at.max(days_ago(DAYS_MAX - 1))),
    }
}

/// Returns the bar chart of a report, up to `now`.
pub(super) fn over_time(
    lines: &[ClickLine],
    step: Step,
    since: &Timestamp,
    now: &Timestamp,
) -> Chart {
    let bars: Vec<(String, u64)> = steps(step, since, now)
        .into_iter()
        .map(|(key, label)| (label, clicks_in(lines, &key)))
        .collect();
    let summary = summary(&bars);
    let words = match step {
        Step::Hour => Words { title: "Clicks by hour", along: "Hour", up: "Clicks" },
        Step::Day => Words { title: "Clicks by day", along: "Day", up: "Clicks" },
        Step::Month => Words { title: "Clicks by month", along: "Month", up: "Clicks" },
    };
    Chart::of("chart", words, bars, summary)
}

/// Returns every hour, day or month: the start of its keys in the report, and its label.
fn steps(step: Step, since: &Timestamp, now: &Timestamp) -> Vec<(String, String)> {
    let (length, key, label) = match step {
        Step::Hour => (1.hour(), "%Y-%m-%dT%H:", "%-d %b %H:00"),
        Step::Day => (1.day(), "%Y-%m-%d", "%-d %b"),
        Step::Month => (1.month(), "%Y-%m-", "%b %Y"),
    };
    let Ok(mut at) = step.around(*since) else { return Vec::new() };
    let mut steps = Vec::new();
    while at.timestamp() <= *now && steps.len() < 100 {
        steps.push((at.strftime(key).to_string(), at.strftime(label).to_string()));
        let Ok(next) = at.checked_add(length) else { break };
        at = next;
    }
    steps
}

fn clicks_in(lines: &[ClickLine], key: &str) -> u64 {
    lines.iter().filter(|line| line.key.starts_with(key)).map(|line| line.clicks).sum()
}

fn summary(bars: &[(String, u64)]) -> String {
    let total: u64 = bars.iter().map(|(_, clicks)| clicks).sum();
    let (Some((first, _)), Some((last, _))) = (bars.first(), bars.last()) else {
        return String::new();
    };
    let Some((busiest, most)) =
        bars.iter().max_by_key(|(_, clicks)| *clicks).filter(|(_, clicks)| *clicks > 0)
    else {
        return format!("No clicks from {first} to {last}.");
    };
    format!(
        "{} from {first} to {last}; most on {busiest}: {}.",
        words::clicks(total),
        words::thousands(most)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(by: Step, since: &str, now: &str, lines: &[(&str, u64)]) -> Chart {
        let lines: Vec<_> = lines
            .iter()
            .map(|(key, clicks)| ClickLine { key: (*key).to_owned(), clicks: *clicks })
            .collect();
        over_time(&lines, by, &since.parse().unwrap(), &now.parse().unwrap())
    }

    #[test]
    fn days_without_clicks_have_a_bar_too() {
        let chart = chart(
            Step::Day,
            "2026-01-30T23:59:00Z",
            "2026-02-02T00:00:00Z",
            &[("2026-01-31", 3), ("2026-02-02", 1)],
        );
        let bars: Vec<_> =
            chart.bars.iter().map(|bar| (bar.label.as_str(), bar.value, bar.height)).collect();
        assert_eq!(bars, [("30 Jan", 0, 0), ("31 Jan", 3, 75), ("1 Feb", 0, 0), ("2 Feb", 1, 25)]);
        assert_eq!((chart.top, chart.width()), (4, 40));
        assert_eq!(chart.summary, "4 clicks from 30 Jan to 2 Feb; most on 31 Jan: 3.");
    }

    #[test]
    fn hours_are_whole() {
        let chart = chart(
            Step::Hour,
            "2026-01-30T22:59:00Z",
            "2026-01-31T00:10:00Z",
            &[("2026-01-30T23:00:00Z", 1_000_001), ("2026-01-31T00:00:00Z", 1)],
        );
        let heights: Vec<_> =
            chart.bars.iter().map(|bar| (bar.label.as_str(), bar.height)).collect();
        assert_eq!(heights, [("30 Jan 22:00", 0), ("30 Jan 23:00", 66), ("31 Jan 00:00", 1)]);
        assert_eq!(chart.top, 1_500_000);
    }

    #[test]
    fn days_add_up_to_months() {
        let chart = chart(
            Step::Month,
            "2025-12-31T23:00:00Z",
            "2026-02-01T00:00:00Z",
            &[("2025-12-31", 1), ("2026-01-01", 2), ("2026-01-31", 3)],
        );
        let bars: Vec<_> = chart.bars.iter().map(|bar| (bar.label.as_str(), bar.value)).collect();
        assert_eq!(bars, [("Dec 2025", 1), ("Jan 2026", 5), ("Feb 2026", 0)]);
    }

    #[test]
    fn the_clicks_of_a_young_link_are_shown_by_hour() {
        let hours = SignedDuration::from_hours;
        for (name, age, expected) in [
            ("", hours(23), Period::Day),
            ("", hours(24), Period::Month),
            ("7d", hours(1), Period::Week),
            ("unknown", hours(1), Period::Day),
        ] {
            assert_eq!(Period::named(name, age), expected, "{name:?} at {age:?}");
        }
    }

    #[test]
    fn a_chart_has_hours_days_or_months_by_its_period() {
        let now: Timestamp = "2026-11-24T12:30:00Z".parse().unwrap();
        let bars = |period, created_at: &str| {
            let (step, since) = span(period, created_at.parse().unwrap(), now);
            (step, steps(step, &since, &now).len())
        };
        for (period, created_at, expected) in [
            (Period::Month, "2026-11-24T12:00:00Z", (Step::Day, 30)),
            (Period::All, "2026-11-24T12:00:00Z", (Step::Day, 7)),
            (Period::Week, "2026-11-22T12:30:00Z", (Step::Day, 7)),
            (Period::Day, "2020-01-01T00:00:00Z", (Step::Hour, 24)),
            (Period::Month, "2020-01-01T00:00:00Z", (Step::Day, 30)),
            (Period::All, "2026-11-22T00:00:00Z", (Step::Day, 7)),
            (Period::All, "2026-10-01T00:00:00Z", (Step::Day, 55)),
            (Period::All, "2026-08-01T00:00:00Z", (Step::Month, 4)),
            (Period::All, "1999-01-01T00:00:00Z", (Step::Month, 34)),
        ] {
            assert_eq!(bars(period, created_at), expected, "{period:?} {created_at}");
        }
    }
}
