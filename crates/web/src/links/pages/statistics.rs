//! The statistics page of a link.

use std::cmp::Reverse;

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::links::{
    ClickReport, Device, Grouping,
    clicks::{ClickLine, OTHER_REFERRERS},
};
use serde::Deserialize;

use super::{
    access::{ShortUrl, managed},
    chart::{self, Period},
    manage::ask_for_key,
};
use crate::{
    error::HttpResult,
    links::app::{LinksApp, short_of},
    pages::{self, chart::Chart},
    request::{PathParam, QueryParams, RequestContext},
};

/// The most referrers that the page names.
const REFERRERS_SHOWN: usize = 20;

#[derive(Template)]
#[template(path = "links/stats.html")]
pub(super) struct StatsPage<'a> {
    pub(super) url: &'a ShortUrl,
    pub(super) total: u64,
    pub(super) bots: u64,
    pub(super) period: Period,
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
    #[serde(default)]
    period: String,
}

/// `GET /links/{short}/stats`.
pub(super) async fn show(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    QueryParams(query): QueryParams<StatsQuery>,
    asked: RequestContext,
) -> HttpResult {
    let short = short_of(&segment)?;
    let Some((link, caller)) = managed(&app, &asked, &short).await? else {
        return ask_for_key(&app, &asked, &short, StatusCode::OK, None);
    };
    let period = Period::named(&query.period, asked.at.duration_since(link.created_at));
    let (step, since) = chart::span(period, link.created_at, asked.at);
    let over_time = app.links.report(&short, &caller, step.grouping(), since).await?;
    let by_referrer = app.links.report(&short, &caller, Grouping::Referrer, since).await?;
    let by_device = app.links.report(&short, &caller, Grouping::Device, since).await?;
    let page = StatsPage {
        url: &ShortUrl::of(&asked.base_url, &short),
        total: over_time.total,
        bots: over_time.bots,
        period,
        chart: &chart::over_time(&over_time.lines, step, &since, &asked.at),
        referrers: &referrers(by_referrer),
        devices: &devices(by_device),
    };
    pages::page(&app.site, StatusCode::OK, &page)
}

/// Returns the clicks by referrer: named hosts and direct visits, most first, then all other hosts. The lines add up to
/// the total.
fn referrers(ClickReport { total, mut lines, .. }: ClickReport) -> Vec<Share> {
    let referred = sum(&lines);
    let named = |line: &ClickLine| line.key != OTHER_REFERRERS;
    lines.sort_by_key(|line| (!named(line), Reverse(line.clicks)));
    let shown = lines.iter().take(REFERRERS_SHOWN).filter(|line| named(line)).count();
    let others = sum(&lines.split_off(shown));
    let direct = total.saturating_sub(referred);
    lines.push(ClickLine { key: "Direct".to_owned(), clicks: direct });
    lines.sort_by_key(|line| Reverse(line.clicks));
    lines.push(ClickLine { key: "Other sites".to_owned(), clicks: others });
    lines.retain(|line| line.clicks > 0);
    shares(lines)
}

fn sum(lines: &[ClickLine]) -> u64 {
    lines.iter().map(|line| line.clicks).sum()
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
    shares(report.lines)
}

fn shares(lines: Vec<ClickLine>) -> Vec<Share> {
    let most = lines.iter().map(|line| line.clicks).max().unwrap_or(0).max(1);
    lines
        .into_iter()
        .map(|ClickLine { key, clicks }| Share {
            key,
            clicks,
            percent: clicks.saturating_mul(100) / most,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(total: u64, lines: &[(&str, u64)]) -> Vec<(String, u64)> {
        let line = |(key, clicks): &(&str, u64)| ClickLine { key: (*key).into(), clicks: *clicks };
        let report = ClickReport { total, bots: 7, lines: lines.iter().map(line).collect() };
        referrers(report).into_iter().map(|share| (share.key, share.clicks)).collect()
    }

    #[test]
    fn referrers_add_up_to_the_total() {
        let shown = listed(25, &[("news.example", 15), ("(other)", 4), ("blog.example", 1)]);
        let expected =
            [("news.example", 15), ("Direct", 5), ("blog.example", 1), ("Other sites", 4)];
        assert_eq!(shown, expected.map(|(key, clicks)| (key.to_owned(), clicks)));
        assert_eq!(listed(3, &[]), [("Direct".to_owned(), 3)]);
        assert_eq!(listed(0, &[]), []);
        let hosts: Vec<String> = (10..40).map(|number| format!("{number}.example")).collect();
        let many: Vec<(&str, u64)> = hosts.iter().map(|host| (host.as_str(), 2)).collect();
        let shown = listed(100, &many);
        assert_eq!(shown.len(), REFERRERS_SHOWN + 2);
        assert_eq!(shown.iter().map(|(_, clicks)| clicks).sum::<u64>(), 100);
        assert_eq!(shown.last(), Some(&("Other sites".to_owned(), 20)));
    }
}
