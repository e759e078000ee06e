//! `GET /api/me` with tokens.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Result, ensure};

use super::{
    AccountsOptions,
    seeded::{self, Seeded},
    settings, start,
};
use crate::{
    bench::{
        beside::{self, Beside},
        links::{load, number, script, wait_until},
        median,
        servers::{self, LODGE, Scratch},
    },
    process::Running,
};

/// Where the accounts tier listens.
const WIRE: &str = "127.0.0.1:18071";

/// Connections of the load generator in an open loop.
const CONNECTIONS: &str = "64";

/// Connections that sign in: more than hash, fewer than may wait.
const SIGN_IN_CONNECTIONS: &str = "16";

/// How many have signed in.
const SIGNED_IN: &str =
    "lodge_http_requests_total{method=\"POST\",route=\"/api/session\",status=\"200\"}";

/// Picks one of the tokens at random; the same for both servers. Requests are made before the start, so
/// that wrk spends little on them.
pub(in crate::bench) const TOKENS: &str = "local requests = {}\n\
    function init(args)\n\
      math.randomseed(os.time())\n\
      for token in io.lines('TOKENS') do\n\
        local headers = { ['Host'] = wrk.headers['Host'], ['Authorization'] = 'Bearer ' .. token }\n\
        requests[#requests + 1] = wrk.format('GET', '/api/me', headers)\n\
        if #requests == 100000 then break end\n\
      end\n\
    end\n\
    request = function() return requests[math.random(#requests)] end\n";

/// One process at 4,000/s, and two at 2,000/s.
pub(super) fn open_loop(options: &AccountsOptions) -> Result<()> {
    let (seeded, scratch) = (seeded::folder(options)?, Scratch::new()?);
    println!(
        "\n| GET /api/me, open loop, {} sessions | p50, ms | p99, ms (bar 4) | runs' p99 | from memory |",
        options.sessions
    );
    println!("| --- | --- | --- | --- | --- |");
    {
        let _lodge = start(&scratch, &seeded)?;
        row(options, "one process, 4,000/s", &reads(options, &scratch, &seeded, "4000")?)?;
    }
    let _tiers = start_tiers(&scratch, &seeded.data)?;
    row(options, "two processes, 2,000/s", &reads(options, &scratch, &seeded, "2000")?)
}

/// One row of a process's whole life.
fn row(options: &AccountsOptions, name: &str, runs: &[[f64; 2]]) -> Result<()> {
    let p99: Vec<f64> = runs.iter().map(|run| run[1]).collect();
    let p50: Vec<f64> = runs.iter().map(|run| run[0]).collect();
    let count =
        |name: &str| servers::counter(&format!("lodge_accounts_cache_{name}_seconds_count"));
    let (hits, misses) = (count("hit").unwrap_or_default(), count("miss")?);
    println!(
        "| {name} | {:.2} | {:.2} | {p99:.2?} | {hits} of {} |",
        median(&p50),
        median(&p99),
        hits + misses
    );
    options.bar("p99 < 4 ms", median(&p99) < 4.0)
}

/// The p50 and p99 of each run, in ms.
fn reads(
    options: &AccountsOptions,
    scratch: &Scratch,
    seeded: &Seeded,
    rate: &str,
) -> Result<Vec<[f64; 2]>> {
    (0..options.runs).map(|run| read(options, scratch, seeded, rate, run)).collect()
}

/// One run; each draws other sessions.
fn read(
    options: &AccountsOptions,
    scratch: &Scratch,
    seeded: &Seeded,
    rate: &str,
    run: usize,
) -> Result<[f64; 2]> {
    let (tokens, run) = (seeded.tokens.display().to_string(), (run + 1).to_string());
    let get = ["accounts-get", "--tokens", &tokens, "--rate", rate, "--connections", CONNECTIONS];
    let get = [&get[..], &["--seed", &run]].concat();
    let report = load(scratch, &options.of_load(), &get)?;
    ensure!(number(&report, "/total/all/errors")? == 0.0, "errors: {}", report["total"]["all"]);
    Ok([
        number(&report, "/total/all/latency_ms/median")?,
        number(&report, "/total/all/latency_ms/p99")?,
    ])
}

/// A process that keeps the accounts and one that answers the public.
fn start_tiers(scratch: &Scratch, data: &Path) -> Result<[Running; 2]> {
    let key = scratch.path("key");
    fs::write(&key, [7; 32])?;
    let mut settings = settings();
    settings.push(("LODGE_ACCOUNTS_KEY_FILE", key.display().to_string()));
    let accounts = servers::start_accounts(data, WIRE, &settings)?;
    settings.push(("LODGE_ROLES", "web".to_owned()));
    settings.push(("LODGE_ACCOUNTS_SERVERS", WIRE.to_owned()));
    settings.push(("LODGE_ACCOUNTS_PICTURES", scratch.path("pictures").display().to_string()));
    let web = servers::start_lodge_with(scratch, "web", &settings)?;
    wait_until("the two tiers answer", || {
        servers::get(LODGE, "/api/users/nobody").is_ok_and(|answer| answer.contains(" 404 "))
    })?;
    // The one that asks ends first.
    Ok([web, accounts])
}

/// As many reads as nginx and Lodge can answer.
pub(super) fn saturation(options: &AccountsOptions) -> Result<()> {
    let (seeded, scratch) = (seeded::folder(options)?, Scratch::new()?);
    let nginx = servers::start_nginx_with(&scratch, "return 200")?;
    let lodge = start(&scratch, &seeded)?;
    let script = script(&scratch, &TOKENS.replace("TOKENS", &seeded.tokens.display().to_string()))?;
    let beside = beside::alternate(&nginx, &lodge, &options.of_load(), Some(&script), "/api/me")?;
    println!(
        "\n| GET /api/me, wrk -t2 -c100, {} sessions at random | a second | µs CPU each |",
        options.sessions
    );
    println!("| --- | --- | --- |");
    let Beside { lodge, nginx } = &beside;
    for (name, side) in [("Lodge", lodge), ("nginx, `return 200`", nginx)] {
        println!("| {name} | {:.0} | {:.2} |", median(&side.per_second), median(&side.cpu_us));
    }
    let ratios = beside.ratios();
    println!("| ratio (bar 0.25) | {:.3}; runs {ratios:.3?} | |", median(&ratios));
    options.bar("a quarter of nginx", median(&ratios) >= 0.25)
}

/// Reads at 4,000/s while nobody signs in, and while as many do as can.
pub(super) fn busy(options: &AccountsOptions) -> Result<()> {
    let (seeded, scratch) = (seeded::folder(options)?, Scratch::new()?);
    let _lodge = start(&scratch, &seeded)?;
    let (mut idle, mut busy, mut signed_in) = (vec![], vec![], vec![]);
    for run in 0..options.runs {
        idle.push(read(options, &scratch, &seeded, "4000", 2 * run)?);
        let sign_ins = start_sign_ins(options)?;
        let before = servers::counter(SIGNED_IN)?;
        busy.push(read(options, &scratch, &seeded, "4000", 2 * run + 1)?);
        signed_in.push((servers::counter(SIGNED_IN)? - before) / u64::from(options.seconds));
        drop(sign_ins);
    }
    println!("\n| GET /api/me, 4,000/s, open loop | p50, ms | p99, ms | runs' p99 |");
    println!("| --- | --- | --- | --- |");
    let of = |runs: &[[f64; 2]], column: usize| -> Vec<f64> {
        runs.iter().map(|run| run[column]).collect()
    };
    for (name, runs) in [("nobody signs in", &idle), ("sign-ins on 16 connections", &busy)] {
        let (p50, p99) = (of(runs, 0), of(runs, 1));
        println!("| {name} | {:.2} | {:.2} | {p99:.2?} |", median(&p50), median(&p99));
    }
    println!("meanwhile {signed_in:?} signed in a second");
    let p99 = |runs: &[[f64; 2]]| median(&of(runs, 1));
    let (times, more) = (p99(&busy) / p99(&idle), p99(&busy) - p99(&idle));
    println!(
        "p99 {times:.2} times that of idle, {more:.2} ms more (bar: twice, or less than 2 ms more)"
    );
    options
        .bar("at least 85 sign in a second meanwhile", signed_in.iter().all(|&many| many >= 85))?;
    options.bar("p99 beside sign-ins", times <= 2.0 || more < 2.0)
}

/// As many sign-ins as can be, until this is dropped.
fn start_sign_ins(options: &AccountsOptions) -> Result<Running> {
    let (users, url) = (options.users.to_string(), format!("http://{LODGE}"));
    let mut command = Command::new(servers::lodge_binary());
    command
        .args(["load", "accounts-sign-in", "--url", &url, "--users", &users])
        .args(["--connections", SIGN_IN_CONNECTIONS, "--duration", "1h"])
        .stdout(Stdio::null());
    let running = Running::start(&mut command)?;
    let before = servers::counter(SIGNED_IN).unwrap_or_default();
    wait_until("somebody signs in", || {
        servers::counter(SIGNED_IN).is_ok_and(|count| count > before)
    })?;
    Ok(running)
}
