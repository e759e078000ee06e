//! Short links.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use super::{
    Options,
    beside::{self, Beside},
    crowd::{self, Crowd},
    median,
    servers::{self, LODGE, Scratch},
    wrk,
};
use crate::{
    process::{self, Running},
    system::{self, FOR_BENCHES},
};

/// Picks one of 10,000 links at random; the same for both servers.
pub(super) const RANDOM_LINKS: &str = "math.randomseed(os.time())\nrequest = function() return wrk.format('GET', '/r' .. math.random(0, 9999)) end\n";

/// Makes each request a PUT, as the Dank seed's script does.
const PUT: &str = "wrk.method = 'PUT'\n";

const SERVED: &str = "lodge_http_requests_total{method=\"GET\",route=\"/{short}\",status=\"307\"}";

type Part = fn(&Options) -> Result<()>;

/// Runs every part, or the one that is asked for.
pub(crate) fn run(options: &Options) -> Result<()> {
    system::provide(FOR_BENCHES)?;
    servers::build_lodge()?;
    let parts: [(&str, Part); 8] = [
        ("hot", hot),
        ("random", random),
        ("open-loop", open_loop),
        ("creation", creation),
        ("clicks", clicks),
        ("memory", memory),
        ("overload", overload),
        ("seeds", seeds),
    ];
    for (name, part) in parts {
        if options.only.as_deref().is_none_or(|only| only == name) {
            part(options).with_context(|| format!("the part {name}"))?;
        }
    }
    Ok(())
}

fn hot(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    beside_nginx("hot link", options, &scratch, None, "/r0", 0.85)
}

fn random(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let script = script(&scratch, RANDOM_LINKS)?;
    beside_nginx("10,000 links at random", options, &scratch, Some(&script), "/r0", 0.7)
}

/// 10,000 links, redirected by nginx and by Lodge.
fn beside_nginx(
    name: &str,
    options: &Options,
    scratch: &Scratch,
    script: Option<&Path>,
    path: &str,
    bar: f64,
) -> Result<()> {
    let nginx = servers::start_nginx(scratch)?;
    let lodge = servers::start_lodge(scratch, "data")?;
    servers::import(scratch, "data", "r", 10_000)?;
    let beside = beside::alternate(&nginx, &lodge, options, script, path)?;
    let Beside { lodge, nginx } = &beside;
    println!(
        "{name}: {:.0}/s, nginx {:.0}/s (medians of {})",
        median(&lodge.per_second),
        median(&nginx.per_second),
        options.runs
    );
    let ratios = beside.ratios();
    println!("{name}: ratio {:.3} (bar {bar}); runs {ratios:.3?}", median(&ratios));
    println!(
        "{name}: {:.2} µs CPU a redirect (bar 10.5); nginx {:.2}",
        median(&lodge.cpu_us),
        median(&nginx.cpu_us)
    );
    Ok(())
}

/// Reads at 20,000/s with and without 2,000 creations/s beside them.
fn open_loop(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let _lodge = servers::start_lodge(&scratch, "data")?;
    let (mut alone, mut beside) = (vec![], vec![]);
    for _ in 0..options.runs {
        alone.push(p99_ms(
            &scratch,
            options,
            &["links-get", "--rate", "20000", "--links", "10000"],
            "/total/all",
        )?);
        beside.push(p99_ms(
            &scratch,
            options,
            &["links-mixed", "--get-rate", "20000", "--put-rate", "2000", "--links", "10000"],
            "/total/get",
        )?);
    }
    println!(
        "p99 of 20,000 redirects/s, open loop: {:.2} ms alone, {:.2} ms beside 2,000 creations/s (medians)",
        median(&alone),
        median(&beside)
    );
    println!(
        "p99 ratio {:.2} (bar 1.5, or less than 2 ms apart); alone {alone:.2?}, beside {beside:.2?}",
        median(&beside) / median(&alone)
    );
    Ok(())
}

fn creation(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let _lodge = servers::start_lodge(&scratch, "data")?;
    let mut rates = vec![];
    for _ in 0..options.runs {
        let report = load(&scratch, options, &["links-put", "--connections", "100", "--verify"])?;
        rates.push(number(&report, "/total/all/rate_per_s")?);
    }
    println!(
        "creation, 100 connections, every one read back: {:.0}/s (bar 20,000); runs {rates:.0?}",
        median(&rates)
    );
    Ok(())
}

/// Clicks that are stored after a clean stop, beside the redirects that were served.
fn clicks(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = servers::start_lodge(&scratch, "data")?;
    servers::import(&scratch, "data", "r", 10_000)?;
    let script = script(&scratch, RANDOM_LINKS)?;
    wrk::run(2, 100, options.seconds, Some(&script), &format!("http://{LODGE}/r0"))?;
    let served = servers::counter(SERVED)?;
    lodge.terminate(Duration::from_secs(15))?;
    let stored = servers::stored_clicks(&scratch, "data")?;
    println!("clicks: {stored} stored of {served} redirects served");
    ensure!(stored == served, "clicks were lost or invented");
    Ok(())
}

fn memory(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = servers::start_lodge(&scratch, "data")?;
    servers::import(&scratch, "data", "r", options.links)?;
    let after_import = servers::resident_mb(lodge.pid())?;
    let all = script(&scratch, &RANDOM_LINKS.replace("9999", &(options.links - 1).to_string()))?;
    let run = wrk::run(2, 100, options.seconds, Some(&all), &format!("http://{LODGE}/r0"))?;
    let resident = servers::resident_mb(lodge.pid())?;
    println!(
        "memory with {} links: {after_import:.0} MB after the import, {resident:.0} MB after {:.0} redirects at random (bar 100)",
        options.links, run.requests
    );
    restart_is_quick(&scratch, lodge)
}

/// From the start to the first answer, with the links of the memory measurement.
fn restart_is_quick(scratch: &Scratch, lodge: Running) -> Result<()> {
    lodge.terminate(Duration::from_secs(15))?;
    let began = Instant::now();
    let _lodge = servers::start_lodge(scratch, "data")?;
    servers::get(LODGE, "/r0")?;
    println!("ready {:.0} ms after the start (bar 500)", began.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Healthy clients at 2,000/s, alone and in the middle of a crowd that means ill.
fn overload(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = servers::start_lodge(&scratch, "data")?;
    servers::import(&scratch, "data", "r", 1)?;
    let healthy = || -> Result<f64> {
        let arguments = ["links-get", "--rate", "2000", "--connections", "20", "--links", "100"];
        let report = load(&scratch, options, &arguments)?;
        ensure!(number(&report, "/total/all/errors")? == 0.0, "healthy clients met errors");
        number(&report, "/total/all/latency_ms/p99")
    };
    let (mut alone, mut crowded) = (vec![], vec![]);
    for run in 1..=options.runs {
        alone.push(healthy()?);
        let before = servers::resident_mb(lodge.pid())?;
        let crowd = Crowd::gather(LODGE.parse()?)?;
        wait_until("the crowd is there", || crowd.connected() >= crowd::SIZE * 9 / 10)?;
        crowded.push(healthy()?);
        let amid = servers::resident_mb(lodge.pid())?;
        let connected = crowd.connected();
        drop(crowd);
        println!(
            "overload, run {run}: {before:.0} MB before, {amid:.0} MB with {connected} more connections"
        );
    }
    println!(
        "p99 of healthy clients, 2,000/s, open loop: {:.2} ms alone, {:.2} ms in the crowd (bar: twice, or less than 2 ms apart); alone {alone:.2?}, crowded {crowded:.2?}",
        median(&alone),
        median(&crowded)
    );
    Ok(())
}

/// The seeds' own lines, unchanged but for the port.
fn seeds(_: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let _lodge = servers::start_lodge(&scratch, "data")?;
    servers::import(&scratch, "data", "r", 1)?;
    let get = wrk::run(12, 300, 15, None, &format!("http://{LODGE}/r0"))?;
    println!("wrk -t12 -c300 -d15s /r0: {:.0}/s, {} errors", get.per_second, get.errors);
    let script = script(&scratch, PUT)?;
    let put =
        wrk::run(12, 300, 15, Some(&script), &format!("http://{LODGE}/?short=gg&long=google.com"))?;
    println!(
        "wrk -t12 -c300 -d15s -s put.lua /?short=gg&long=google.com: {:.0}/s, {} errors",
        put.per_second, put.errors
    );
    for concurrency in ["5", "100"] {
        let text = process::output(
            "ab",
            &["-q", "-n", "100000", "-c", concurrency, &format!("http://{LODGE}/r0")],
        )?;
        println!(
            "ab -n 100000 -c {concurrency} /r0 (ab counts 3xx as non-2xx):\n{}",
            ab_lines(&text)
        );
    }
    let url = format!("http://{LODGE}/?short=arnold&long=https://www.cs.toronto.edu/~arnold/");
    let text = process::output(
        "ab",
        &["-q", "-n", "10000", "-c", "10", "-u", "/dev/null", "-T", "application/json", &url],
    )?;
    println!("ab -n 10000 -c 10 -u /dev/null -T application/json …:\n{}", ab_lines(&text));
    Ok(())
}

fn ab_lines(text: &str) -> String {
    let wanted = [
        "Complete requests",
        "Failed requests",
        "Non-2xx",
        "Requests per second",
        "  50%",
        "  99%",
        " 100%",
    ];
    let lines = text.lines().filter(|line| wanted.iter().any(|start| line.starts_with(start)));
    lines.map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

pub(crate) fn wait_until(what: &str, done: impl Fn() -> bool) -> Result<()> {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !done() {
        ensure!(Instant::now() < deadline, "{what}: not within a minute");
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

pub(crate) fn script(scratch: &Scratch, text: &str) -> Result<PathBuf> {
    let file = scratch.path("script.lua");
    fs::write(&file, text)?;
    Ok(file)
}

/// A run of `lodge load`, as its JSON report.
pub(crate) fn load(
    scratch: &Scratch,
    options: &Options,
    arguments: &[&str],
) -> Result<serde_json::Value> {
    load_at(&format!("http://{LODGE}"), scratch, options, arguments)
}

/// The same somewhere else.
pub(crate) fn load_at(
    url: &str,
    scratch: &Scratch,
    options: &Options,
    arguments: &[&str],
) -> Result<serde_json::Value> {
    let duration = format!("{}s", options.seconds);
    reported(scratch, &[arguments, &["--url", url, "--duration", &duration]].concat())
}

/// A run of `lodge load` that ends by itself.
pub(crate) fn load_to_its_end(scratch: &Scratch, arguments: &[&str]) -> Result<serde_json::Value> {
    reported(scratch, &[arguments, &["--url", &format!("http://{LODGE}")]].concat())
}

fn reported(scratch: &Scratch, arguments: &[&str]) -> Result<serde_json::Value> {
    reported_by(&servers::lodge_binary(), scratch, arguments)
}

/// A run of any Lodge's load generator, as its JSON report.
pub(crate) fn reported_by(
    lodge: &Path,
    scratch: &Scratch,
    arguments: &[&str],
) -> Result<serde_json::Value> {
    let json = scratch.path("report.json");
    let report = json.display().to_string();
    let lodge = lodge.display().to_string();
    process::output(&lodge, &[&["load"], arguments, &["--json", &report]].concat())?;
    Ok(serde_json::from_str(&fs::read_to_string(json)?)?)
}

fn p99_ms(scratch: &Scratch, options: &Options, arguments: &[&str], part: &str) -> Result<f64> {
    let report = load(scratch, options, arguments)?;
    number(&report, &format!("{part}/latency_ms/p99"))
}

pub(crate) fn number(report: &serde_json::Value, pointer: &str) -> Result<f64> {
    report
        .pointer(pointer)
        .and_then(serde_json::Value::as_f64)
        .with_context(|| format!("the report has no {pointer}"))
}
