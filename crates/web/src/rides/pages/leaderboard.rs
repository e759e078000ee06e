//! The leaderboard of a resort.

use std::borrow::Borrow;

use askama::Template;
use axum::extract::State;
use lodge_domain::rides::{LEADERS_MAX, ResortCatalog, ResortId, Span};
use serde::Deserialize;

use super::{
    leaders::{self, LeaderRow},
    names::DateParams,
};
use crate::{
    error::HttpResult,
    pages::{self, errors::FormErrors, forms::non_empty},
    request::{QueryParams, RequestContext},
    rides::{app::RidesApp, query::resort_of},
};

#[derive(Template)]
#[template(path = "rides/leaderboard.html")]
pub(super) struct LeaderboardPage<'a> {
    pub(super) catalog: &'a ResortCatalog,
    pub(super) form: &'a LeaderForm,
    pub(super) errors: &'a FormErrors,
    /// The span of the leaderboard; `None` if the form is invalid or there is no season.
    pub(super) span: Option<Span>,
    pub(super) leaders: &'a [LeaderRow],
}

/// The form; without a day it asks for the season.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LeaderForm {
    pub(super) resort: String,
    pub(super) season: String,
    pub(super) day: String,
}

impl LeaderForm {
    /// Whether this resort is selected.
    pub(super) fn names(&self, resort: impl Borrow<ResortId>) -> bool {
        self.resort == resort.borrow().to_string()
    }

    /// Parses the form; the default is the first resort.
    fn read(&self, catalog: &ResortCatalog) -> (FormErrors, Option<ResortId>, DateParams) {
        let mut errors = FormErrors::default();
        let resort = match non_empty(&self.resort) {
            None => catalog.resorts().next().map(|(id, _)| id),
            Some(text) => errors.take(resort_of(catalog, text)),
        };
        let when = DateParams { season: self.season.clone(), day: self.day.clone() };
        errors.take(when.season(catalog));
        errors.take(when.day(catalog));
        (errors, resort, when)
    }
}

/// `GET /rides/leaderboard`.
pub(super) async fn show(
    State(app): State<RidesApp>,
    QueryParams(mut form): QueryParams<LeaderForm>,
    asked: RequestContext,
) -> HttpResult {
    let catalog = app.rides.catalog();
    let (errors, resort, when) = form.read(catalog);
    let (mut span, mut rows) = (None, Vec::new());
    if let Some(resort) = resort.filter(|_| errors.is_empty()) {
        form.resort = resort.to_string();
        let (season, day) = (when.season(catalog)?, when.day(catalog)?);
        if let Some(found) = app.rides.leaderboard(resort, season, day, LEADERS_MAX).await? {
            form.season = found.0.season.to_string();
            let viewer = leaders::viewer(&app, &asked).await;
            (span, rows) = (Some(found.0), leaders::rows(&app, found.1, viewer).await?);
        }
    }
    let page = LeaderboardPage { catalog, form: &form, errors: &errors, span, leaders: &rows };
    pages::form_page(&app.site, &errors, &page)
}
