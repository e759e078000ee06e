//! The page of a skier's season, and the form to find a skier.

use std::cmp::Reverse;

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    rides::{
        ResortCatalog, ResortId, Season, SeasonVertical, SkierDay, SkierId, SkierView, Tally,
        VerticalUnit,
    },
};
use serde::Deserialize;

use super::{bars, leaders, names::DateParams};
use crate::{
    error::HttpResult,
    pages::{self, chart::Chart, errors::FormErrors, redirect_to},
    request::{PathParam, QueryParams, RequestContext},
    rides::{
        app::{RidesApp, numbered},
        number,
    },
};

/// Most days that the page lists.
const DAYS_SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "rides/skier.html")]
pub(super) struct SkierPage<'a> {
    pub(super) catalog: &'a ResortCatalog,
    pub(super) skier: SkierId,
    /// Whether the skier's pass is the viewer's.
    pub(super) is_viewer: bool,
    /// The seasons with rides, oldest first.
    pub(super) seasons: &'a [SeasonVertical],
    /// `None` if there are no rides at all, or none in the requested season.
    pub(super) shown: Option<&'a ShownSeason>,
}

impl SkierPage<'_> {
    /// Returns the season that the page shows.
    fn season(&self) -> Option<Season> {
        self.shown.map(|shown| shown.season)
    }
}

/// A season.
pub(super) struct ShownSeason {
    pub(super) season: Season,
    pub(super) total: Tally,
    /// The number of days with rides.
    pub(super) days: u64,
    /// The skier's rank in the season, by resort.
    pub(super) ranks: Vec<(ResortId, usize)>,
    pub(super) chart: Chart,
    /// The newest first.
    pub(super) rows: Vec<SkierDay>,
    /// The number of older days that `rows` leaves out.
    pub(super) more: usize,
}

impl ShownSeason {
    pub(super) fn of(view: SkierView, unit: VerticalUnit) -> Self {
        let SkierView { season, days: mut rows, ranks } = view;
        let chart = bars::vertical_by_day(&rows, unit);
        rows.sort_by_key(|day| (Reverse(day.day), day.resort));
        let mut total = Tally::default();
        for day in &rows {
            total += day.tally;
        }
        let days = rows.chunk_by(|one, other| one.day == other.day).count() as u64;
        let more = rows.len().saturating_sub(DAYS_SHOWN);
        rows.truncate(DAYS_SHOWN);
        Self { season, total, days, ranks, chart, rows, more }
    }
}

#[derive(Template)]
#[template(path = "rides/find.html")]
pub(super) struct FindPage<'a> {
    pub(super) typed: &'a str,
    pub(super) errors: &'a FormErrors,
}

/// The form to find a skier.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FindForm {
    skier: String,
}

/// `GET /rides/skiers`: redirects to the page of the skier with this number.
pub(super) async fn find(
    State(app): State<RidesApp>,
    QueryParams(FindForm { skier }): QueryParams<FindForm>,
) -> HttpResult {
    let typed = skier.trim();
    let mut errors = FormErrors::default();
    if !typed.is_empty() {
        let found = numbered("skier", typed, |number| app.rides.catalog().skier(number));
        if let Some(skier) = errors.take(found) {
            return redirect_to(&format!("/rides/skiers/{skier}"));
        }
    }
    pages::form_page(&app.site, &errors, &FindPage { typed, errors: &errors })
}

/// `GET /rides/skiers/{skier}`.
pub(super) async fn show(
    State(app): State<RidesApp>,
    PathParam(segment): PathParam,
    QueryParams(when): QueryParams<DateParams>,
    asked: RequestContext,
) -> HttpResult {
    let catalog = app.rides.catalog();
    let skier = catalog.skier(number::digits(&segment));
    let skier = skier.map_err(|_| Error::not_found("there is no skier with this number"))?;
    let season = when.season(catalog)?;
    let (seasons, view) = app.rides.skier_view(skier, season).await?;
    let shown = view.map(|view| ShownSeason::of(view, catalog.unit()));
    let viewer = leaders::viewer(&app, &asked).await;
    let is_viewer = leaders::is_viewers(&app, skier, viewer).await?;
    let shown = shown.as_ref();
    let page = SkierPage { catalog, skier, is_viewer, seasons: &seasons, shown };
    pages::page(&app.site, StatusCode::OK, &page)
}
