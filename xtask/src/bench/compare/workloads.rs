//! What both binaries are asked for.

use anyhow::Result;

use super::server::{Binary, Side};
use crate::bench::{accounts::reads, links::RANDOM_LINKS, lodge::Lodge, wrk};

/// Links that are redirected.
const LINKS: u32 = 10_000;
/// Accounts that read and sign in.
const ACCOUNTS: u32 = 2_000;
/// Accounts of the board, each with a stream open.
const STREAMS: u32 = 1_000;
/// How many of each a machine with two cores answers in about a second.
const RIDES: u32 = 30_000;
const RIDES_IN_BATCHES: u32 = 150_000;
/// Seconds that one message of each account of the board takes about.
const ROUND_S: u32 = 5;

/// One load.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// Makes ready what the runs need.
    pub(super) start: fn(Binary<'_>) -> Result<Side>,
    pub(super) run: fn(&Lodge, Run) -> Result<Answered>,
}

/// Which run it is, from 1, and how long it is to take.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) pair: u32,
    pub(super) seconds: u32,
}

/// What a run came to.
pub(super) struct Answered {
    pub(super) requests: f64,
    pub(super) per_second: f64,
}

impl From<wrk::Run> for Answered {
    fn from(run: wrk::Run) -> Self {
        Self { requests: run.requests, per_second: run.per_second }
    }
}

pub(super) const WORKLOADS: [Workload; 8] = [
    Workload { name: "hot", start: with_links, run: hot },
    Workload { name: "random", start: with_links, run: random },
    Workload { name: "creation", start: plain, run: creation },
    Workload { name: "rides", start: with_rides, run: rides },
    Workload { name: "batches", start: with_rides, run: batches },
    Workload { name: "board", start: with_board, run: board },
    Workload { name: "me", start: with_accounts, run: me },
    Workload { name: "sign-ins", start: with_accounts, run: sign_ins },
];

fn plain(binary: Binary<'_>) -> Result<Side> {
    binary.serve(0, &[])
}

fn with_links(binary: Binary<'_>) -> Result<Side> {
    let side = plain(binary)?;
    side.lodge.import("r", LINKS)?;
    Ok(side)
}

fn with_rides(binary: Binary<'_>) -> Result<Side> {
    binary.serve(0, &[("LODGE_APPS", "rides")])
}

fn with_accounts(binary: Binary<'_>) -> Result<Side> {
    binary.serve(ACCOUNTS, &[("LODGE_APPS", "accounts")])
}

fn with_board(binary: Binary<'_>) -> Result<Side> {
    let unlimited = ("LODGE_LIMITS_POSTS_PER_MINUTE", "0");
    binary.serve(STREAMS, &[("LODGE_APPS", "board"), unlimited])
}

fn hot(lodge: &Lodge, run: Run) -> Result<Answered> {
    lodge.wrk(run.seconds, None, "/r0").map(Answered::from)
}

fn random(lodge: &Lodge, run: Run) -> Result<Answered> {
    lodge.wrk(run.seconds, Some(RANDOM_LINKS), "/r0").map(Answered::from)
}

fn me(lodge: &Lodge, run: Run) -> Result<Answered> {
    lodge.wrk(run.seconds, Some(&reads::script(lodge)), "/api/me").map(Answered::from)
}

fn creation(lodge: &Lodge, run: Run) -> Result<Answered> {
    total(lodge, run, "links-put --connections 100")
}

fn sign_ins(lodge: &Lodge, run: Run) -> Result<Answered> {
    total(lodge, run, &format!("accounts-sign-in --users {ACCOUNTS} --connections 8"))
}

/// Requests for the time of a run.
fn total(lodge: &Lodge, run: Run, load: &str) -> Result<Answered> {
    let Run { pair, seconds } = run;
    let report = lodge.load(&format!("{load} --duration {seconds}s --seed {pair}"))?;
    let report = report.without_errors("/total/all")?;
    Ok(Answered {
        requests: report.number("/total/all/succeeded")?,
        per_second: report.number("/total/all/rate_per_s")?,
    })
}

fn rides(lodge: &Lodge, run: Run) -> Result<Answered> {
    recorded(lodge, run, RIDES, "rides --first-threads 0 --threads 100")
}

fn batches(lodge: &Lodge, run: Run) -> Result<Answered> {
    recorded(lodge, run, RIDES_IN_BATCHES, "rides-batch --connections 4")
}

/// So many rides a second of a season that no other run has, counted one by one.
fn recorded(lodge: &Lodge, run: Run, per_second: u32, load: &str) -> Result<Answered> {
    let (season, events) = (2_000 + run.pair, run.seconds * per_second);
    let report = lodge.load(&format!("{load} --season {season} --events {events}"))?;
    let per_second = report.without_errors("/rows/0/figures")?.number("/events_per_s")?;
    Ok(Answered { requests: events.into(), per_second })
}

/// As many posts as there are accounts, or a multiple of it, each of which comes to all streams.
fn board(lodge: &Lodge, run: Run) -> Result<Answered> {
    let each = (run.seconds / ROUND_S).max(1);
    let load = format!("board --users {STREAMS} --messages {each} --tokens tokens --catch-up 2m");
    let report = lodge.load(&load)?.without_errors("/posts")?;
    let requests = report.number("/messages/acknowledged")?;
    let until_all_have_it = report.number("/elapsed_s")? + report.number("/caught_up_s")?;
    Ok(Answered { requests, per_second: requests / until_all_have_it })
}
