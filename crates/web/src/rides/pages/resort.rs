//! A resort's day.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Result,
    rides::{Day, DayTally, Leader, Resort, ResortDay, ResortId, Rides, Season, Span},
};

use super::{When, bars, resort_of};
use crate::{
    error::HttpResult,
    pages::{self, chart::Chart},
    request::{Parameters, Segment},
    rides::RidesApp,
};

/// Skiers that the page names.
const LEADERS_SHOWN: usize = 10;

#[derive(Template)]
#[template(path = "rides/resort.html")]
pub(super) struct ResortPage<'a> {
    pub(super) id: ResortId,
    pub(super) resort: &'a Resort,
    /// The seasons in which somebody rode here.
    pub(super) seasons: &'a [Season],
    /// `None` if nobody has ridden here in any, or in the one that was asked for.
    pub(super) shown: Option<&'a Shown>,
}

/// A day, and the season around it.
pub(super) struct Shown {
    pub(super) season: Season,
    pub(super) day: Day,
    pub(super) total: DayTally,
    pub(super) hours: Chart,
    pub(super) lifts: Chart,
    pub(super) leaders: Vec<Leader>,
    /// The days of the season on which somebody rode here.
    pub(super) days: Vec<Day>,
}

/// `GET /rides/resorts/{resort}`.
pub(super) async fn show(
    State(app): State<RidesApp>,
    Segment(segment): Segment,
    Parameters(when): Parameters<When>,
) -> HttpResult {
    let mountain = &app.rides.mountain;
    let (id, resort) = resort_of(mountain, &segment)?;
    let (season, day) = (when.season(mountain)?, when.day(mountain)?);
    let seasons = app.rides.tallies.seasons(id).await?;
    let shown = match season.or(seasons.last().copied()) {
        Some(season) => read(&app.rides, (id, resort), season, day).await?,
        None => None,
    };
    let page = ResortPage { id, resort, seasons: &seasons, shown: shown.as_ref() };
    Ok(pages::page(&app.site, StatusCode::OK, &page)?)
}

/// That day, or the last of the season.
async fn read(
    rides: &Rides,
    (id, resort): (ResortId, &Resort),
    season: Season,
    day: Option<Day>,
) -> Result<Option<Shown>> {
    let days = rides.tallies.days(id, season).await?;
    let days: Vec<Day> = days.into_iter().map(|(day, _)| day).collect();
    let Some(day) = day.or(days.last().copied()) else { return Ok(None) };
    let on = ResortDay { season, resort: id, day };
    let breakdown = rides.tallies.breakdown(on).await?;
    Ok(Some(Shown {
        season,
        day,
        total: rides.tallies.total(Span::from(on)).await?,
        hours: bars::by_hour(&breakdown),
        lifts: bars::by_lift(&breakdown, resort),
        leaders: rides.tallies.leaders(Span::from(on), LEADERS_SHOWN).await?,
        days,
    }))
}
