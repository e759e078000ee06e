//! Query parameters about rides. A list is separated by commas, or its parameter is repeated.

use lodge_domain::{
    Error, Result,
    rides::{Day, LEADERS_MAX, ResortCatalog, ResortDay, ResortId, Season, Span},
};

use super::{app::numbered, number};
use crate::json::required;

/// Default size of a leaderboard.
const LEADERS_DEFAULT: usize = 10;

/// Most values of one parameter in a query.
const NAMED_MAX: usize = 100;

/// The selected resorts and seasons, without duplicates.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VerticalFilter {
    pub(super) resorts: Vec<ResortId>,
    pub(super) seasons: Vec<Season>,
}

impl VerticalFilter {
    /// Parses `resort` and `season`; `None` if both are absent.
    pub(super) fn parse(query: Option<&str>, catalog: &ResortCatalog) -> Result<Option<Self>> {
        let mut choice = Self::default();
        for (name, value) in pairs(query)? {
            match &*name {
                "resort" => add_all("resort", &mut choice.resorts, &value, |number| {
                    Ok(catalog.resort(number)?.0)
                })?,
                "season" => {
                    add_all("season", &mut choice.seasons, &value, |number| {
                        catalog.season(number)
                    })?;
                }
                _ => return Err(Error::invalid("query", "may contain only resort and season")),
            }
        }
        Ok(Some(choice).filter(|choice| *choice != Self::default()))
    }
}

/// Adds the values of a comma-separated list.
pub(super) fn add_all<T: PartialEq>(
    name: &'static str,
    all: &mut Vec<T>,
    list: &str,
    of: impl Fn(u64) -> Result<T>,
) -> Result<()> {
    for number in list.split(',') {
        add(name, all, numbered(name, number, &of)?)?;
    }
    Ok(())
}

pub(super) fn add<T: PartialEq>(name: &'static str, all: &mut Vec<T>, one: T) -> Result<()> {
    if all.contains(&one) {
        return Ok(());
    }
    if all.len() == NAMED_MAX {
        return Err(Error::invalid(name, format!("must have at most {NAMED_MAX} values")));
    }
    all.push(one);
    Ok(())
}

/// Parses a day at a resort: `resort`, `season` and `day`.
pub(super) fn day(query: Option<&str>, catalog: &ResortCatalog) -> Result<ResortDay> {
    let [resort, season, day] = single_values(query, ["resort", "season", "day"])?;
    let Span { season, resort, .. } = span(catalog, [resort, season, None])?;
    Ok(ResortDay { season, resort, day: day_of(catalog, &required("day", day)?)? })
}

/// Parses the span of a leaderboard and its size: `resort`, `season`, optional `day` and `limit`.
pub(super) fn leaders(query: Option<&str>, catalog: &ResortCatalog) -> Result<(Span, usize)> {
    let [resort, season, day, limit_given] =
        single_values(query, ["resort", "season", "day", "limit"])?;
    let limit = match limit_given {
        None => LEADERS_DEFAULT,
        Some(digits) => limit(&digits, LEADERS_MAX)?,
    };
    Ok((span(catalog, [resort, season, day])?, limit))
}

/// Parses `season` and optional `resort`.
pub(super) fn season(
    query: Option<&str>,
    catalog: &ResortCatalog,
) -> Result<(Season, Option<ResortId>)> {
    let [season, resort] = single_values(query, ["season", "resort"])?;
    let resort = resort.map(|digits| resort_of(catalog, &digits)).transpose()?;
    Ok((season_of(catalog, &required("season", season)?)?, resort))
}

fn span(catalog: &ResortCatalog, [resort, season, day]: [Option<String>; 3]) -> Result<Span> {
    let resort = resort_of(catalog, &required("resort", resort)?)?;
    let season = season_of(catalog, &required("season", season)?)?;
    let day = day.map(|digits| day_of(catalog, &digits)).transpose()?;
    Ok(Span { season, resort, day })
}

/// Parses a limit from 1 to `most`.
pub(super) fn limit(digits: &str, most: usize) -> Result<usize> {
    let limit = usize::try_from(number::digits(digits)).ok();
    limit
        .filter(|limit| (1..=most).contains(limit))
        .ok_or_else(|| Error::invalid("limit", format!("must be a whole number from 1 to {most}")))
}

/// Parses a resort's number.
pub(super) fn resort_of(catalog: &ResortCatalog, digits: &str) -> Result<ResortId> {
    numbered("resort", digits, |number| Ok(catalog.resort(number)?.0))
}

/// Parses a season's number.
pub(super) fn season_of(catalog: &ResortCatalog, digits: &str) -> Result<Season> {
    numbered("season", digits, |number| catalog.season(number))
}

/// Parses a day's number.
pub(super) fn day_of(catalog: &ResortCatalog, digits: &str) -> Result<Day> {
    numbered("day", digits, |number| catalog.day(number))
}

/// Returns the values of these parameters; a repeated or unknown parameter is an error.
fn single_values<const N: usize>(
    query: Option<&str>,
    names: [&'static str; N],
) -> Result<[Option<String>; N]> {
    let mut values = [const { None }; N];
    for (name, value) in pairs(query)? {
        let Some(place) = names.iter().position(|known| *known == name) else {
            return Err(Error::invalid("query", format!("may contain only {}", names.join(", "))));
        };
        if values[place].replace(value).is_some() {
            return Err(Error::invalid(names[place], "must be given only once"));
        }
    }
    Ok(values)
}

/// Decodes the parameters of a query.
pub(super) fn pairs(query: Option<&str>) -> Result<Vec<(String, String)>> {
    serde_urlencoded::from_str(query.unwrap_or_default())
        .map_err(|error| Error::invalid("query", format!("must be URL-encoded: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rides::samples::catalog;

    #[test]
    fn a_query_selects_any_resorts_and_seasons() {
        let catalog = catalog();
        let parse = |query: Option<&str>| VerticalFilter::parse(query, &catalog);
        assert_eq!((parse(None).unwrap(), parse(Some("")).unwrap()), (None, None));
        for query in [
            "resort=1&season=2025&resort=2&resort=1",
            "resort=1,2&season=2025",
            "season=2025,2025&resort=1%2C2",
            "resort=1%2c2%2c1&seaso%6E=202%35",
        ] {
            let choice = parse(Some(query)).unwrap().unwrap();
            assert_eq!(choice.resorts, [ResortId(1), ResortId(2)], "{query}");
            assert_eq!(choice.seasons, [Season(2025)], "{query}");
        }
        for (query, words) in [
            ("resort=11", "resort: must be a whole number from 1 to 10"),
            ("resort=", "resort: must be a whole number from 1 to 10"),
            ("resort=1,", "resort: must be a whole number from 1 to 10"),
            ("resort=1%202", "resort: must be a whole number from 1 to 10"),
            ("resort[]=1", "query: may contain only resort and season"),
            ("season=%2B2025", "season: must be a whole number from 1 to 9999"),
            ("season=+2025", "season: must be a whole number from 1 to 9999"),
            ("seasonID=2025", "query: may contain only resort and season"),
        ] {
            assert_eq!(parse(Some(query)).unwrap_err().to_string(), words);
        }
        let years: Vec<_> = (1..=101).map(|year| format!("season={year}")).collect();
        assert!(parse(Some(&years.join("&"))).is_err());
        assert!(parse(Some(&years[1..].join("&"))).is_ok());
    }

    #[test]
    fn a_leaderboard_is_of_a_season_or_a_day() {
        let leaders = |query| leaders(Some(query), &catalog());
        let (span, limit) = leaders("resort=3&season=2025").unwrap();
        assert_eq!((span.resort, span.day, limit), (ResortId(3), None, 10));
        let (span, limit) = leaders("limit=100&day=7&resort=3&season=2025").unwrap();
        assert_eq!((span.day, limit), (Some(Day(7)), 100));
        for (query, words) in [
            ("season=2025", "resort: is missing"),
            ("resort=3", "season: is missing"),
            ("resort=&season=2025", "resort: must be a whole number from 1 to 10"),
            ("resort=3&season=2025&day=", "day: must be a whole number from 1 to 366"),
            ("resort=3&season=2025&limit=101", "limit: must be a whole number from 1 to 100"),
            ("resort=3&season=2025&limit=0", "limit: must be a whole number from 1 to 100"),
            ("resort=3&resort=3&season=2025", "resort: must be given only once"),
            ("resort=3&season=2025&x=1", "query: may contain only resort, season, day, limit"),
        ] {
            assert_eq!(leaders(query).unwrap_err().to_string(), words);
        }
    }

    #[test]
    fn a_day_needs_resort_season_and_day() {
        let day = |query| day(Some(query), &catalog());
        assert_eq!(day("resort=3&season=2025&day=7").unwrap().day, Day(7));
        for (query, words) in [
            ("resort=3&season=2025", "day: is missing"),
            ("resort=3&day=7", "season: is missing"),
            ("season=2025&day=7", "resort: is missing"),
            ("resort=3&season=2025&day=367", "day: must be a whole number from 1 to 366"),
            ("resort=3&season=2025&day=7&limit=1", "query: may contain only resort, season, day"),
        ] {
            assert_eq!(day(query).unwrap_err().to_string(), words, "{query}");
        }
    }
}
