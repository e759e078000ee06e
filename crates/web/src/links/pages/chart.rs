//! Clicks over time as a bar chart.

use jiff::{Timestamp, ToSpan, Unit, ZonedRound, tz::TimeZone};
use lodge_domain::links::{Grouping, clicks::ClickLine};

use crate::pages::{
    chart::{Chart, Words},
    words,
};

/// Returns the bar chart of a report by day or by hour, up to `now`.
pub(super) fn over_time(
    lines: &[ClickLine],
    by: Grouping,
    since: &Timestamp,
    now: &Timestamp,
) -> Chart {
    let bars: Vec<(String, u64)> = steps(by, since, now)
        .into_iter()
        .map(|(key, label)| (label, clicks_of(lines, &key)))
        .collect();
    let summary = summary(&bars);
    let words = match by {
        Grouping::Hour => Words { title: "Clicks by hour", along: "Hour", up: "Clicks" },
        _ => Words { title: "Clicks by day", along: "Day", up: "Clicks" },
    };
    Chart::of("chart", words, bars, summary)
}

/// Returns every day or hour: its key in the report, and its label.
fn steps(by: Grouping, since: &Timestamp, now: &Timestamp) -> Vec<(String, String)> {
    let (unit, step, key, label) = match by {
        Grouping::Hour => (Unit::Hour, 1.hour(), "%Y-%m-%dT%H:00:00Z", "%-d %b %H:00"),
        _ => (Unit::Day, 1.day(), "%Y-%m-%d", "%-d %b"),
    };
    let round = ZonedRound::new().smallest(unit).mode(jiff::RoundMode::Trunc);
    let Ok(mut at) = since.to_zoned(TimeZone::UTC).round(round) else { return Vec::new() };
    let mut steps = Vec::new();
    while at.timestamp() <= *now && steps.len() < 100 {
        steps.push((at.strftime(key).to_string(), at.strftime(label).to_string()));
        let Ok(next) = at.checked_add(step) else { break };
        at = next;
    }
    steps
}

fn clicks_of(lines: &[ClickLine], key: &str) -> u64 {
    lines.iter().find(|line| line.key == key).map_or(0, |line| line.clicks)
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

    fn chart(by: Grouping, since: &str, now: &str, lines: &[(&str, u64)]) -> Chart {
        let lines: Vec<_> = lines
            .iter()
            .map(|(key, clicks)| ClickLine { key: (*key).to_owned(), clicks: *clicks })
            .collect();
        over_time(&lines, by, &since.parse().unwrap(), &now.parse().unwrap())
    }

    #[test]
    fn days_without_clicks_have_a_bar_too() {
        let chart = chart(
            Grouping::Day,
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
            Grouping::Hour,
            "2026-01-30T22:59:00Z",
            "2026-01-31T00:10:00Z",
            &[("2026-01-30T23:00:00Z", 1_000_001), ("2026-01-31T00:00:00Z", 1)],
        );
        let heights: Vec<_> =
            chart.bars.iter().map(|bar| (bar.label.as_str(), bar.height)).collect();
        assert_eq!(heights, [("30 Jan 22:00", 0), ("30 Jan 23:00", 66), ("31 Jan 00:00", 1)]);
        assert_eq!(chart.top, 1_500_000);
    }
}
