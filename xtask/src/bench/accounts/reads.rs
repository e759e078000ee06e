//! `GET /api/me` with tokens.

use anyhow::Result;

use super::{AccountsOptions, start, with_seeded};
use crate::bench::{
    figures::{columns, table},
    lodge::{Lodge, Scratch, local},
    nginx::{self, Nginx},
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

/// One process at 4,000/s, and two at 2,000/s.
pub(super) fn open_loop(options: &AccountsOptions) -> Result<()> {
    table([
        &format!("GET /api/me, open loop, {} sessions", options.sessions),
        "p50, ms",
        "p99, ms (bar 4)",
        "runs' p99",
        "from the cache",
    ]);
    let one = start(options)?;
    row(options, "one process, 4,000/s", &one, 4_000)?;
    one.terminate()?;
    let (lodge, scratch) = (with_seeded(options)?, Scratch::new()?);
    let web = Lodge::new(&scratch).with("LODGE_APPS", "accounts");
    let tiers = Tiers::start(lodge.at(local(18_071), local(18_091)), web)?;
    row(options, "two processes, 2,000/s", &tiers.web, 2_000)
}

/// Prints one row over all runs of a process; each run draws other sessions.
fn row(options: &AccountsOptions, name: &str, lodge: &Lodge, rate: u32) -> Result<()> {
    let [p50, p99] = columns(&options.common.each_run(|run| read(options, lodge, rate, run))?);
    let count = |name: &str| lodge.counter(&format!("lodge_accounts_cache_{name}_seconds_count"));
    let (hits, misses) = (count("hit").unwrap_or_default(), count("miss")?);
    let all = hits + misses;
    println!("| {name} | {p50:.2} | {p99:.2} | {p99:.2?} | {hits} of {all} |");
    options.common.bar("p99 < 4 ms", p99.median() < 4.0)
}

/// The p50 and p99 of a run, in ms.
fn read(options: &AccountsOptions, lodge: &Lodge, rate: u32, seed: u32) -> Result<[f64; 2]> {
    let seconds = options.common.seconds;
    lodge
        .load(&format!(
            "accounts-get --tokens tokens --rate {rate} --connections 64 --seed {seed} --duration {seconds}s"
        ))?
        .without_errors("/total/all")?
        .numbers(["/total/all/latency_ms/median", "/total/all/latency_ms/p99"])
}

/// A script for wrk that reads with the tokens in the folder of a Lodge.
pub(in crate::bench) fn script(lodge: &Lodge) -> String {
    TOKENS.replace("TOKENS", &lodge.path("tokens"))
}

/// Reads at the maximum rate of nginx and of Lodge.
pub(super) fn saturation(options: &AccountsOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let nginx = Nginx::start(&scratch, "return 200")?;
    let lodge = start(options)?;
    let script = script(&lodge);
    let (lodge, nginx) =
        nginx::alternate(&nginx, &lodge, &options.common, Some(&script), "/api/me")?;
    table([
        &format!("GET /api/me, wrk -t2 -c100, {} sessions at random", options.sessions),
        "a second",
        "µs CPU each",
    ]);
    for (name, served) in [("Lodge", &lodge), ("nginx, `return 200`", &nginx)] {
        println!("| {name} | {:.0} | {:.2} |", served.per_second, served.cpu_us);
    }
    let ratios = lodge.per_second.ratios(&nginx.per_second);
    println!("| ratio (bar 0.25) | {ratios:.3}; runs {ratios:.3?} | |");
    options.common.bar("a quarter of nginx", ratios.median() >= 0.25)
}

/// Reads at 4,000/s without sign-ins, and with as many sign-ins as possible, on more connections than hash
/// threads and fewer than may wait.
pub(super) fn busy(options: &AccountsOptions) -> Result<()> {
    let mut lodge = start(options)?;
    let sign_in = format!("accounts-sign-in --users {} --connections 16", options.users);
    let (mut idle, mut busy, mut signed_in) = (vec![], vec![], vec![]);
    for run in 0..options.common.runs {
        idle.push(read(options, &lodge, 4_000, 2 * run + 1)?);
        let before = lodge.counter(SIGNED_IN).unwrap_or_default();
        let sign_ins = lodge.start_load(&sign_in)?;
        lodge.wait_until("sign-ins succeed", |lodge| {
            lodge.counter(SIGNED_IN).is_ok_and(|count| count > before)
        })?;
        let before = lodge.counter(SIGNED_IN)?;
        busy.push(read(options, &lodge, 4_000, 2 * run + 2)?);
        let meanwhile = lodge.counter(SIGNED_IN)? - before;
        signed_in.push(meanwhile / u64::from(options.common.seconds));
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
    options.common.bar("at least 85 sign-ins a second meanwhile", enough)?;
    options.common.bar("p99 beside sign-ins", times <= 2.0 || more < 2.0)
}
