//! Questions about rides that no other route answers.

use std::ops::RangeInclusive;

use axum::{Json, extract::State, response::IntoResponse};
use http::Uri;
use lodge_domain::{
    Error, Result,
    rides::{Dimension, GROUPS_MAX, Mountain, RideQuery},
};

use super::{
    app::RidesApp,
    dto::{DimensionJson, FoundJson},
    number,
    query::{add, add_all, limit, pairs},
};
use crate::{error::HttpResult, request::Asked};

/// Groups if the caller does not say how many.
const GROUPS_DEFAULT: usize = 1_000;

/// Search rides.
///
/// What is absent leaves nothing out. A list is written with commas (`lift=1,2`), or by naming its parameter
/// again (`lift=1&lift=2`). Leaving out `skiers` lets more be answered from sums.
#[utoipa::path(get, path = "/api/rides/search", operation_id = "searchRides", tag = "rides",
    params(("resort" = Option<Vec<u16>>, Query, style = Form, explode), ("season" = Option<Vec<String>>, Query, style = Form, explode, example = json!(["2025"])),
        ("days" = Option<String>, Query, description = "A day, or the first and the last", example = "1-10"),
        ("time" = Option<String>, Query, description = "A minute, or the first and the last", example = "181-240"),
        ("lift" = Option<Vec<u16>>, Query, style = Form, explode), ("skier" = Option<Vec<u32>>, Query, style = Form, explode),
        ("by" = Option<Vec<DimensionJson>>, Query, style = Form, explode, description = "What the rides of a group have in common", example = json!(["resort", "day"])),
        ("skiers" = Option<bool>, Query, description = "false: different skiers are not counted"),
        ("order" = Option<String>, Query, description = "`rides` or `vertical`: those with the most first; if absent, those with the lowest numbers, in the order of `by`"),
        ("limit" = Option<u16>, Query, description = "1 to 10,000 groups; 1,000 if absent. If there are more, the answer says so")),
    responses((status = 200, body = FoundJson), (status = 400, description = "A parameter cannot be; the answer says which"),
        (status = 429, description = "Too many searches of this address are under way; see Retry-After"),
        (status = 503, description = "It took too long: ask for less; or too many are under way: see Retry-After")))]
pub(super) async fn search(State(app): State<RidesApp>, asked: Asked, uri: Uri) -> HttpResult {
    let query = parse(uri.query(), app.rides.mountain())?;
    let _place = app.searches.place(asked.client)?;
    let by = query.by.clone();
    let found = app.rides.search().search(query).await?;
    Ok(Json(FoundJson::of(&by, &found)).into_response())
}

fn parse(query: Option<&str>, mountain: &Mountain) -> Result<RideQuery> {
    let mut parsed =
        RideQuery { count_skiers: true, limit: GROUPS_DEFAULT, ..RideQuery::default() };
    let mut seen = Vec::new();
    for (name, value) in pairs(query)? {
        let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
            let names = NAMES.join(", ");
            return Err(Error::invalid("query", format!("may hold only {names}")));
        };
        if !LISTS.contains(&name) && seen.contains(&name) {
            return Err(Error::invalid(name, "was given twice"));
        }
        seen.push(name);
        take(&mut parsed, name, &value, mountain)?;
    }
    Ok(parsed)
}

/// Reads the parameter of that name.
fn take(
    parsed: &mut RideQuery,
    name: &'static str,
    value: &str,
    mountain: &Mountain,
) -> Result<()> {
    match name {
        "resort" => {
            add_all(name, &mut parsed.resorts, value, |number| Ok(mountain.resort(number)?.0))?;
        }
        "season" => add_all(name, &mut parsed.seasons, value, |number| mountain.season(number))?,
        "lift" => add_all(name, &mut parsed.lifts, value, |number| mountain.lift(number))?,
        "skier" => add_all(name, &mut parsed.skiers, value, |number| mountain.skier(number))?,
        "days" => parsed.days = Some(range(name, value, |number| mountain.day(number))?),
        "time" => parsed.minutes = Some(range(name, value, |number| mountain.minute(number))?),
        "by" => add_dimensions(&mut parsed.by, value)?,
        "skiers" => parsed.count_skiers = truth(value)?,
        "order" => parsed.order = value.parse()?,
        _ => parsed.limit = limit(value, GROUPS_MAX)?,
    }
    Ok(())
}

/// What a query may hold.
const NAMES: [&str; 10] =
    ["resort", "season", "days", "time", "lift", "skier", "by", "skiers", "order", "limit"];

/// Those of them that name any number of things.
const LISTS: [&str; 5] = ["resort", "season", "lift", "skier", "by"];

/// A number, or the first and the last.
fn range<T: PartialOrd>(
    name: &'static str,
    value: &str,
    of: impl Fn(u64) -> Result<T>,
) -> Result<RangeInclusive<T>> {
    let of = |text| {
        of(number::digits(text)).map_err(|error| match error {
            Error::Invalid { reason, .. } => {
                let ways = "or the first and the last with a hyphen between them";
                Error::invalid(name, format!("{reason}, {ways}"))
            }
            other => other,
        })
    };
    let (first, last) = value.split_once('-').unwrap_or((value, value));
    let (first, last) = (of(first)?, of(last)?);
    if first > last {
        return Err(Error::invalid(name, "the first must not come after the last"));
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
    use crate::rides::samples::mountain;

    #[test]
    fn a_search_is_read_from_its_query() {
        let parse = |query| parse(Some(query), &mountain()).unwrap();
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
    fn what_a_search_cannot_hold_is_named() {
        const DAYS: &str = "days: must be a whole number from 1 to 366, or the first and the last with a hyphen between them";
        for (query, words) in [
            ("resort=11", "resort: must be a whole number from 1 to 10"),
            ("days=0-4", DAYS),
            ("days=1-", DAYS),
            ("days=3,7", DAYS),
            ("days=1-2-3", DAYS),
            ("days=9-2", "days: the first must not come after the last"),
            ("time=2-1", "time: the first must not come after the last"),
            ("lift=1,,2", "lift: must be a whole number from 1 to 40"),
            (
                "time=1-1441",
                "time: must be a whole number from 1 to 1440, or the first and the last with a hyphen between them",
            ),
            ("lift=41", "lift: must be a whole number from 1 to 40"),
            ("skier=x", "skier: must be a whole number from 1 to 100000"),
            ("by=resort,month", "by: must be of season, resort, day, hour, lift, skier"),
            ("skiers=maybe", "skiers: must be true or false"),
            ("order=skiers", "order: must be rides or vertical"),
            ("limit=10001", "limit: must be a whole number from 1 to 10000"),
            ("days=1&days=2", "days: was given twice"),
            (
                "x=1",
                "query: may hold only resort, season, days, time, lift, skier, by, skiers, order, limit",
            ),
        ] {
            let refused = parse(Some(query), &mountain()).unwrap_err();
            assert_eq!(refused.to_string(), words, "{query}");
        }
    }
}
