//! Searches rides, in the smallest table that can answer the query.

use std::ops::RangeInclusive;

use jiff::Timestamp;
use lodge_domain::rides::{
    Dimension, GateId, GroupOrder, Minute, ReadFrom, ResortDay, ResortId, RideEventId, RideGroup,
    RidePosition, RideQuery, RidesFound, Season, SkierId, StoredRide, Tally,
};
use rusqlite::{Connection, Row, params_from_iter};

use super::{record, state::key};
use crate::{failure::Failure, query};

const PAGE: &str = "SELECT season, resort, day, skier, minute, lift, vertical, voids, row, gate, event, at \
    FROM rides INDEXED BY rides_by_day WHERE season = ?1 AND (resort, day, row) > (?2, ?3, ?4) AND resort <= ?5 \
    ORDER BY resort, day, row LIMIT ?6";
const ON_DAY: &str = "SELECT season, resort, day, skier, minute, lift, vertical, voids, row, gate, event, at \
    FROM rides INDEXED BY rides_by_day WHERE season = ?1 AND resort = ?2 AND day = ?3 AND row > ?4 \
    AND (?5 IS NULL OR skier = ?5) ORDER BY row LIMIT ?6";
const EVENT: &str = "SELECT season, resort, day, skier, minute, lift, vertical, voids, row, gate, event, at \
    FROM rides WHERE gate = ?1 AND event = ?2";

/// For the test of query plans: pages, an event, and the skiers of one day.
#[cfg(test)]
pub(crate) fn statements() -> [String; 4] {
    let day = lodge_domain::rides::Day(3);
    let skiers = RideQuery {
        resorts: vec![ResortId(3)],
        seasons: vec![Season(2025)],
        days: Some(day..=day),
        count_skiers: true,
        limit: 1,
        ..RideQuery::default()
    };
    [PAGE.to_owned(), ON_DAY.to_owned(), EVENT.to_owned(), statement(&skiers).1]
}

/// The table that answers a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    /// Days at resorts, with the number of skiers.
    Days,
    /// Seasons at resorts, with the number of skiers.
    Seasons,
    Lifts,
    Hours,
    /// Skier days.
    Skiers,
    Rides,
}

impl Table {
    fn of(query: &RideQuery) -> Self {
        let by = |dimension| query.by.contains(&dimension);
        let needs_lift = by(Dimension::Lift) || !query.lifts.is_empty();
        let needs_time = by(Dimension::Hour) || query.minutes.is_some();
        let needs_skier = by(Dimension::Skier) || !query.skiers.is_empty();
        let one_resort = by(Dimension::Resort) || query.resorts.len() == 1;
        let one_season = by(Dimension::Season) || query.seasons.len() == 1;
        let whole_hours = query.minutes.as_ref().is_none_or(are_whole_hours);
        match (needs_lift, needs_time, needs_skier) {
            (false, false, false) if !query.count_skiers => Self::Days,
            // A skier who rides on two days counts once in a season, so numbers of skiers cannot be added up: they
            // are stored for whole seasons and single days only.
            (false, false, false) if one_resort && one_season => match &query.days {
                _ if by(Dimension::Day) => Self::Days,
                None => Self::Seasons,
                Some(days) if days.start() == days.end() => Self::Days,
                Some(_) => Self::Skiers,
            },
            (false, false, _) => Self::Skiers,
            (true, false, false) if !query.count_skiers => Self::Lifts,
            (false, true, false) if !query.count_skiers && whole_hours => Self::Hours,
            _ => Self::Rides,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Days | Self::Seasons => "resort_days",
            Self::Lifts => "lift_days",
            Self::Hours => "hour_days",
            Self::Skiers => "skier_days",
            Self::Rides => "rides",
        }
    }

    fn rides(self) -> &'static str {
        if self == Self::Rides { "iif(voids IS NULL, 1, -1)" } else { "rides" }
    }

    fn vertical(self) -> &'static str {
        if self == Self::Rides { "iif(voids IS NULL, vertical, -vertical)" } else { "vertical" }
    }

    fn column(self, dimension: Dimension) -> &'static str {
        match dimension {
            Dimension::Hour if self == Self::Rides => "(minute - 1) / 60",
            other => other.name(),
        }
    }

    /// The condition that selects the table's rows, besides the filters.
    fn condition(self) -> &'static str {
        match self {
            Self::Days => "day > 0",
            Self::Seasons => "day = 0",
            _ => "1",
        }
    }
}

fn are_whole_hours(minutes: &RangeInclusive<Minute>) -> bool {
    (minutes.start().0.saturating_sub(1)).is_multiple_of(60) && minutes.end().0.is_multiple_of(60)
}

/// Returns the table of a query, its SQL, and the parameters.
fn statement(query: &RideQuery) -> (Table, String, Vec<i64>) {
    let table = Table::of(query);
    let (mut conditions, mut numbers) = (vec![table.condition().to_owned()], Vec::new());
    let mut among = |column: &str, wanted: Vec<i64>| {
        if !wanted.is_empty() {
            let marks = vec!["?"; wanted.len()].join(", ");
            conditions.push(format!("{column} IN ({marks})"));
            numbers.extend(wanted);
        }
    };
    among("season", query.seasons.iter().map(|season| season.0.into()).collect());
    among("resort", query.resorts.iter().map(|resort| resort.0.into()).collect());
    among("lift", query.lifts.iter().map(|lift| lift.0.into()).collect());
    among("skier", query.skiers.iter().map(|skier| skier.0.into()).collect());
    let mut between = |column: &str, first: i64, last: i64| {
        conditions.push(format!("{column} BETWEEN ? AND ?"));
        numbers.extend([first, last]);
    };
    if let Some(days) = &query.days {
        between("day", days.start().0.into(), days.end().0.into());
    }
    match &query.minutes {
        Some(minutes) if table == Table::Hours => {
            between("hour", minutes.start().hour().0.into(), minutes.end().hour().0.into());
        }
        Some(minutes) => between("minute", minutes.start().0.into(), minutes.end().0.into()),
        None => {}
    }
    let keys: Vec<_> = query.by.iter().map(|dimension| table.column(*dimension)).collect();
    // One more than the limit, to detect further rows.
    numbers.push(i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1));
    (table, sql(query, table, &keys, &conditions.join(" AND ")), numbers)
}

fn sql(query: &RideQuery, table: Table, keys: &[&str], conditions: &str) -> String {
    let (name, rides, vertical) = (table.name(), table.rides(), table.vertical());
    let columns_as_keys: Vec<String> =
        keys.iter().enumerate().map(|(n, key)| format!("{key} AS key{n}")).collect();
    let names: Vec<String> = (0..keys.len()).map(|n| format!("key{n}")).collect();
    let group_by = clause("GROUP BY", &names);
    let most = match query.order {
        GroupOrder::Numbers => None,
        GroupOrder::Rides => Some("rides_of_group DESC".to_owned()),
        GroupOrder::Vertical => Some("vertical_of_group DESC".to_owned()),
    };
    let order: Vec<String> = most.into_iter().chain(names.iter().cloned()).collect();
    let order_by = clause("ORDER BY", &order);
    let sums = [
        format!("SUM({rides}) AS rides_of_group"),
        format!("SUM({vertical}) AS vertical_of_group"),
    ];
    if !(query.count_skiers && matches!(table, Table::Skiers | Table::Rides)) {
        let skiers = if query.count_skiers { "SUM(skiers)" } else { "NULL" };
        let columns = [&columns_as_keys[..], &sums, &[skiers.to_owned()]].concat().join(", ");
        return format!(
            "SELECT {columns} FROM {name} WHERE {conditions} {group_by} HAVING rides_of_group > 0 {order_by} LIMIT ?"
        );
    }
    // Grouped by skier first, so that skiers whose rides are all void do not count.
    let sums = [format!("SUM({rides}) AS rides_sum"), format!("SUM({vertical}) AS vertical_sum")];
    let inner = [&columns_as_keys[..], &["skier AS who".to_owned()], &sums].concat().join(", ");
    let by_skier = clause("GROUP BY", &[&names[..], &["who".to_owned()]].concat());
    let of_all =
        ["SUM(rides_sum) AS rides_of_group", "SUM(vertical_sum) AS vertical_of_group", "COUNT(*)"];
    let outer = [&names[..], &of_all.map(str::to_owned)].concat().join(", ");
    format!(
        "SELECT {outer} FROM (SELECT {inner} FROM {name} WHERE {conditions} {by_skier} HAVING rides_sum > 0) \
        {group_by} HAVING rides_of_group > 0 {order_by} LIMIT ?"
    )
}

fn clause(words: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("{words} {}", names.join(", ")) }
}

/// Whether buffered skier days must be written back before the search.
pub(super) fn reads_skier_days(query: &RideQuery) -> bool {
    Table::of(query) == Table::Skiers
}

pub(super) fn search(connection: &Connection, query: &RideQuery) -> Result<RidesFound, Failure> {
    let (table, sql, numbers) = statement(query);
    let keys = query.by.len();
    let read = |row: &Row<'_>| {
        let key = (0..keys).map(|n| row.get(n)).collect::<rusqlite::Result<_>>()?;
        let tally = Tally { rides: row.get(keys)?, vertical: row.get(keys + 1)? };
        Ok(RideGroup { key, tally, skiers: row.get(keys + 2)? })
    };
    let mut groups: Vec<_> = query::all(connection, &sql, params_from_iter(numbers), read)?;
    let more = groups.len() > query.limit;
    groups.truncate(query.limit);
    let read_from = if table == Table::Rides { ReadFrom::Rides } else { ReadFrom::Sums };
    Ok(RidesFound { groups, more, read_from })
}

pub(super) fn page(
    connection: &Connection,
    season: Season,
    resort: Option<ResortId>,
    after: Option<RidePosition>,
    limit: usize,
) -> Result<Vec<StoredRide>, Failure> {
    let (first, last) = resort.map_or((0, u16::MAX), |resort| (resort.0, resort.0));
    let after = after.map_or((first, 0, 0), |place| (place.resort.0, place.day.0, place.row));
    let values = (season.0, after.0, after.1, after.2, last, limit);
    Ok(query::all(connection, PAGE, values, stored)?)
}

pub(super) fn on_day(
    connection: &Connection,
    on: ResortDay,
    skier: Option<SkierId>,
    after: Option<RidePosition>,
    limit: usize,
) -> Result<Vec<StoredRide>, Failure> {
    let (season, resort, day) = key(on);
    let (after, skier) = (after.map_or(0, |place| place.row), skier.map(|skier| skier.0));
    Ok(query::all(connection, ON_DAY, (season, resort, day, after, skier, limit), stored)?)
}

pub(super) fn event(
    connection: &Connection,
    gate: GateId,
    id: &RideEventId,
) -> Result<Option<StoredRide>, Failure> {
    Ok(query::one(connection, EVENT, (gate.0, record::StoredEventId(id)), stored)?)
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredRide> {
    let (ride, voids) = record::read(row)?;
    let place = RidePosition { resort: ride.on.resort, day: ride.on.day, row: row.get(8)? };
    let id = record::event_id(row.get_ref(10)?)?.ok_or(rusqlite::Error::InvalidQuery)?;
    let at = Timestamp::from_millisecond(row.get(11)?).unwrap_or_default();
    Ok(StoredRide { place, gate: GateId(row.get(9)?), id, ride, voids, at })
}

#[cfg(test)]
mod tests {
    use lodge_domain::rides::Day;

    use super::*;

    #[test]
    fn skiers_are_counted_from_the_smallest_sufficient_table() {
        let days = |first, last| Some(Day(first)..=Day(last));
        let one = (vec![ResortId(3)], vec![Season(2025)]);
        let two = (vec![ResortId(3), ResortId(4)], vec![Season(2025)]);
        let all = (Vec::new(), Vec::new());
        let whole = vec![Dimension::Resort, Dimension::Season];
        let cases = [
            (&one, vec![], days(3, 3), Table::Days),
            (&one, vec![], days(3, 4), Table::Skiers),
            (&one, vec![], None, Table::Seasons),
            (&one, vec![Dimension::Day], None, Table::Days),
            (&two, vec![], days(3, 3), Table::Skiers),
            (&two, vec![Dimension::Resort], days(3, 3), Table::Days),
            (&two, vec![Dimension::Resort], None, Table::Seasons),
            (&all, vec![], days(3, 3), Table::Skiers),
            (&all, whole.clone(), days(3, 3), Table::Days),
            (&all, whole, None, Table::Seasons),
        ];
        for ((resorts, seasons), by, days, table) in cases {
            let (resorts, seasons) = (resorts.clone(), seasons.clone());
            let query = RideQuery {
                resorts,
                seasons,
                by,
                days,
                count_skiers: true,
                limit: 1,
                ..RideQuery::default()
            };
            assert_eq!(Table::of(&query), table, "{query:?}");
        }
    }
}
