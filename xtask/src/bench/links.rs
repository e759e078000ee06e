//! Benchmarks of short links.

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;

use super::{
    Options,
    crowd::{self, Crowd},
    figures::{Runs, columns},
    lodge::{self, Lodge, Scratch, Server},
    nginx::{self, Nginx},
    usage::resident_mb,
    wrk,
};
use crate::{
    process,
    system::{self, FOR_BENCHES},
};

/// Picks one of 10,000 links at random; the same for both servers.
pub(super) const RANDOM_LINKS: &str = "math.randomseed(os.time())\nrequest = function() return wrk.format('GET', '/r' .. math.random(0, 9999)) end\n";

/// Makes each request a PUT, as the Dank seed's script does.
const PUT: &str = "wrk.method = 'PUT'\n";

const SERVED: &str = "lodge_http_requests_total{method=\"GET\",route=\"/{short}\",status=\"307\"}";

#[derive(Args)]
pub(crate) struct LinksOptions {
    #[command(flatten)]
    common: Options,
    /// Links in the memory measurement.
    #[arg(long, default_value_t = 1_000_000)]
    links: u32,
}

/// Runs the parts.
pub(crate) fn run(mut options: LinksOptions) -> Result<()> {
    system::provide(FOR_BENCHES)?;
    lodge::build()?;
    if options.common.settle() {
        options.links = 20_000;
    }
    let LinksOptions { common, links } = &options;
    common.run(&[
        ("hot", &|| beside_nginx("hot link", common, None, 0.85)),
        ("random", &|| beside_nginx("10,000 links at random", common, Some(RANDOM_LINKS), 0.7)),
        ("open-loop", &|| open_loop(common)),
        ("creation", &|| creation(common)),
        ("clicks", &|| clicks(common)),
        ("memory", &|| memory(common, *links)),
        ("overload", &|| overload(common)),
        ("seeds", &seeds),
    ])
}

/// A Lodge with links `/r0`, `/r1`, ….
fn with_links(scratch: &Scratch, links: u32) -> Result<Server> {
    let lodge = Lodge::new(scratch).start()?;
    lodge.import("r", links)?;
    Ok(lodge)
}

/// 10,000 links, redirected by nginx and by Lodge.
fn beside_nginx(name: &str, options: &Options, script: Option<&str>, bar: f64) -> Result<()> {
    let scratch = Scratch::new()?;
    let nginx = Nginx::start(&scratch, "return 307 https://example.org/")?;
    let lodge = with_links(&scratch, 10_000)?;
    let (lodge, nginx) = nginx::alternate(&nginx, &lodge, options, script, "/r0")?;
    let (rate, of_nginx, runs) = (&lodge.per_second, &nginx.per_second, options.runs);
    println!("{name}: {rate:.0}/s, nginx {of_nginx:.0}/s (medians of {runs})");
    let ratios = rate.ratios(of_nginx);
    println!("{name}: ratio {ratios:.3} (bar {bar}); runs {ratios:.3?}");
    let (cpu_us, of_nginx) = (&lodge.cpu_us, &nginx.cpu_us);
    println!("{name}: {cpu_us:.2} µs CPU a redirect (bar 10.5); nginx {of_nginx:.2}");
    Ok(())
}

/// Reads at 20,000/s with and without 2,000 concurrent creations/s.
fn open_loop(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = Lodge::new(&scratch).start()?;
    let [get, mixed] = ["links-get --rate 20000", "links-mixed --get-rate 20000 --put-rate 2000"]
        .map(|load| format!("{load} --links 10000 --duration {}s", options.seconds));
    let runs = options.each_run(|_| {
        Ok([
            lodge.load(&get)?.number("/total/all/latency_ms/p99")?,
            lodge.load(&mixed)?.number("/total/get/latency_ms/p99")?,
        ])
    })?;
    let [alone, beside] = columns(&runs);
    println!(
        "p99 of 20,000 redirects/s, open loop: {alone:.2} ms alone, {beside:.2} ms beside 2,000 creations/s (medians)"
    );
    let ratio = beside.median() / alone.median();
    println!(
        "p99 ratio {ratio:.2} (bar 1.5, or less than 2 ms apart); alone {alone:.2?}, beside {beside:.2?}"
    );
    Ok(())
}

fn creation(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = Lodge::new(&scratch).start()?;
    let put = format!("links-put --connections 100 --verify --duration {}s", options.seconds);
    let rates = Runs(options.each_run(|_| lodge.load(&put)?.number("/total/all/rate_per_s"))?);
    println!(
        "creation, 100 connections, every one read back: {rates:.0}/s (bar 20,000); runs {rates:.0?}"
    );
    Ok(())
}

/// Compares the stored clicks after a clean stop with the served redirects.
fn clicks(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = with_links(&scratch, 10_000)?;
    lodge.wrk(options.seconds, Some(RANDOM_LINKS), "/r0")?;
    let served = lodge.counter(SERVED)?;
    let lodge = lodge.terminate()?;
    lodge.admin("export export.csv")?;
    let clicks = |line: &str| line.rsplit(',').next()?.parse::<u64>().ok();
    let stored: u64 = lodge.read("export.csv")?.lines().skip(1).filter_map(clicks).sum();
    println!("clicks: {stored} stored of {served} redirects served");
    ensure!(stored == served, "the stored clicks differ from the served redirects");
    Ok(())
}

fn memory(options: &Options, links: u32) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = with_links(&scratch, links)?;
    let after_import = resident_mb(lodge.pid())?;
    let all = RANDOM_LINKS.replace("9999", &(links - 1).to_string());
    let run = lodge.wrk(options.seconds, Some(&all), "/r0")?;
    let resident = resident_mb(lodge.pid())?;
    println!(
        "memory with {links} links: {after_import:.0} MB after the import, {resident:.0} MB after {:.0} redirects at random (bar 100)",
        run.requests
    );
    // From the start to the first answer.
    let lodge = lodge.terminate()?;
    let began = Instant::now();
    let lodge = lodge.start()?;
    lodge.get("/r0")?;
    println!("ready {:.0} ms after the start (bar 500)", began.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Healthy clients at 2,000/s, alone and among hostile connections.
fn overload(options: &Options) -> Result<()> {
    let scratch = Scratch::new()?;
    let mut lodge = with_links(&scratch, 1)?;
    let get = format!(
        "links-get --rate 2000 --connections 20 --links 100 --duration {}s",
        options.seconds
    );
    let healthy = |lodge: &Lodge| {
        lodge.load(&get)?.without_errors("/total/all")?.number("/total/all/latency_ms/p99")
    };
    let runs = options.each_run(|run| {
        let alone = healthy(&lodge)?;
        let before = resident_mb(lodge.pid())?;
        let crowd = Crowd::start(lodge.address())?;
        lodge
            .wait_until("the crowd is connected", |_| crowd.connected() >= crowd::SIZE * 9 / 10)?;
        let crowded = healthy(&lodge)?;
        println!(
            "overload, run {run}: {before:.0} MB before, {:.0} MB with {} more connections",
            resident_mb(lodge.pid())?,
            crowd.connected()
        );
        Ok([alone, crowded])
    })?;
    let [alone, crowded] = columns(&runs);
    println!(
        "p99 of healthy clients, 2,000/s, open loop: {alone:.2} ms alone, {crowded:.2} ms in the crowd (bar: twice, or less than 2 ms apart); alone {alone:.2?}, crowded {crowded:.2?}"
    );
    Ok(())
}

/// The seeds' commands, unchanged except for the port.
fn seeds() -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = with_links(&scratch, 1)?;
    let get = wrk::run(12, 300, 15, None, &lodge.url("/r0"))?;
    println!("wrk -t12 -c300 -d15s /r0: {:.0}/s, {} errors", get.per_second, get.errors);
    let script = lodge.write(wrk::SCRIPT, PUT)?;
    let put = "/?short=gg&long=google.com";
    let done = wrk::run(12, 300, 15, Some(&script), &lodge.url(put))?;
    println!(
        "wrk -t12 -c300 -d15s -s put.lua {put}: {:.0}/s, {} errors",
        done.per_second, done.errors
    );
    for concurrency in ["5", "100"] {
        let ab = ["-q", "-n", "100000", "-c", concurrency, &lodge.url("/r0")];
        let text = ab_lines(&process::output("ab", &ab)?);
        println!("ab -n 100000 -c {concurrency} /r0 (ab counts 3xx as non-2xx):\n{text}");
    }
    let url = lodge.url("/?short=arnold&long=https://www.cs.toronto.edu/~arnold/");
    let ab = ["-q", "-n", "10000", "-c", "10", "-u", "/dev/null", "-T", "application/json", &url];
    let text = ab_lines(&process::output("ab", &ab)?);
    println!("ab -n 10000 -c 10 -u /dev/null -T application/json …:\n{text}");
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
