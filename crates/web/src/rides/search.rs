//! Questions about rides that no other route answers.

use std::ops::RangeInclusive;

use axum::{Json, extract::State, response::IntoResponse};
use http::Uri;
use lodge_domain::{
    Error, Result,
    rides::{Dimension, GROUPS_MAX, Mountain, ReadFrom, RideGroup, RideQuery},
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    RidesApp,
    app::called,
    number,
    query::{add, pairs},
};
use crate::error::HttpResult;

/// Groups if the caller does not say how many.
const GROUPS_DEFAULT: usize = 1_000;

/// What was found.
#[derive(Serialize, ToSchema)]
pub(super) struct FoundJson {
    /// What the rides of a group have in common, in the order of `by`, then `rides`, `vertical` and, unless they
    /// were left out, different `skiers`.
    groups: Vec<Map<String, Value>>,
    /// `sums`, if there were such that could answer, else `rides`, of which each was read.
    read_from: &'static str,
}

/// Search rides.
///
/// `resort`, `season`, `lift` and `skier` may be repeated; what is absent leaves nothing out. Leaving out
/// `skiers` lets more be answered from sums.
#[utoipa::path(get, path = "/api/rides/search", tag = "rides",
    params(("resort" = Option<u16>, Query), ("season" = Option<String>, Query, example = "2025"),
        ("days" = Option<String>, Query, description = "A day, or the first and the last", example = "1-10"),
        ("time" = Option<String>, Query, description = "A minute, or the first and the last", example = "61-120"),
        ("lift" = Option<u16>, Query), ("skier" = Option<u32>, Query),
        ("by" = Option<String>, Query, description = "What groups have in common: any of season, resort, day, hour, lift, skier", example = "resort,day"),
        ("skiers" = Option<bool>, Query, description = "false: different skiers are not counted"),
        ("limit" = Option<u16>, Query, description = "1 to 10,000 groups; 1,000 if absent")),
    responses((status = 200, body = FoundJson), (status = 400, description = "A parameter cannot be; the answer says which"),
        (status = 503, description = "It took too long; ask for less")))]
pub(super) async fn search(State(app): State<RidesApp>, uri: Uri) -> HttpResult {
    let query = parse(uri.query(), &app.rides.mountain)?;
    let by = query.by.clone();
    let found = app.rides.search.search(query).await?;
    let groups = found.groups.into_iter().map(|group| told(&by, group)).collect();
    let read_from = match found.read_from {
        ReadFrom::Sums => "sums",
        ReadFrom::Rides => "rides",
    };
    Ok(Json(FoundJson { groups, read_from }).into_response())
}

fn told(by: &[Dimension], group: RideGroup) -> Map<String, Value> {
    let key = by.iter().zip(group.key).map(|(dimension, number)| match dimension {
        Dimension::Season => ("seasonID", number.to_string().into()),
        Dimension::Resort => ("resortID", number.into()),
        Dimension::Day => ("dayID", number.into()),
        Dimension::Hour => ("hour", number.into()),
        Dimension::Lift => ("liftID", number.into()),
        Dimension::Skier => ("skierID", number.into()),
    });
    let sums = [("rides", group.tally.rides.into()), ("vertical", group.tally.vertical.into())];
    let skiers = group.skiers.map(|skiers| ("skiers", skiers.into()));
    let fields = key.chain(sums).chain(skiers);
    fields.map(|(name, value): (&str, Value)| (name.to_owned(), value)).collect()
}

fn parse(query: Option<&str>, mountain: &Mountain) -> Result<RideQuery> {
    let mut parsed =
        RideQuery { count_skiers: true, limit: GROUPS_DEFAULT, ..RideQuery::default() };
    let mut seen = Vec::new();
    for (name, value) in pairs(query) {
        let number = number::digits(value);
        let renamed = |error| called(name_of(name), error);
        match name {
            "resort" => {
                add("resort", &mut parsed.resorts, mountain.resort(number).map_err(renamed)?.0)?;
            }
            "season" => {
                add("season", &mut parsed.seasons, mountain.season(number).map_err(renamed)?)?;
            }
            "lift" => add("lift", &mut parsed.lifts, mountain.lift(number).map_err(renamed)?)?,
            "skier" => add("skier", &mut parsed.skiers, mountain.skier(number).map_err(renamed)?)?,
            _ if seen.contains(&name) => {
                return Err(Error::invalid(name_of(name), "was given twice"));
            }
            "days" => parsed.days = Some(range(value, |n| mountain.day(n)).map_err(renamed)?),
            "time" => parsed.minutes = Some(range(value, |n| mountain.minute(n)).map_err(renamed)?),
            "by" => parsed.by = dimensions(value)?,
            "skiers" => parsed.count_skiers = truth(value)?,
            "limit" => parsed.limit = limit(number)?,
            _ => {
                let names = NAMES.join(", ");
                return Err(Error::invalid("query", format!("may hold only {names}")));
            }
        }
        seen.push(name);
    }
    Ok(parsed)
}

/// What a query may hold.
const NAMES: [&str; 9] =
    ["resort", "season", "days", "time", "lift", "skier", "by", "skiers", "limit"];

fn name_of(name: &str) -> &'static str {
    NAMES.into_iter().find(|known| *known == name).unwrap_or("query")
}

/// A number, or the first and the last.
fn range<T: PartialOrd>(value: &str, of: impl Fn(u64) -> Result<T>) -> Result<RangeInclusive<T>> {
    let (first, last) = value.split_once('-').unwrap_or((value, value));
    Ok(of(number::digits(first))?..=of(number::digits(last))?)
}

fn dimensions(value: &str) -> Result<Vec<Dimension>> {
    // A comma may come escaped.
    let value = value.replace("%2C", ",");
    let mut by = Vec::new();
    for name in value.split(',').filter(|name| !name.is_empty()) {
        add("by", &mut by, name.parse()?)?;
    }
    Ok(by)
}

fn truth(value: &str) -> Result<bool> {
    value.parse().map_err(|_| Error::invalid("skiers", "must be true or false"))
}

fn limit(number: u64) -> Result<usize> {
    let limit = usize::try_from(number).ok().filter(|limit| (1..=GROUPS_MAX).contains(limit));
    let reason = || format!("must be a whole number from 1 to {GROUPS_MAX}");
    limit.ok_or_else(|| Error::invalid("limit", reason()))
}

#[cfg(test)]
mod tests {
    use lodge_domain::rides::{Day, LiftId, Minute, ResortId, Season, SkierId};

    use super::*;
    use crate::rides::samples::mountain;

    #[test]
    fn a_search_is_read_from_its_query() {
        let parse = |query| parse(Some(query), &mountain()).unwrap();
        let query = parse(
            "resort=1&resort=3&season=2025&days=2-9&time=61-120&lift=4&skier=7&by=resort%2Cday&skiers=false&limit=5",
        );
        let expected = RideQuery {
            resorts: vec![ResortId(1), ResortId(3)],
            seasons: vec![Season(2025)],
            days: Some(Day(2)..=Day(9)),
            minutes: Some(Minute(61)..=Minute(120)),
            lifts: vec![LiftId(4)],
            skiers: vec![SkierId(7)],
            by: vec![Dimension::Resort, Dimension::Day],
            count_skiers: false,
            limit: 5,
        };
        assert_eq!(query, expected);
        assert_eq!(parse("days=3").days, Some(Day(3)..=Day(3)));
        let all = parse("");
        assert!(all.count_skiers && all.by.is_empty() && all.limit == GROUPS_DEFAULT);
    }

    #[test]
    fn what_a_search_cannot_hold_is_named() {
        for (query, words) in [
            ("resort=11", "resort: must be a whole number from 1 to 10"),
            ("days=0-4", "days: must be a whole number from 1 to 366"),
            ("days=1-", "days: must be a whole number from 1 to 366"),
            ("time=1-1441", "time: must be a whole number from 1 to 1440"),
            ("lift=41", "lift: must be a whole number from 1 to 40"),
            ("skier=x", "skier: must be a whole number from 1 to 100000"),
            ("by=resort,month", "by: must be of season, resort, day, hour, lift, skier"),
            ("skiers=maybe", "skiers: must be true or false"),
            ("limit=10001", "limit: must be a whole number from 1 to 10000"),
            ("days=1&days=2", "days: was given twice"),
            (
                "x=1",
                "query: may hold only resort, season, days, time, lift, skier, by, skiers, limit",
            ),
        ] {
            let refused = parse(Some(query), &mountain()).unwrap_err();
            assert_eq!(refused.to_string(), words, "{query}");
        }
    }
}
