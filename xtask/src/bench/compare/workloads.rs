//! The workloads of a comparison.

use anyhow::Result;

use crate::bench::{accounts::reads, links::RANDOM_LINKS, lodge::Lodge, wrk};

/// Links of the redirect workloads.
const LINKS: u32 = 10_000;
/// Accounts of the workloads with sign-ins and reads.
const ACCOUNTS: u32 = 2_000;
/// Accounts of the board, each with an open stream.
const STREAMS: u32 = 1_000;
/// Seconds of a slice.
const SLICE_S: u32 = 1;
/// Events that a machine with two cores records in about a slice.
const RIDES: u32 = 30_000;
const RIDES_IN_BATCHES: u32 = 150_000;

/// A load, and the state that it needs.
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) ground: Setup,
    /// Runs the slice with this number.
    pub(super) run: fn(&Lodge, u32) -> Result<Answered>,
}

/// The state of a server before the first run.
pub(super) struct Setup {
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// Accounts, all signed in.
    pub(super) accounts: u32,
    /// Links `/r0`, `/r1`, …
    pub(super) links: u32,
}

/// The result of a slice.
pub(super) struct Answered {
    pub(super) requests: f64,
    pub(super) per_second: f64,
}

pub(super) const WORKLOADS: [Workload; 8] = [
    workload("hot", WITH_LINKS, |lodge, _| wrk(lodge, None, "/r0")),
    workload("random", WITH_LINKS, |lodge, _| wrk(lodge, Some(RANDOM_LINKS), "/r0")),
    workload("creation", PLAIN, |lodge, slice| total(lodge, slice, "links-put --connections 100")),
    workload("rides", WITH_RIDES, |lodge, slice| {
        recorded(lodge, slice, RIDES, "rides --first-threads 0 --threads 100")
    }),
    workload("batches", WITH_RIDES, |lodge, slice| {
        recorded(lodge, slice, RIDES_IN_BATCHES, "rides-batch --connections 4")
    }),
    workload("board", WITH_BOARD, |lodge, _| board(lodge)),
    workload("me", WITH_ACCOUNTS, |lodge, _| wrk(lodge, Some(&reads::script(lodge)), "/api/me")),
    workload("sign-ins", WITH_ACCOUNTS, |lodge, slice| {
        total(lodge, slice, &format!("accounts-sign-in --users {ACCOUNTS} --connections 8"))
    }),
];

const PLAIN: Setup = Setup { settings: &[], accounts: 0, links: 0 };
const WITH_LINKS: Setup = Setup { links: LINKS, ..PLAIN };
const WITH_RIDES: Setup = Setup { settings: &[("LODGE_APPS", "rides")], ..PLAIN };
const WITH_ACCOUNTS: Setup =
    Setup { settings: &[("LODGE_APPS", "accounts")], accounts: ACCOUNTS, ..PLAIN };
const WITH_BOARD: Setup = Setup {
    settings: &[("LODGE_APPS", "board"), ("LODGE_LIMITS_POSTS_PER_MINUTE", "0")],
    accounts: STREAMS,
    ..PLAIN
};

const fn workload(
    name: &'static str,
    ground: Setup,
    run: fn(&Lodge, u32) -> Result<Answered>,
) -> Workload {
    Workload { name, ground, run }
}

/// Runs wrk for the length of a slice.
fn wrk(lodge: &Lodge, script: Option<&str>, path: &str) -> Result<Answered> {
    let wrk::Run { requests, per_second, .. } = lodge.wrk(SLICE_S, script, path)?;
    Ok(Answered { requests, per_second })
}

/// Runs the load generator for the length of a slice.
fn total(lodge: &Lodge, slice: u32, load: &str) -> Result<Answered> {
    let report = lodge.load(&format!("{load} --duration {SLICE_S}s --seed {slice}"))?;
    let report = report.without_errors("/total/all")?;
    Ok(Answered {
        requests: report.number("/total/all/succeeded")?,
        per_second: report.number("/total/all/rate_per_s")?,
    })
}

/// Records rides of a season of its own; each event counts as a request.
fn recorded(lodge: &Lodge, slice: u32, events: u32, load: &str) -> Result<Answered> {
    let season = 2_000 + slice;
    let report = lodge.load(&format!("{load} --season {season} --events {events}"))?;
    let per_second = report.without_errors("/rows/0/figures")?.number("/events_per_s")?;
    Ok(Answered { requests: events.into(), per_second })
}

/// Posts a message per account, each of which reaches all streams.
fn board(lodge: &Lodge) -> Result<Answered> {
    let load = format!("board --users {STREAMS} --messages 1 --tokens tokens --catch-up 2m");
    let report = lodge.load(&load)?.without_errors("/posts")?;
    let requests = report.number("/messages/acknowledged")?;
    let until_all_have_it = report.number("/elapsed_s")? + report.number("/caught_up_s")?;
    Ok(Answered { requests, per_second: requests / until_all_have_it })
}
