//! Clicks over time as a bar chart: numbers in, shapes and labels out.

use jiff::{Timestamp, ToSpan, Unit, ZonedRound, tz::TimeZone};
use lodge_domain::links::{Grouping, clicks::ClickLine};

use crate::pages::words;

/// A bar's place in the drawing, 10 units wide and 100 high.
pub(super) struct Bar {
    /// Left edge.
    pub(super) x: usize,
    /// Upper edge.
    pub(super) y: u64,
    /// Height.
    pub(super) height: u64,
    /// What it stands for.
    pub(super) label: String,
    /// How many.
    pub(super) clicks: u64,
}

/// A chart, ready to be drawn.
pub(super) struct Chart {
    /// Oldest first, empty ones too.
    pub(super) bars: Vec<Bar>,
    /// The number at the top; half of it stands in the middle.
    pub(super) top: u64,
    /// What it says, for those who do not see it.
    pub(super) summary: String,
}

impl Chart {
    /// The chart of a report by day or by hour, up to `now`.
    pub(super) fn of(
        lines: &[ClickLine],
        by: Grouping,
        since: &Timestamp,
        now: &Timestamp,
    ) -> Self {
        let bars: Vec<(String, u64)> = steps(by, since, now)
            .into_iter()
            .map(|(key, label)| (label, clicks_of(lines, &key)))
            .collect();
        let top = nice_top(bars.iter().map(|(_, clicks)| *clicks).max().unwrap_or(0));
        let summary = summary(&bars);
        let bars = bars.into_iter().enumerate().map(|(index, (label, clicks))| {
            // One click is to be seen beside a million, too.
            let height = if clicks == 0 { 0 } else { (clicks * 100 / top).max(1) };
            Bar { x: index * 10, y: 100 - height, height, label, clicks }
        });
        Self { bars: bars.collect(), top, summary }
    }

    /// The drawing's width.
    pub(super) fn width(&self) -> usize {
        self.bars.len() * 10
    }

    /// The number half-way up.
    pub(super) fn half(&self) -> u64 {
        self.top / 2
    }

    /// The label in the middle.
    pub(super) fn middle(&self) -> &str {
        self.bars.get(self.bars.len() / 2).map_or("", |bar| &bar.label)
    }

    /// The label at the left end.
    pub(super) fn first(&self) -> &str {
        self.bars.first().map_or("", |bar| &bar.label)
    }

    /// The label at the right end.
    pub(super) fn last(&self) -> &str {
        self.bars.last().map_or("", |bar| &bar.label)
    }
}

/// Every day or hour, as the report's key and as people read it.
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

/// The least round even number that is not below `most`: 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, …
fn nice_top(most: u64) -> u64 {
    let mut unit = 1;
    loop {
        if let Some(top) = [2, 4, 6, 8, 10].map(|n| n * unit).into_iter().find(|top| *top >= most) {
            return top;
        }
        unit *= 10;
    }
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
        Chart::of(&lines, by, &since.parse().unwrap(), &now.parse().unwrap())
    }

    #[test]
    fn days_without_clicks_have_a_place_too() {
        let chart = chart(
            Grouping::Day,
            "2026-01-30T23:59:00Z",
            "2026-02-02T00:00:00Z",
            &[("2026-01-31", 3), ("2026-02-02", 1)],
        );
        let bars: Vec<_> =
            chart.bars.iter().map(|bar| (bar.label.as_str(), bar.clicks, bar.height)).collect();
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
        assert_eq!(heights, [("30 Jan 22:00", 0), ("30 Jan 23:00", 50), ("31 Jan 00:00", 1)]);
        assert_eq!(chart.top, 2_000_000);
    }

    #[test]
    fn the_top_is_round_and_can_be_halved() {
        assert_eq!(
            [0, 1, 2, 3, 7, 9, 11, 95, 101].map(nice_top),
            [2, 2, 2, 4, 8, 10, 20, 100, 200]
        );
    }
}
