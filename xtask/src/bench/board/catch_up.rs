//! Catching up: a client that was offline reads all messages written meanwhile.

use std::{collections::HashSet, time::Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    BoardOptions, Budget,
    growth::{BoardClient, write},
};
use crate::bench::figures::{Runs, table};

/// Messages written while the client was offline.
const MISSED: u64 = 10_000;
/// Minutes for all runs.
const BUDGET: u64 = 1;

/// The received events in JSON, and the time that took.
struct Received {
    events: Vec<String>,
    took_ms: f64,
    longest_ms: f64,
}

pub(super) fn catch_up(options: &BoardOptions, asker: &BoardClient<'_>) -> Result<()> {
    let newest = asker.get("/api/board/lobby/events?tail=1")?;
    let cursor = newest.text("cursor").context("the events have no cursor")?;
    let missed = write(options, asker.lodge, options.common.or_quick(MISSED, MISSED / 20))?;
    let rows = Budget::minutes(BUDGET).runs(options.common.runs, || {
        let after = |path: &str| format!("{path}?after={cursor}");
        Ok([
            checked(page_by_page(asker, &cursor)?, missed)?,
            checked(streamed(asker, &after("/api/board/lobby/stream"), missed)?, missed)?,
            checked(streamed(asker, &after("/board/lobby/live"), missed)?, missed)?,
        ])
    })?;
    println!(
        "\nA client was offline while {missed} messages were written in that channel, and reads all of\n\
         them: each arrived once, in the order of their numbers. Times are from the first request to\n\
         the last event. Figures: the median of the runs (minimum to maximum)."
    );
    table([&format!("{missed} messages"), "all of them, ms", "the longest page, ms"]);
    let ways = ["events?after=, 500 a page", "the API's stream", "the page's stream, as HTML"];
    for (place, way) in ways.iter().enumerate() {
        let spread = |of: fn(&Received) -> f64| -> String {
            rows.iter().map(|row| of(&row[place])).collect::<Runs>().spread()
        };
        let longest = if place == 0 { spread(|came| came.longest_ms) } else { String::new() };
        println!("| {way} | {} | {longest} |", spread(|came| came.took_ms));
    }
    Ok(())
}

fn page_by_page(asker: &BoardClient<'_>, cursor: &str) -> Result<Received> {
    let (mut cursor, mut pages, mut longest_ms) = (cursor.to_owned(), Vec::new(), 0.0_f64);
    let began = Instant::now();
    loop {
        let turn = Instant::now();
        let page = asker.get(&format!("/api/board/lobby/events?after={cursor}&limit=500"))?;
        longest_ms = longest_ms.max(turn.elapsed().as_secs_f64() * 1e3);
        let mut page: Value = serde_json::from_str(&page.body)?;
        page["cursor"].as_str().context("a page has no cursor")?.clone_into(&mut cursor);
        let is_last = page["more"] != Value::Bool(true);
        pages.push(page["events"].take());
        if is_last {
            break;
        }
    }
    let took_ms = began.elapsed().as_secs_f64() * 1e3;
    let events = pages.iter().filter_map(Value::as_array).flatten().map(Value::to_string).collect();
    Ok(Received { events, took_ms, longest_ms })
}

fn streamed(asker: &BoardClient<'_>, path: &str, wanted: u64) -> Result<Received> {
    let (mut events, mut has_id) = (Vec::new(), false);
    let (name, value) = asker.signed_in(path);
    let began = Instant::now();
    let told = asker.http.lines(asker.lodge.address(), path, (name, &value), |line| {
        // Frames without an id carry presence.
        if line.starts_with("id: ") {
            has_id = true;
        } else if line.is_empty() {
            has_id = false;
        } else if let Some(data) = line.strip_prefix("data: ").filter(|_| has_id) {
            events.push(data.to_owned());
        }
        (events.len() as u64) < wanted
    });
    told.with_context(|| format!("the stream {path} ended"))?;
    Ok(Received { events, took_ms: began.elapsed().as_secs_f64() * 1e3, longest_ms: 0.0 })
}

/// Fails unless all events of one origin arrived, each once and in order.
fn checked(came: Received, wanted: u64) -> Result<Received> {
    let (mut known, mut last) = (HashSet::new(), 0);
    for event in &came.events {
        let event: Value = serde_json::from_str(event)?;
        let id = event["id"].as_str().context("an event has no id")?.to_owned();
        let seq: u64 = id.rsplit(':').next().unwrap_or_default().parse()?;
        ensure!(event["kind"] == "message" && seq > last, "{id} came after {last}: {event}");
        last = seq;
        known.insert(id);
    }
    ensure!(known.len() as u64 == wanted, "{} of {wanted} arrived", known.len());
    Ok(came)
}
