//! The statistics page of a link.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::links::{ClickReport, Device, Grouping, clicks::ClickLine};
use serde::Deserialize;

use super::{
    access::{ShortUrl, managed},
    chart,
    manage::ask_for_key,
};
use crate::{
    error::HttpResult,
    links::{
        api::default_since,
        app::{LinksApp, short_of},
    },
    pages::{self, chart::Chart},
    request::{PathParam, QueryParams, RequestContext},
};

/// The most referrers on the page.
const REFERRERS_SHOWN: usize = 20;

#[derive(Template)]
#[template(path = "links/stats.html")]
pub(super) struct StatsPage<'a> {
    pub(super) url: &'a ShortUrl,
    pub(super) total: u64,
    pub(super) bots: u64,
    pub(super) by_hour: bool,
    pub(super) chart: &'a Chart,
    pub(super) referrers: &'a [Share],
    pub(super) devices: &'a [Share],
}

/// One line of a list; `percent` is relative to the line with the most clicks.
pub(super) struct Share {
    pub(super) key: String,
    pub(super) clicks: u64,
    pub(super) percent: u64,
}

#[derive(Deserialize)]
pub(super) struct StatsQuery {
    by: Option<String>,
}

/// `GET /links/{short}/stats`.
pub(super) async fn show(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    QueryParams(query): QueryParams<StatsQuery>,
    asked: RequestContext,
) -> HttpResult {
    let short = short_of(&segment)?;
    let Some((_, caller)) = managed(&app, &asked, &short).await? else {
        return ask_for_key(&app, &asked, &short, StatusCode::OK, None);
    };
    let by = if query.by.as_deref() == Some("hour") { Grouping::Hour } else { Grouping::Day };
    let since = default_since(by, asked.at);
    let over_time = app.links.report(&short, &caller, by, since).await?;
    let by_referrer = app.links.report(&short, &caller, Grouping::Referrer, since).await?;
    let by_device = app.links.report(&short, &caller, Grouping::Device, since).await?;
    let page = StatsPage {
        url: &ShortUrl::of(&asked.base_url, &short),
        total: over_time.total,
        bots: over_time.bots,
        by_hour: by == Grouping::Hour,
        chart: &chart::over_time(&over_time.lines, by, &since, &asked.at),
        referrers: &shares(by_referrer),
        devices: &devices(by_device),
    };
    pages::page(&app.site, StatusCode::OK, &page)
}

/// Returns the clicks by device kind, without known bots, which the page counts separately.
fn devices(mut report: ClickReport) -> Vec<Share> {
    report.lines.retain(|line| line.key != Device::Bot.name());
    for line in &mut report.lines {
        line.key = String::from(match line.key.as_str() {
            "desktop" => "Computer",
            "mobile" => "Phone",
            "tablet" => "Tablet",
            _ => "Other",
        });
    }
    shares(report)
}

fn shares(report: ClickReport) -> Vec<Share> {
    let most = report.lines.iter().map(|line| line.clicks).max().unwrap_or(0).max(1);
    let lines = report.lines.into_iter().take(REFERRERS_SHOWN);
    lines
        .map(|ClickLine { key, clicks }| Share {
            key,
            clicks,
            percent: clicks.saturating_mul(100) / most,
        })
        .collect()
}
