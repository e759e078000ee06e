//! What four floods from three addresses cost the clients of a fourth: refusals, and the 99th percentile of their
//! latencies with and without each flood, in alternating runs. A third kind of run, with a thread that is as busy as the
//! flood but connects to no server, shows how much of that is the flood's own use of the machine.

mod clients;
mod flood;
mod flooder;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use lodge_load::allow_connections;

use self::{
    clients::{ACCOUNTS, CLIENTS, Client, SIGN_INS, Seen},
    flood::Flood,
    flooder::{BusyThread, Flooder},
};
use super::{
    Options,
    figures::{Runs, table},
    lodge::{self, Lodge, Scratch, Server},
};

/// Maximum latency with a flood: so many times that without it, or so many milliseconds more.
const RATIO_MAX: f64 = 1.5;
const MORE_MS_MAX: f64 = 2.0;

#[derive(Args)]
#[command(mut_arg("seconds", |seconds| seconds.default_value("10")))]
pub(crate) struct FloodsOptions {
    #[command(flatten)]
    common: Options,
}

/// Runs each flood.
pub(crate) fn run(mut options: FloodsOptions) -> Result<()> {
    options.common.settle();
    lodge::build()?;
    let options = &options.common;
    options.run(&[
        ("bodies", &|| measure(options, Flood::StalledBodies)),
        ("hashes", &|| measure(options, Flood::Passwords)),
        ("searches", &|| measure(options, Flood::Searches)),
        ("connections", &|| measure(options, Flood::SilentConnections)),
    ])
}

/// A server that limits the addresses of this machine like any other, but no client's requests a minute: the clients of
/// the measurement and of the flood could not be as fast as they are.
fn start(scratch: &Scratch) -> Result<Server> {
    let mut lodge = Lodge::new(scratch).with("LODGE_HTTP_TRUSTED_PROXIES", "127.0.0.9");
    for unlimited in
        ["OWNER_CREATIONS_PER_MINUTE", "OWNER_CREATIONS_PER_DAY", "ATTEMPTS_PER_MINUTE"]
    {
        lodge = lodge.with(&format!("LODGE_LIMITS_{unlimited}"), 0);
    }
    lodge = lodge.with("LODGE_LIMITS_POSTS_PER_MINUTE", 0);
    lodge.seed(ACCOUNTS, ACCOUNTS)?;
    lodge.start()
}

/// Measures the clients without and with a flood, alternating.
fn measure(options: &Options, flood: Flood) -> Result<()> {
    allow_connections(flood.connections())?;
    let scratch = Scratch::new()?;
    let lodge = start(&scratch)?;
    lodge.import("r", 1)?;
    let tokens = lodge.read("tokens")?;
    let tokens: Vec<&str> = tokens.lines().collect();
    let (token, tokens) = tokens.split_first().context("no tokens")?;
    flood.prepare(&lodge, tokens)?;
    let mut runs = CLIENTS.map(|_| <[Vec<Seen>; 3]>::default());
    for _ in 0..options.runs {
        let without = clients::run(&lodge, token, options.seconds)?;
        let flooder = Flooder::start(flood, lodge.address(), tokens)?;
        let with = clients::run(&lodge, token, options.seconds)?;
        let busy = BusyThread::start(flooder.stop()?)?;
        let beside = clients::run(&lodge, token, options.seconds)?;
        busy.stop()?;
        let missed: usize = without.iter().map(|seen| seen.missed).sum();
        ensure!(missed == 0, "{missed} requests were not served without the flood");
        for (kind, run) in [without, with, beside].into_iter().enumerate() {
            for (of_client, seen) in runs.iter_mut().zip(run) {
                of_client[kind].push(seen);
            }
        }
    }
    let beside = "beside a busy thread, ms";
    table([flood.name(), "p99 without, ms", beside, "with, ms", "limit", "not served", ""]);
    let is_within: Vec<bool> =
        CLIENTS.iter().zip(&runs).map(|(client, runs)| print(client, runs)).collect();
    options.bar("other clients are served as without the flood", is_within.iter().all(|is| *is))
}

/// Prints the row of a client; returns whether it is within the limits.
fn print(client: &Client, [without, with, beside]: &[Vec<Seen>; 3]) -> bool {
    let p99 = |seen: &[Seen]| seen.iter().map(|seen| seen.percentile(0.99)).collect::<Runs>();
    let (p99_without, p99_with) = (p99(without), p99(with));
    let usual = p99_without.median();
    // A sign-in may wait for one hash of another, about the time of a sign-in.
    let limit_ms = if client.name == SIGN_INS {
        let hash: Runs = without.iter().map(|seen| seen.percentile(0.5)).collect();
        usual + hash.median()
    } else {
        (usual * RATIO_MAX).max(usual + MORE_MS_MAX)
    };
    let missed: usize = with.iter().map(|seen| seen.missed).sum();
    let asked: usize = with.iter().map(Seen::asked).sum();
    let is_within = missed == 0 && p99_with.median() <= limit_ms;
    println!(
        "| {} | {} | {} | {} | {limit_ms:.2} | {missed} of {asked} | {} |",
        client.name,
        p99_without.spread(),
        p99(beside).spread(),
        p99_with.spread(),
        if is_within { "within" } else { "NOT WITHIN" },
    );
    is_within
}
