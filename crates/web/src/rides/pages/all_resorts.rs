//! All resorts on a day: the newest by default.

use std::borrow::Borrow;

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    rides::{AllResortsDay, Day, DayTally, LiftTally, ResortCatalog, ResortId, Season},
};

use super::{
    bars,
    names::{DateParams, lift_name},
};
use crate::{
    error::HttpResult,
    pages::{self, chart::Chart, errors::FormErrors},
    request::{QueryParams, RequestContext},
    rides::app::RidesApp,
};

#[derive(Template)]
#[template(path = "rides/all_resorts.html")]
pub(super) struct AllResortsPage<'a> {
    pub(super) catalog: &'a ResortCatalog,
    /// `None` if there are no rides yet.
    pub(super) shown: Option<&'a ShownDay>,
    /// A curl command that sends a ride.
    pub(super) example: &'a str,
    /// Whether sending rides needs a gate key.
    pub(super) keys_required: bool,
    /// The value of the field in the form to find a skier.
    pub(super) typed: &'a str,
    /// The errors of that form.
    pub(super) errors: &'a FormErrors,
    /// Whether accounts, and so passes, are enabled.
    pub(super) has_passes: bool,
    /// Whether to tell the visitor that there is no admin yet.
    pub(super) offers_setup: bool,
}

impl AllResortsPage<'_> {
    /// Whether the page follows live counts.
    fn is_live(&self) -> bool {
        self.shown.is_none_or(|shown| shown.whole.is_newest())
    }

    /// Returns the season that the page shows.
    fn season(&self) -> Option<Season> {
        self.shown.map(|shown| shown.whole.season)
    }

    fn lift_name(&self, resort: impl Borrow<ResortId>, tally: &LiftTally) -> String {
        let resort = self.catalog.resort(resort.borrow().0.into()).ok();
        lift_name(resort.and_then(|(_, resort)| resort.lifts.get(&tally.lift)), tally.lift)
    }
}

/// A day at all resorts.
pub(super) struct ShownDay {
    pub(super) whole: AllResortsDay,
    /// The days of the season with rides.
    pub(super) days: Vec<Day>,
    /// The rides of the season by day.
    pub(super) chart: Chart,
    /// The resorts with rides on this day.
    pub(super) ridden: Vec<(ResortId, DayTally)>,
    /// The other resorts.
    pub(super) idle: Vec<ResortId>,
}

impl ShownDay {
    pub(super) fn of(whole: AllResortsDay) -> Self {
        let days = whole.days.iter().map(|(day, _)| *day).collect();
        let chart = bars::rides_by_day(&whole.days);
        let resorts = whole.resorts.iter().copied();
        let (ridden, idle): (Vec<_>, Vec<_>) =
            resorts.partition(|(_, total)| total.tally.rides > 0);
        let idle = idle.into_iter().map(|(resort, _)| resort).collect();
        Self { whole, days, chart, ridden, idle }
    }
}

/// `GET /rides`.
pub(super) async fn show(
    State(app): State<RidesApp>,
    QueryParams(when): QueryParams<DateParams>,
    asked: RequestContext,
) -> HttpResult {
    let catalog = app.rides.catalog();
    let (season, day) = (when.season(catalog)?, when.day(catalog)?);
    let shown = app.rides.all_resorts_day(season, day).await?.map(ShownDay::of);
    if shown.is_none() && season.is_some() {
        return Err(Error::not_found("there are no rides in this season").into());
    }
    let has_passes = app.site.accounts.is_some();
    let keys_required = app.rides.gates().are_keys_required();
    let page = AllResortsPage {
        catalog,
        shown: shown.as_ref(),
        example: &example(catalog, keys_required, &asked),
        keys_required,
        typed: "",
        errors: &FormErrors::default(),
        has_passes,
        offers_setup: app.site.offers_setup(&asked).await,
    };
    pages::page(&app.site, StatusCode::OK, &page)
}

/// Returns a command with valid numbers; none of its values needs shell quoting.
pub(super) fn example(
    catalog: &ResortCatalog,
    keys_required: bool,
    asked: &RequestContext,
) -> String {
    let ranges = catalog.ranges();
    let year = asked.at.strftime("%Y").to_string().parse().unwrap_or(*ranges.seasons.start());
    let season = year.clamp(*ranges.seasons.start(), *ranges.seasons.end());
    let first = catalog.resorts().next();
    let (resort, lift) = first.map_or((1, 1), |(id, resort)| {
        (id.0, resort.lifts.first_key_value().map_or(1, |(lift, _)| lift.0))
    });
    let (day, skier) = (ranges.days.start(), ranges.skiers.start());
    let path = format!("/skiers/{resort}/seasons/{season}/days/{day}/skiers/{skier}");
    let body = format!("{{\"time\":{},\"liftID\":{lift}}}", ranges.minutes.start());
    let key = if keys_required { " -H 'Authorization: Bearer KEY'" } else { "" };
    format!("curl {}{path}{key} -H 'Content-Type: application/json' -d '{body}'", asked.base_url)
}
