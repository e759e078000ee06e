//! The page of a resort's day.

use std::mem;

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::rides::{Day, DayTally, Resort, ResortId, ResortView, Season, VerticalUnit};

use super::{
    bars,
    leaders::{self, LeaderRow},
    names::{DateParams, NO_RESORT, resort_in_path},
};
use crate::{
    error::HttpResult,
    pages::{self, chart::Chart},
    request::{PathParam, QueryParams, RequestContext},
    rides::app::RidesApp,
};

/// Skiers on the page's leaderboard.
const LEADERS_SHOWN: usize = 10;

#[derive(Template)]
#[template(path = "rides/resort.html")]
pub(super) struct ResortPage<'a> {
    pub(super) id: ResortId,
    pub(super) resort: &'a Resort,
    pub(super) unit: VerticalUnit,
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
    pub(super) leaders: Vec<LeaderRow>,
    /// The days of the season with rides at this resort.
    pub(super) days: Vec<Day>,
}

impl ResortPage<'_> {
    /// Returns the season that the page shows.
    fn season(&self) -> Option<Season> {
        self.shown.map(|shown| shown.season)
    }

    /// The path of the page of the resort's last day.
    fn latest(&self) -> String {
        format!("/rides/resorts/{}", self.id)
    }

    /// Whether the day is the resort's last one, which the page follows live.
    fn is_live(&self) -> bool {
        self.shown.is_some_and(|shown| {
            self.seasons.last() == Some(&shown.season) && shown.days.last() == Some(&shown.day)
        })
    }
}

impl ShownDay {
    fn of(view: ResortView, leaders: Vec<LeaderRow>, resort: &Resort) -> Self {
        let ResortView { on, total, breakdown, leaders: _, days } = view;
        let (hours, lifts) = (bars::by_hour(&breakdown), bars::by_lift(&breakdown, resort));
        Self { season: on.season, day: on.day, total, hours, lifts, leaders, days }
    }
}

/// `GET /rides/resorts/{resort}`.
pub(super) async fn show(
    State(app): State<RidesApp>,
    PathParam(segment): PathParam,
    QueryParams(when): QueryParams<DateParams>,
    asked: RequestContext,
) -> HttpResult {
    let catalog = app.rides.catalog();
    let (id, resort) = resort_in_path(catalog, &segment)?;
    let (season, day) = (when.season(catalog)?, when.day(catalog)?);
    let (seasons, view) = app.rides.resort_view(id, season, day, LEADERS_SHOWN).await?;
    let is_known = catalog.resort(id.0.into()).is_ok();
    if !is_known && seasons.is_empty() {
        return Err(NO_RESORT.into());
    }
    let mut shown = None;
    if let Some(mut view) = view {
        let viewer = leaders::viewer(&app, &asked).await;
        let leaders = leaders::rows(&app, mem::take(&mut view.leaders), viewer).await?;
        shown = Some(ShownDay::of(view, leaders, &resort));
    }
    let (resort, unit, shown) = (&*resort, catalog.unit(), shown.as_ref());
    let page = ResortPage { id, resort, unit, is_known, seasons: &seasons, shown };
    pages::page(&app.site, StatusCode::OK, &page)
}
