//! The report of a board as one self-contained page: no script, no request to anyone.

use anyhow::Result;
use askama::Template;

use super::board::BoardReport;
use super::html::{latency, ms, throughput};
use super::plot::{Plot, Scale};
use super::{decimal, thousands};
use crate::series::Point;

pub(crate) fn render(report: &BoardReport) -> Result<String> {
    let points = report.posts.series.iter().filter(|point| point.width_s > 0.0).copied();
    let series: [(&'static str, Vec<Point>); 1] = [("posts", points.collect())];
    let time = Scale::Linear { from: 0.0, to: report.elapsed_s.max(0.001) };
    let cells = |(name, latency): (&'static str, &super::Latency)| {
        let times = (0..latency.rows().len()).map(|index| latency.cell(index));
        (name, std::iter::once(thousands(latency.count)).chain(times).collect())
    };
    let page = Page {
        report,
        tiles: tiles(report),
        titles: report.posts.latency_ms.rows().map(|(title, _)| title).to_vec(),
        rows: report.rows().map(cells).to_vec(),
        plots: vec![
            throughput(&series, time, report.posts.rate_per_s),
            latency(&series, time, &report.posts.latency_ms),
        ],
        comparison: comparison(report),
        facts: facts(report),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "board.html")]
struct Page<'a> {
    report: &'a BoardReport,
    tiles: Vec<(&'static str, String)>,
    titles: Vec<&'static str>,
    rows: Vec<(&'static str, Vec<String>)>,
    plots: Vec<Plot>,
    /// System, how, mean, and what it measured.
    comparison: Vec<(&'static str, &'static str, String, &'static str)>,
    facts: Vec<(String, String)>,
}

fn verdict(report: &BoardReport) -> Option<&'static str> {
    let found = report.verification.as_ref()?;
    Some(if found.clean() { "VERIFIED" } else { "NOT VERIFIED" })
}

fn tiles(report: &BoardReport) -> Vec<(&'static str, String)> {
    let mut tiles = vec![
        ("messages a second", decimal(report.posts.rate_per_s)),
        ("p99 to the answer, ms", ms(report.posts.latency_ms.p99)),
        ("p99 to the last stream, ms", ms(report.until_last_ms.p99)),
        ("events a second, all streams", decimal(report.frames_per_s)),
    ];
    tiles.extend(verdict(report).map(|verdict| ("verification", verdict.to_owned())));
    tiles
}

fn comparison(report: &BoardReport) -> Vec<(&'static str, &'static str, String, &'static str)> {
    let row = |known: &super::seeds::SeedRun| {
        let mean = known.mean_ms.map_or_else(|| "–".to_owned(), ms);
        (known.system, known.how, mean, known.measured)
    };
    report.published.iter().map(row).collect()
}

fn facts(report: &BoardReport) -> Vec<(String, String)> {
    let messages = &report.messages;
    let mut facts: Vec<(String, String)> = [
        ("acknowledged", messages.acknowledged),
        ("refused or not sent", messages.refused),
        ("of unknown outcome", messages.unknown),
        ("retries", messages.retries),
        ("streams cut by us", report.ends.cut),
        ("streams lost", report.ends.lost),
        ("streams refused", report.ends.refused),
        ("streams silent", report.ends.silent),
    ]
    .map(|(name, count)| (name.to_owned(), thousands(count)))
    .to_vec();
    for (kind, count) in &report.posts.errors_by_kind {
        facts.push((format!("errors: {kind}"), thousands(*count)));
    }
    if let Some(found) = &report.verification {
        let faults = found.faults().into_iter().filter(|(_, count)| *count > 0);
        facts.extend(faults.map(|(name, count)| (name.to_owned(), thousands(count))));
        facts.extend(found.examples.iter().map(|text| ("for example".to_owned(), text.clone())));
    }
    facts
}
