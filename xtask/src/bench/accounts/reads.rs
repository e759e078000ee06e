//! `GET /api/me` with tokens.

use std::thread;

use anyhow::{Context as _, Result};

use super::Measured;
use crate::bench::{
    figures::{columns, table},
    lodge::{Lodge, Scratch, local},
    nginx::{self, Nginx},
    seeded::Store,
    tiers::Tiers,
};

/// The metric of successful sign-ins.
const SIGNED_IN: &str =
    "lodge_http_requests_total{method=\"POST\",route=\"/api/session\",status=\"200\"}";

/// Picks one of the tokens at random; the same for both servers. Requests are built before the start, so
/// that wrk spends little on them.
const TOKENS: &str = "local requests = {}\n\
    function init(args)\n\
      math.randomseed(os.time())\n\
      for token in io.lines('TOKENS') do\n\
        local headers = { ['Host'] = wrk.headers['Host'], ['Authorization'] = 'Bearer ' .. token }\n\
        requests[#requests + 1] = wrk.format('GET', '/api/me', headers)\n\
        if #requests == 100000 then break end\n\
      end\n\
    end\n\
    request = function() return requests[math.random(#requests)] end\n";

/// Reads at the rates of the seed.
pub(super) fn open_loop(measured: &Measured<'_>) -> Result<()> {
    match measured.store {
        Store::Sqlite => in_one_process_and_two(measured),
        Store::Mariadb => at_two_webs(measured),
    }
}

/// Two web processes in front of an accounts process: at 1,000/s without any cache, at 4,000/s with it.
fn at_two_webs(measured: &Measured<'_>) -> Result<()> {
    table([
        "GET /api/me at two web processes, open loop",
        "p50, ms",
        "p99, ms",
        "runs' p99",
        "bar, ms",
        "from the cache",
    ]);
    let all = format!("{} sessions", measured.sessions);
    for (name, cache_s, rate, sessions, bar) in [
        (format!("1,000/s, no cache, {all}"), 0, 1_000, measured.sessions, Some(9.0)),
        (format!("4,000/s, 60 s of cache, {all}"), 60, 4_000, measured.sessions, None),
        ("4,000/s, 60 s of cache, 1,000 sessions".to_owned(), 60, 4_000, 1_000, Some(4.0)),
    ] {
        let scratch = [Scratch::new()?, Scratch::new()?];
        let cached = |lodge: Lodge| lodge.with("LODGE_ACCOUNTS_SESSION_CACHE_S", cache_s);
        let web = |number: u16| {
            let web = Lodge::new(&scratch[usize::from(number)]).with("LODGE_APPS", "accounts");
            cached(web.at(local(18_080 + number), local(18_090 + number)))
        };
        let accounts = cached(measured.lodge()).at(local(18_071), local(18_098));
        let tiers = Tiers::start(accounts, vec![web(0), web(1)])?;
        let runs = measured.common.each_run(|run| {
            thread::scope(|scope| {
                let read = |web| read(measured, web, rate / 2, run, sessions);
                let (web, other) = (tiers.web(), &tiers.webs[1]);
                let other = scope.spawn(move || read(other));
                let [p50, p99] = read(web)?;
                let [other_p50, other_p99] = other.join().ok().context("a load panicked")??;
                Ok([p50.max(other_p50), p99.max(other_p99)])
            })
        })?;
        let ([p50, p99], bar_text) =
            (columns(&runs), bar.map_or("–".to_owned(), |bar| bar.to_string()));
        let counts = tiers.webs.iter().map(|web| found(web)).collect::<Result<Vec<_>>>()?;
        let (hits, all) = counts.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        println!("| {name} | {p50:.2} | {p99:.2} | {p99:.2?} | {bar_text} | {hits} of {all} |");
        tiers.terminate()?;
        let is_met = bar.is_none_or(|bar| p99.median() < bar);
        measured.common.bar(&format!("p99 < {bar_text} ms"), is_met)?;
    }
    Ok(())
}

/// One process at 4,000/s, and two at 2,000/s.
fn in_one_process_and_two(measured: &Measured<'_>) -> Result<()> {
    table([
        &format!("GET /api/me, open loop, {} sessions", measured.sessions),
        "p50, ms",
        "p99, ms (bar 4)",
        "runs' p99",
        "from the cache",
    ]);
    let one = measured.start()?;
    row(measured, "one process, 4,000/s", &one, 4_000)?;
    one.terminate()?;
    let (lodge, scratch) = (measured.lodge(), Scratch::new()?);
    let web = Lodge::new(&scratch).with("LODGE_APPS", "accounts");
    let tiers = Tiers::start(lodge.at(local(18_071), local(18_091)), vec![web])?;
    row(measured, "two processes, 2,000/s", tiers.web(), 2_000)
}

/// Prints one row over all runs of a process; each run draws other sessions.
fn row(measured: &Measured<'_>, name: &str, lodge: &Lodge, rate: u32) -> Result<()> {
    let [p50, p99] = columns(
        &measured.common.each_run(|run| read(measured, lodge, rate, run, measured.sessions))?,
    );
    let (hits, all) = found(lodge)?;
    println!("| {name} | {p50:.2} | {p99:.2} | {p99:.2?} | {hits} of {all} |");
    measured.common.bar("p99 < 4 ms", p99.median() < 4.0)
}

/// The lookups of sessions that the cache answered, and all.
fn found(lodge: &Lodge) -> Result<(u64, u64)> {
    let count = |name: &str| lodge.counter(&format!("lodge_accounts_cache_{name}_seconds_count"));
    let (hits, misses) = (count("hit").unwrap_or_default(), count("miss")?);
    Ok((hits, hits + misses))
}

/// The p50 and p99 of a run with the first of the sessions, in ms.
fn read(
    measured: &Measured<'_>,
    lodge: &Lodge,
    rate: u32,
    seed: u32,
    sessions: u64,
) -> Result<[f64; 2]> {
    let (seconds, tokens) = (measured.common.seconds, measured.lodge().path("tokens"));
    lodge
        .load(&format!(
            "accounts-get --tokens {tokens} --sessions {sessions} --rate {rate} --connections 64 --seed {seed} --duration {seconds}s"
        ))?
        .without_errors("/total/all")?
        .numbers(["/total/all/latency_ms/median", "/total/all/latency_ms/p99"])
}

/// A script for wrk that reads with the tokens in the folder of a Lodge.
pub(in crate::bench) fn script(lodge: &Lodge) -> String {
    TOKENS.replace("TOKENS", &lodge.path("tokens"))
}

/// Reads at the maximum rate of nginx and of Lodge.
pub(super) fn saturation(measured: &Measured<'_>) -> Result<()> {
    let scratch = Scratch::new()?;
    let nginx = Nginx::start(&scratch, "return 200")?;
    let lodge = measured.start()?;
    let script = script(&lodge);
    let (lodge, nginx) =
        nginx::alternate(&nginx, &lodge, &measured.common, Some(&script), "/api/me")?;
    table([
        &format!("GET /api/me, wrk -t2 -c100, {} sessions at random", measured.sessions),
        "a second",
        "µs CPU each",
    ]);
    for (name, served) in [("Lodge", &lodge), ("nginx, `return 200`", &nginx)] {
        println!("| {name} | {:.0} | {:.2} |", served.per_second, served.cpu_us);
    }
    let ratios = lodge.per_second.ratios(&nginx.per_second);
    println!("| ratio (bar 0.25) | {ratios:.3}; runs {ratios:.3?} | |");
    measured.common.bar("a quarter of nginx", ratios.median() >= 0.25)
}

/// Reads at 4,000/s without sign-ins, and with as many sign-ins as possible, on more connections than hash
/// threads and fewer than may wait.
pub(super) fn busy(measured: &Measured<'_>) -> Result<()> {
    let mut lodge = measured.start()?;
    let sign_in = format!("accounts-sign-in --users {} --connections 16", measured.users);
    let (mut idle, mut busy, mut signed_in) = (vec![], vec![], vec![]);
    for run in 0..measured.common.runs {
        idle.push(read(measured, &lodge, 4_000, 2 * run + 1, measured.sessions)?);
        let before = lodge.counter(SIGNED_IN).unwrap_or_default();
        let sign_ins = lodge.start_load(&sign_in)?;
        lodge.wait_until("sign-ins succeed", |lodge| {
            lodge.counter(SIGNED_IN).is_ok_and(|count| count > before)
        })?;
        let before = lodge.counter(SIGNED_IN)?;
        busy.push(read(measured, &lodge, 4_000, 2 * run + 2, measured.sessions)?);
        let meanwhile = lodge.counter(SIGNED_IN)? - before;
        signed_in.push(meanwhile / u64::from(measured.common.seconds));
        drop(sign_ins);
    }
    table(["GET /api/me, 4,000/s, open loop", "p50, ms", "p99, ms", "runs' p99"]);
    let mut medians = Vec::new();
    for (name, runs) in [("no sign-ins", &idle), ("sign-ins on 16 connections", &busy)] {
        let [p50, p99] = columns(runs);
        println!("| {name} | {p50:.2} | {p99:.2} | {p99:.2?} |");
        medians.push(p99.median());
    }
    println!("meanwhile {signed_in:?} sign-ins a second");
    let (times, more) = (medians[1] / medians[0], medians[1] - medians[0]);
    println!(
        "p99 {times:.2} times that without sign-ins, {more:.2} ms more (bar: twice, or less than 2 ms more)"
    );
    let enough = signed_in.iter().all(|&many| many >= 85);
    measured.common.bar("at least 85 sign-ins a second meanwhile", enough)?;
    measured.common.bar("p99 beside sign-ins", times <= 2.0 || more < 2.0)
}
