//! The page of a resort's day.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::rides::{Day, DayTally, Leader, Resort, ResortId, ResortView, Season};

use super::{
    bars,
    names::{DateParams, NO_RESORT, resort_in_path},
};
use crate::{
    error::HttpResult,
    pages::{self, chart::Chart},
    request::{PathParam, QueryParams},
    rides::app::RidesApp,
};

/// Skiers on the page's leaderboard.
const LEADERS_SHOWN: usize = 10;

#[derive(Template)]
#[template(path = "rides/resort.html")]
pub(super) struct ResortPage<'a> {
    pub(super) id: ResortId,
    pub(super) resort: &'a Resort,
    /// Whether the resort is configured; only then it has a leaderboard page.
    pub(super) is_known: bool,
    /// The seasons with rides at this resort.
    pub(super) seasons: &'a [Season],
    /// `None` if there are no rides at all, or none in the requested season.
    pub(super) shown: Option<&'a ShownDay>,
}

/// A day and its season.
pub(super) struct ShownDay {
    pub(super) season: Season,
    pub(super) day: Day,
    pub(super) total: DayTally,
    pub(super) hours: Chart,
    pub(super) lifts: Chart,
    pub(super) leaders: Vec<Leader>,
    /// The days of the season with rides at this resort.
    pub(super) days: Vec<Day>,
}

impl ShownDay {
    fn of(view: ResortView, resort: &Resort) -> Self {
        let ResortView { on, total, breakdown, leaders, days } = view;
        let (hours, lifts) = (bars::by_hour(&breakdown), bars::by_lift(&breakdown, resort));
        Self { season: on.season, day: on.day, total, hours, lifts, leaders, days }
    }
}

/// `GET /rides/resorts/{resort}`.
pub(super) async fn show(
    State(app): State<RidesApp>,
    PathParam(segment): PathParam,
    QueryParams(when): QueryParams<DateParams>,
) -> HttpResult {
    let mountain = app.rides.catalog();
    let (id, resort) = resort_in_path(mountain, &segment)?;
    let (season, day) = (when.season(mountain)?, when.day(mountain)?);
    let (seasons, view) = app.rides.resort_view(id, season, day, LEADERS_SHOWN).await?;
    let is_known = mountain.resort(id.0.into()).is_ok();
    if !is_known && seasons.is_empty() {
        return Err(NO_RESORT.into());
    }
    let shown = view.map(|view| ShownDay::of(view, &resort));
    let (resort, shown) = (&*resort, shown.as_ref());
    let page = ResortPage { id, resort, is_known, seasons: &seasons, shown };
    pages::page(&app.site, StatusCode::OK, &page)
}
