//! Search of rides by any combination of dimensions.

use std::ops::RangeInclusive;

use axum::{Json, extract::State, response::IntoResponse};
use http::Uri;
use lodge_domain::{
    Error, Result,
    rides::{Dimension, GROUPS_MAX, ResortCatalog, RideQuery},
};

use super::{
    app::RidesApp,
    dto::{DimensionJson, FoundJson},
    number,
    query::{add, add_all, limit, pairs},
};
use crate::{error::HttpResult, request::RequestContext};

/// Default limit of groups.
const GROUPS_DEFAULT: usize = 1_000;

/// Search rides.
///
/// An absent parameter does not filter. Separate the items of a list by commas (`lift=1,2`), or repeat the parameter
/// (`lift=1&lift=2`). With `skiers=false` more queries are answered from stored sums.
#[utoipa::path(get, path = "/api/rides/search", operation_id = "searchRides", tag = "rides",
    params(("resort" = Option<Vec<u16>>, Query, style = Form, explode), ("season" = Option<Vec<String>>, Query, style = Form, explode, example = json!(["2025"])),
        ("days" = Option<String>, Query, description = "A day, or a range of days", example = "1-10"),
        ("time" = Option<String>, Query, description = "A minute of the day, or a range of minutes", example = "181-240"),
        ("lift" = Option<Vec<u16>>, Query, style = Form, explode), ("skier" = Option<Vec<u32>>, Query, style = Form, explode),
        ("by" = Option<Vec<DimensionJson>>, Query, style = Form, explode, description = "The dimensions to group by", example = json!(["resort", "day"])),
        ("skiers" = Option<bool>, Query, description = "`false`: do not count distinct skiers"),
        ("order" = Option<String>, Query, description = "`rides` or `vertical`: the groups with the most first; if absent, by the numbers of the groups, in the order of `by`"),
        ("limit" = Option<u16>, Query, description = "1 to 10,000 groups; 1,000 if absent. If there are more, `more` is true")),
    responses((status = 200, body = FoundJson, example = json!({"groups": [{"resortID": 1, "dayID": 1, "rides": 1, "vertical": 210, "skiers": 1}], "read_from": "sums"})), (status = 400, description = "Invalid parameter; the message names it"),
        (status = 429, description = "Too many searches of this address in progress; see Retry-After"),
        (status = 503, description = "The search took too long: narrow it; or too many searches in progress: see Retry-After")))]
pub(super) async fn search(
    State(app): State<RidesApp>,
    asked: RequestContext,
    uri: Uri,
) -> HttpResult {
    let query = parse(uri.query(), app.rides.catalog())?;
    let _place = app.searches.acquire(asked.client)?;
    let by = query.by.clone();
    let found = app.rides.search().search(query).await?;
    Ok(Json(FoundJson::of(&by, &found)).into_response())
}

fn parse(query: Option<&str>, catalog: &ResortCatalog) -> Result<RideQuery> {
    let mut parsed =
        RideQuery { count_skiers: true, limit: GROUPS_DEFAULT, ..RideQuery::default() };
    let mut seen = Vec::new();
    for (name, value) in pairs(query)? {
        let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
            let names = NAMES.join(", ");
            return Err(Error::invalid("query", format!("may contain only {names}")));
        };
        if !LISTS.contains(&name) && seen.contains(&name) {
            return Err(Error::invalid(name, "must be given only once"));
        }
        seen.push(name);
        take(&mut parsed, name, &value, catalog)?;
    }
    Ok(parsed)
}

/// Parses the parameter `name`.
fn take(
    parsed: &mut RideQuery,
    name: &'static str,
    value: &str,
    catalog: &ResortCatalog,
) -> Result<()> {
    match name {
        "resort" => {
            add_all(name, &mut parsed.resorts, value, |number| Ok(catalog.resort(number)?.0))?;
        }
        "season" => add_all(name, &mut parsed.seasons, value, |number| catalog.season(number))?,
        "lift" => add_all(name, &mut parsed.lifts, value, |number| catalog.lift(number))?,
        "skier" => add_all(name, &mut parsed.skiers, value, |number| catalog.skier(number))?,
        "days" => parsed.days = Some(range(name, value, |number| catalog.day(number))?),
        "time" => parsed.minutes = Some(range(name, value, |number| catalog.minute(number))?),
        "by" => add_dimensions(&mut parsed.by, value)?,
        "skiers" => parsed.count_skiers = truth(value)?,
        "order" => parsed.order = value.parse()?,
        _ => parsed.limit = limit(value, GROUPS_MAX)?,
    }
    Ok(())
}

/// The known parameters.
const NAMES: [&str; 10] =
    ["resort", "season", "days", "time", "lift", "skier", "by", "skiers", "order", "limit"];

/// The parameters that take a list.
const LISTS: [&str; 5] = ["resort", "season", "lift", "skier", "by"];

/// Parses a number, or a range `first-last`.
fn range<T: PartialOrd>(
    name: &'static str,
    value: &str,
    of: impl Fn(u64) -> Result<T>,
) -> Result<RangeInclusive<T>> {
    let of = |text| {
        of(number::digits(text)).map_err(|error| match error {
            Error::Invalid { reason, .. } => {
                let ways = "or a range such as 1-10";
                Error::invalid(name, format!("{reason}, {ways}"))
            }
            other => other,
        })
    };
    let (first, last) = value.split_once('-').unwrap_or((value, value));
    let (first, last) = (of(first)?, of(last)?);
    if first > last {
        return Err(Error::invalid(name, "must not begin after its end"));
    }
    Ok(first..=last)
}

fn add_dimensions(by: &mut Vec<Dimension>, names: &str) -> Result<()> {
    names
        .split(',')
        .filter(|name| !name.is_empty())
        .try_for_each(|name| add("by", by, name.parse()?))
}

fn truth(value: &str) -> Result<bool> {
    value.parse().map_err(|_| Error::invalid("skiers", "must be true or false"))
}

#[cfg(test)]
mod tests {
    use lodge_domain::rides::{Day, GroupOrder, LiftId, Minute, ResortId, Season, SkierId};

    use super::*;
    use crate::rides::samples::catalog;

    #[test]
    fn a_search_is_parsed_from_its_query() {
        let parse = |query| parse(Some(query), &catalog()).unwrap();
        let query = parse(
            "resort=1&resort=3&season=2025&days=2-9&time=61-120&lift=4&skier=7&by=resort%2Cday&skiers=false&order=vertical&limit=5",
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
            order: GroupOrder::Vertical,
            limit: 5,
        };
        assert_eq!(query, expected);
        assert_eq!(parse("days=3").days, Some(Day(3)..=Day(3)));
        for query in
            ["lift=1,3&by=day,lift", "lift=1&lift=3&by=day&by=lift", "lift=1%2c3&by=day%2Clift"]
        {
            let parsed = parse(query);
            assert_eq!(parsed.lifts, [LiftId(1), LiftId(3)], "{query}");
            assert_eq!(parsed.by, [Dimension::Day, Dimension::Lift], "{query}");
        }
        let all = parse("");
        assert!(all.count_skiers && all.by.is_empty() && all.limit == GROUPS_DEFAULT);
    }

    #[test]
    fn an_invalid_search_parameter_is_named() {
        const DAYS: &str = "days: must be a whole number from 1 to 366, or a range such as 1-10";
        for (query, words) in [
            ("resort=11", "resort: must be a whole number from 1 to 10"),
            ("days=0-4", DAYS),
            ("days=1-", DAYS),
            ("days=3,7", DAYS),
            ("days=1-2-3", DAYS),
            ("days=9-2", "days: must not begin after its end"),
            ("time=2-1", "time: must not begin after its end"),
            ("lift=1,,2", "lift: must be a whole number from 1 to 40"),
            ("time=1-1441", "time: must be a whole number from 1 to 1440, or a range such as 1-10"),
            ("lift=41", "lift: must be a whole number from 1 to 40"),
            ("skier=x", "skier: must be a whole number from 1 to 100000"),
            ("by=resort,month", "by: must be one of season, resort, day, hour, lift, skier"),
            ("skiers=maybe", "skiers: must be true or false"),
            ("order=skiers", "order: must be rides or vertical"),
            ("limit=10001", "limit: must be a whole number from 1 to 10000"),
            ("days=1&days=2", "days: must be given only once"),
            (
                "x=1",
                "query: may contain only resort, season, days, time, lift, skier, by, skiers, order, limit",
            ),
        ] {
            let refused = parse(Some(query), &catalog()).unwrap_err();
            assert_eq!(refused.to_string(), words, "{query}");
        }
    }
}
