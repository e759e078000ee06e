//! What both binaries are asked for.

use anyhow::Result;
use serde_json::Value;

use super::server::{Binary, Server, without_errors};
use crate::bench::{
    accounts::reads,
    links::{RANDOM_LINKS, number, script},
    servers::Scratch,
    wrk,
};

/// Links that are redirected.
const LINKS: u32 = 10_000;
/// Accounts that read and sign in.
const ACCOUNTS: &str = "2000";
/// Accounts of the board, each with a stream open.
const STREAMS: &str = "1000";
/// How many of each a machine with two cores answers in about a second.
const RIDES: u32 = 30_000;
const RIDES_IN_BATCHES: u32 = 150_000;
/// Seconds that one message of each account of the board takes about.
const ROUND_S: u32 = 5;

/// One load.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// Makes ready what the runs need.
    pub(super) start: fn(Binary<'_>) -> Result<Server<'_>>,
    pub(super) run: fn(&Server<'_>, Run) -> Result<Answered>,
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

fn plain(binary: Binary<'_>) -> Result<Server<'_>> {
    binary.serve(Scratch::new()?, &[])
}

fn with_links(binary: Binary<'_>) -> Result<Server<'_>> {
    let server = plain(binary)?;
    server.import(LINKS)?;
    Ok(server)
}

fn with_rides(binary: Binary<'_>) -> Result<Server<'_>> {
    binary.serve(Scratch::new()?, &[("LODGE_APPS", "rides".to_owned())])
}

fn with_accounts(binary: Binary<'_>) -> Result<Server<'_>> {
    let scratch = Scratch::new()?;
    binary.seed(&scratch, ACCOUNTS)?;
    binary.serve(scratch, &[("LODGE_APPS", "accounts".to_owned())])
}

fn with_board(binary: Binary<'_>) -> Result<Server<'_>> {
    let scratch = Scratch::new()?;
    binary.seed(&scratch, STREAMS)?;
    let unlimited = ("LODGE_LIMITS_POSTS_PER_MINUTE", "0".to_owned());
    binary.serve(scratch, &[("LODGE_APPS", "board".to_owned()), unlimited])
}

fn hot(server: &Server<'_>, run: Run) -> Result<Answered> {
    server.wrk(run, None, "/r0").map(Answered::from)
}

fn random(server: &Server<'_>, run: Run) -> Result<Answered> {
    let script = script(&server.scratch, RANDOM_LINKS)?;
    server.wrk(run, Some(&script), "/r0").map(Answered::from)
}

fn creation(server: &Server<'_>, run: Run) -> Result<Answered> {
    let (duration, seed) = (format!("{}s", run.seconds), run.pair.to_string());
    let put = ["links-put", "--connections", "100", "--duration", &duration, "--seed", &seed];
    total(&server.load(&put)?)
}

fn rides(server: &Server<'_>, run: Run) -> Result<Answered> {
    let events = run.seconds * RIDES;
    recorded(server, run, events, &["rides", "--first-threads", "0", "--threads", "100"])
}

fn batches(server: &Server<'_>, run: Run) -> Result<Answered> {
    let events = run.seconds * RIDES_IN_BATCHES;
    recorded(server, run, events, &["rides-batch", "--connections", "4"])
}

/// So many rides of a season that no other run has, counted one by one.
fn recorded(server: &Server<'_>, run: Run, events: u32, load: &[&str]) -> Result<Answered> {
    let (season, count) = ((2_000 + run.pair).to_string(), events.to_string());
    let report = server.load(&[load, &["--season", &season, "--events", &count]].concat())?;
    without_errors(&report, "/rows/0/figures")?;
    Ok(Answered { requests: events.into(), per_second: number(&report, "/events_per_s")? })
}

/// As many posts as there are accounts, or a multiple of it, each of which comes to all streams.
fn board(server: &Server<'_>, run: Run) -> Result<Answered> {
    let (each, tokens) = ((run.seconds / ROUND_S).max(1).to_string(), server.tokens());
    let posts = ["board", "--users", STREAMS, "--messages", &each, "--tokens", &tokens];
    let report = server.load(&[&posts[..], &["--catch-up", "2m"]].concat())?;
    without_errors(&report, "/posts")?;
    let requests = number(&report, "/messages/acknowledged")?;
    let until_all_have_it = number(&report, "/elapsed_s")? + number(&report, "/caught_up_s")?;
    Ok(Answered { requests, per_second: requests / until_all_have_it })
}

fn me(server: &Server<'_>, run: Run) -> Result<Answered> {
    let with_tokens = reads::TOKENS.replace("TOKENS", &server.tokens());
    let script = script(&server.scratch, &with_tokens)?;
    server.wrk(run, Some(&script), "/api/me").map(Answered::from)
}

fn sign_ins(server: &Server<'_>, run: Run) -> Result<Answered> {
    let (duration, seed) = (format!("{}s", run.seconds), run.pair.to_string());
    let sign_in = ["accounts-sign-in", "--users", ACCOUNTS, "--connections", "8"];
    total(&server.load(&[&sign_in[..], &["--duration", &duration, "--seed", &seed]].concat())?)
}

fn total(report: &Value) -> Result<Answered> {
    without_errors(report, "/total/all")?;
    Ok(Answered {
        requests: number(report, "/total/all/succeeded")?,
        per_second: number(report, "/total/all/rate_per_s")?,
    })
}
