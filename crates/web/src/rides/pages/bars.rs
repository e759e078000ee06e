//! Charts of rides.

use std::collections::BTreeMap;

use lodge_domain::rides::{
    Breakdown, Day, HourTally, LiftTally, Resort, SkierDay, Tally, VerticalUnit,
};

use super::names::{lift_name, vertical};
use crate::pages::{
    chart::{Chart, Words},
    words,
};

/// Hours of a day.
const HOURS: u16 = 24;

/// The fewest days in a chart: a single bar would fill it.
const DAYS_MIN: u16 = 14;

/// The most daily bars; a longer span has weekly bars.
const DAYS_MAX: usize = 70;

/// Days of a week.
const WEEK: usize = 7;

/// The fewest hours in a chart.
const HOURS_MIN: u16 = 4;

/// Charts a resort's day by hour, from the first hour with rides to the last, including empty ones.
pub(super) fn by_hour(breakdown: &Breakdown) -> Chart {
    let rides = |hour: u16| {
        let found = breakdown.hours.iter().find(|tally| tally.hour.0 == hour);
        found.map_or(0, |HourTally { tally, .. }| tally.rides)
    };
    let ridden = || breakdown.hours.iter().map(|tally| tally.hour.0);
    let first = ridden().min().unwrap_or_default().min(HOURS - HOURS_MIN);
    let last = ridden().max().unwrap_or_default().max(first + HOURS_MIN - 1);
    let bars: Vec<_> = (first..=last).map(|hour| (format!("{hour:02}:00"), rides(hour))).collect();
    let words = Words { title: "Rides by hour", along: "Hour", up: "Rides" };
    let summary = of_rides(&bars, "most in the hour from");
    Chart::of("hours", words, bars, summary)
}

/// Charts a resort's day by lift, including lifts without rides.
pub(super) fn by_lift(breakdown: &Breakdown, resort: &Resort) -> Chart {
    let rides = |lift| {
        let found = breakdown.lifts.iter().find(|tally| tally.lift == lift);
        found.map_or(0, |LiftTally { tally, .. }| tally.rides)
    };
    let known = resort.lifts.iter().map(|(id, lift)| (lift_name(Some(lift), *id), rides(*id)));
    // Lifts that were removed from the resort's table since.
    let gone = breakdown.lifts.iter().filter(|tally| !resort.lifts.contains_key(&tally.lift));
    let gone = gone.map(|tally| (lift_name(None, tally.lift), tally.tally.rides));
    let bars: Vec<_> = known.chain(gone).collect();
    let words = Words { title: "Rides by lift", along: "Lift", up: "Rides" };
    let summary = of_rides(&bars, "most by");
    Chart::of("lifts", words, bars, summary)
}

/// Charts the rides of a season by day.
pub(super) fn rides_by_day(days: &[(Day, Tally)]) -> Chart {
    let rides = days.iter().map(|(day, tally)| (*day, tally.rides));
    let amount = |rides| words::thousands(rides);
    by_day(rides, ["Rides by day", "Rides by week"], "Rides", words::rides, amount)
}

/// Charts a skier's vertical in a season by day.
pub(super) fn vertical_by_day(days: &[SkierDay], unit: VerticalUnit) -> Chart {
    let up = match unit {
        VerticalUnit::Metres => "Vertical (m)",
        VerticalUnit::Feet => "Vertical (ft)",
    };
    let days = days.iter().map(|day| (day.day, day.tally.vertical));
    let amount = |amount: u64| vertical(amount, unit);
    by_day(days, ["Vertical by day", "Vertical by week"], up, amount, amount)
}

/// Charts a season by day, or by week, the second title, if there are too many days.
fn by_day(
    days: impl Iterator<Item = (Day, u64)>,
    titles: [&'static str; 2],
    up: &'static str,
    total: impl Fn(u64) -> String,
    amount: impl Fn(u64) -> String,
) -> Chart {
    let mut on: BTreeMap<u16, u64> = BTreeMap::new();
    for (day, value) in days {
        *on.entry(day.0).or_default() += value;
    }
    let last = on.keys().next_back().copied().unwrap_or_default().max(DAYS_MIN);
    let first = on.keys().next().copied().unwrap_or(1).min(last - DAYS_MIN + 1);
    let value = |number: u16| on.get(&number).copied().unwrap_or_default();
    let each: Vec<_> = (first..=last).map(|number| (number.to_string(), value(number))).collect();
    let [by_day, by_week] = titles;
    let (bars, title, along, most) = if each.len() > DAYS_MAX {
        (weeks(&each, first), by_week, "Days", "most on days")
    } else {
        (each, by_day, "Day", "most on day")
    };
    let summary = summary(&bars, total, most, amount);
    Chart::of("days", Words { title, along, up }, bars, summary)
}

fn weeks(days: &[(String, u64)], first: u16) -> Vec<(String, u64)> {
    let week = |(start, days): (usize, &[(String, u64)])| {
        let from = usize::from(first) + start * WEEK;
        let to = from + days.len() - 1;
        let label = if from == to { from.to_string() } else { format!("{from}–{to}") };
        (label, days.iter().map(|(_, value)| value).sum())
    };
    days.chunks(WEEK).enumerate().map(week).collect()
}

fn of_rides(bars: &[(String, u64)], most: &str) -> String {
    summary(bars, words::rides, most, words::thousands)
}

/// `7 rides; most in the hour from 08:00: 4.`
fn summary(
    bars: &[(String, u64)],
    total: impl Fn(u64) -> String,
    most: &str,
    amount: impl Fn(u64) -> String,
) -> String {
    let total = total(bars.iter().map(|(_, value)| value).sum());
    // The first of equally high bars: `max_by_key` returns the last.
    let highest = bars.iter().rev().max_by_key(|(_, value)| *value);
    match highest.filter(|(_, value)| *value > 0) {
        Some((label, value)) => format!("{total}; {most} {label}: {}.", amount(*value)),
        None => format!("{total}."),
    }
}

#[cfg(test)]
mod tests {
    use lodge_domain::rides::{Hour, LiftId, ResortId};

    use super::*;

    fn tally(rides: u64) -> Tally {
        Tally { rides, vertical: rides * 100 }
    }

    fn labels(chart: &Chart) -> Vec<(&str, u64)> {
        let ridden = chart.bars.iter().filter(|bar| bar.value > 0);
        ridden.map(|bar| (bar.label.as_str(), bar.value)).collect()
    }

    fn ends(chart: &Chart) -> (usize, &str, &str) {
        let [first, .., last] = &chart.bars[..] else { panic!("too few bars") };
        (chart.bars.len(), &first.label, &last.label)
    }

    #[test]
    fn a_day_shows_the_hours_from_the_first_to_the_last_with_rides() {
        let day = |hours: &[u16]| {
            let hour = |hour: &u16| HourTally { hour: Hour(*hour), tally: tally(2) };
            by_hour(&Breakdown { hours: hours.iter().map(hour).collect(), lifts: vec![] })
        };
        let chart = day(&[8, 9, 16]);
        assert_eq!(ends(&chart), (9, "08:00", "16:00"));
        assert_eq!(labels(&chart), [("08:00", 2), ("09:00", 2), ("16:00", 2)]);
        assert_eq!(chart.summary, "6 rides; most in the hour from 08:00: 2.");
        assert_eq!(ends(&day(&[8])), (4, "08:00", "11:00"), "a single bar would fill it");
        assert_eq!(ends(&day(&[22, 23])), (4, "20:00", "23:00"));
        assert_eq!(ends(&day(&[0, 23])), (24, "00:00", "23:00"));
        assert_eq!(day(&[]).summary, "0 rides.");
    }

    #[test]
    fn lifts_have_names_and_removed_lifts_still_count() {
        let mut resort = Resort::with_numbered_lifts("R".to_owned(), 1..=3);
        resort.lifts.get_mut(&LiftId(2)).unwrap().name = Some("Eagle".to_owned());
        let lifts = [(2, 1), (9, 3)]
            .map(|(lift, rides)| LiftTally { lift: LiftId(lift), tally: tally(rides) });
        let chart = by_lift(&Breakdown { lifts: lifts.to_vec(), hours: vec![] }, &resort);
        assert_eq!(chart.bars.len(), 4);
        assert_eq!(labels(&chart), [("Eagle", 1), ("Lift 9", 3)]);
        assert_eq!(chart.summary, "4 rides; most by Lift 9: 3.");
    }

    fn season(days: impl IntoIterator<Item = u16>) -> Chart {
        let day = |day| SkierDay { resort: ResortId(1 + day % 2), day: Day(day), tally: tally(1) };
        vertical_by_day(&days.into_iter().map(day).collect::<Vec<_>>(), VerticalUnit::Metres)
    }

    #[test]
    fn a_single_day_has_empty_days_around_it_and_a_long_season_is_drawn_by_week() {
        let one = season([3]);
        assert_eq!(ends(&one), (14, "1", "14"));
        assert_eq!(one.summary, "100\u{a0}m; most on day 3: 100\u{a0}m.");
        let late = season([366]);
        assert_eq!(ends(&late), (14, "353", "366"));
        assert_eq!(season([]).bars.len(), 14);
        let twice = season([5, 5]);
        assert_eq!(labels(&twice), [("5", 200)]);
        let long = season(1..=366);
        assert_eq!(ends(&long), (53, "1–7", "365–366"));
        assert_eq!(long.bars[52].value, 200);
        assert_eq!(ends(&season(1..=71)).2, "71", "a week of one day");
        assert_eq!(long.summary, "36,600\u{a0}m; most on days 1–7: 700\u{a0}m.");
        let rides = rides_by_day(&[(Day(2), tally(1)), (Day(3), tally(2_000))]);
        assert_eq!(rides.summary, "2,001 rides; most on day 3: 2,000.");
    }
}
