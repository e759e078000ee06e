//! Short links on the cluster, all on this machine.

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use lodge_testbed::{Cluster, Kind, Layout, Member};
use serde_json::json;

use super::{
    Options,
    figures::{Runs, columns},
    lodge::{self, Lodge, Scratch, Server, local},
    prometheus::{self, Histograms},
};
use crate::{
    http::Http,
    process,
    system::{self, FOR_BENCHES, FOR_CLUSTERS},
};

/// Links that are requested at random.
const MANY: u32 = 20_000;

/// Redirects a second of one short, and the number of Redis flushes meanwhile.
const STAMPEDE: &str = "5000";
const FLUSHES: u32 = 4;

/// How long writes may take to be stored.
const DRAINED: Duration = Duration::from_mins(3);

/// Runs the parts.
pub(crate) fn run(mut options: Options) -> Result<()> {
    options.settle();
    system::provide(FOR_BENCHES)?;
    system::provide(FOR_CLUSTERS)?;
    lodge::build()?;
    let cluster = Cluster::new(Layout::of(&process::root()), lodge::binary());
    cluster.up()?;
    // They may run another build.
    cluster.restart_webs()?;
    options.run(&[
        ("hot", &|| hot(&options, &cluster)),
        ("paths", &|| paths(&options, &cluster)),
        ("creation", &|| creation(&options, &cluster)),
        ("stampede", &|| stampede(&options, &cluster)),
        ("drain", &|| drain(&options, &cluster)),
    ])
}

/// A Lodge on the cluster, without a rate limit of creations.
fn on(cluster: &Cluster, scratch: &Scratch) -> Lodge {
    let lodge = Lodge::new(scratch).with_all(cluster.layout().settings());
    lodge.with("LODGE_LIMITS_CREATIONS_PER_MINUTE", 0)
}

/// The same with write-behind, in a keyspace.
fn write_behind(cluster: &Cluster, scratch: &Scratch, keyspace: &str) -> Lodge {
    let lodge = on(cluster, scratch).with_all(cluster.layout().write_behind_settings());
    lodge.with("LODGE_CASSANDRA_KEYSPACE", keyspace)
}

/// A hot link from the memory cache, in alternating runs with the embedded engine.
fn hot(options: &Options, cluster: &Cluster) -> Result<()> {
    let scratch = Scratch::new()?;
    let rate = |lodge: Lodge| {
        let (http, lodge) = (Http::new(), lodge.start()?);
        let put = http.send("PUT", lodge.address(), "/?short=hot&long=example.org/hot");
        let is_put = put.as_ref().is_some_and(|answer| matches!(answer.status, 200 | 201));
        ensure!(is_put, "PUT: {put:?}");
        Ok(lodge.wrk(options.seconds, None, "/hot")?.per_second)
    };
    let runs = options.each_run(|_| {
        let embedded = rate(Lodge::new(&scratch).data("embedded"))?;
        let cluster = Lodge::new(&scratch).with_all(cluster.layout().settings());
        let cluster = rate(cluster.data("cluster"))?;
        Ok([embedded, cluster, cluster / embedded])
    })?;
    let [embedded, cluster, ratios] = columns(&runs);
    println!(
        "hot link from memory: {cluster:.0}/s on the cluster, {embedded:.0}/s embedded beside it: {ratios:.3} (bar 0.9); runs {ratios:.3?}"
    );
    Ok(())
}

/// Random links of a process without a memory cache: from Redis, and from Cassandra.
fn paths(options: &Options, cluster: &Cluster) -> Result<()> {
    for (name, has_redis) in [("from Redis", true), ("from Cassandra", false)] {
        let scratch = Scratch::new()?;
        let mut settings = cluster.layout().settings();
        settings.retain(|(name, _)| has_redis || !name.contains("REDIS"));
        let lodge = Lodge::new(&scratch)
            .with_all(settings)
            .with("LODGE_LIMITS_CREATIONS_PER_MINUTE", 0)
            .with("LODGE_EMBEDDED_LINK_CACHE_MIB", 0)
            .start()?;
        lodge.import("path-", MANY)?;
        let shorts: Vec<String> = (0..MANY).map(|number| format!("path-{number}")).collect();
        lodge.write("shorts", &shorts.join("\n"))?;
        let get =
            format!("links-get --connections 50 --shorts shorts --duration {}s", options.seconds);
        // Once before, to fill Redis.
        lodge.load(&get)?;
        measure(options, &format!("redirect {name}"), &lodge, &get)?;
    }
    Ok(())
}

/// Creations with write-through and write-behind, and one pair repeatedly, as in the run that a seed
/// recorded.
fn creation(options: &Options, cluster: &Cluster) -> Result<()> {
    let through: fn(&Cluster, &Scratch) -> Lodge = on;
    let replace: fn(&Cluster, &Scratch) -> Lodge = |cluster, scratch| {
        let lodge = on(cluster, scratch).with("LODGE_LINKS_MODE", "replace");
        lodge.with("LODGE_CASSANDRA_KEYSPACE", "lodge_bench_replace")
    };
    let later: fn(&Cluster, &Scratch) -> Lodge =
        |cluster, scratch| write_behind(cluster, scratch, "lodge_bench_behind");
    for (name, lodge, same) in [
        ("creation, claim, write-through", through, ""),
        ("creation, replace, write-through", replace, ""),
        ("creation, replace, write-behind", later, ""),
        ("one pair, claim, write-through", through, "--same-pair"),
        ("one pair, replace, write-through", replace, "--same-pair"),
    ] {
        let scratch = Scratch::new()?;
        let lodge = lodge(cluster, &scratch).start()?;
        let put = format!("links-put --connections 50 {same} --duration {}s", options.seconds);
        measure(options, name, &lodge, &put)?;
    }
    Ok(())
}

/// A stampede: one hot short on three processes, while Redis is flushed repeatedly and the short edited at
/// the same time, so that no cache has it. Measures the reads from the store in a second.
fn stampede(options: &Options, cluster: &Cluster) -> Result<()> {
    cluster.restart_webs()?;
    let scratch = Scratch::new()?;
    let haproxy = Member { kind: Kind::Haproxy, number: 1 };
    let web = Member { kind: Kind::Web, number: 1 };
    let layout = cluster.layout();
    let balancer = Lodge::new(&scratch).at(layout.address(haproxy), layout.ops(web));
    let wanted = HotLink::make(balancer.address())?;
    let get = format!(
        "links-get --rate {STAMPEDE} --connections 60 --shorts {} --duration {}s",
        wanted.short, options.seconds
    );
    let http = Http::new();
    let asked = || -> Result<f64> {
        let count = |web| {
            let metrics = http.send("GET", layout.ops(web), "/metrics").context("no metrics")?;
            Ok(prometheus::sum(&metrics.body, "lodge_redis_misses_total").unwrap_or_default())
        };
        Member::of(Kind::Web).map(count).sum()
    };
    let before = asked()?;
    thread::scope(|scope| {
        let load = scope.spawn(|| balancer.load(&get));
        let (mut worst, mut last, mut flushed) = (0.0_f64, before, 0);
        while !load.is_finished() {
            thread::sleep(Duration::from_secs(1));
            let now = asked()?;
            (worst, last) = (worst.max(now - last), now);
            if flushed < FLUSHES {
                cluster.flush_redis()?;
                flushed += 1;
                wanted.edit(flushed)?;
            }
        }
        let report = load.join().ok().context("the load panicked")??;
        println!(
            "stampede: {:.0}/s of one short at three processes, {} errors, Redis flushed and the short edited {flushed} times: at most {worst} reads from the store in a second (bar 3), {} in all",
            report.number("/total/all/rate_per_s")?,
            report.number("/total/all/errors")?,
            last - before
        );
        Ok(())
    })
}

/// The hot short of the stampede.
struct HotLink {
    http: Http,
    at: SocketAddr,
    short: String,
    key: String,
}

impl HotLink {
    fn make(at: SocketAddr) -> Result<Self> {
        let (http, body) = (Http::new(), json!({ "target": "example.org/0" }));
        let made =
            http.send_with("POST", at, "/api/links", &[], Some(&body)).context("no answer")?;
        let text = |name| made.text(name).with_context(|| format!("no {name}: {}", made.body));
        Ok(Self { at, short: text("short")?, key: text("manage_key")?, http })
    }

    fn edit(&self, turn: u32) -> Result<()> {
        let (path, key) = (format!("/api/links/{}", self.short), format!("Bearer {}", self.key));
        let (headers, body) =
            ([("Authorization", &*key)], json!({ "target": format!("example.org/{turn}") }));
        let edited = self.http.send_with("PATCH", self.at, &path, &headers, Some(&body));
        ensure!(edited.is_some_and(|edited| edited.status == 200), "the short was not edited");
        Ok(())
    }
}

/// Time from acknowledgement to storing with write-behind, by the number of workers.
fn drain(options: &Options, cluster: &Cluster) -> Result<()> {
    for workers in [1_u16, 2, 4] {
        let scratch = Scratch::new()?;
        let lodge = write_behind(cluster, &scratch, &format!("bench_drain_{workers}"));
        let web = lodge.clone().with("LODGE_ROLES", "web").start()?;
        let start = |number: u16| {
            let worker = lodge.clone().with("LODGE_ROLES", "worker");
            let worker = worker.at(local(18_110 + number), local(18_100 + number));
            worker.data(format!("worker-{number}")).start()
        };
        let workers: Vec<Server> = (1..=workers).map(start).collect::<Result<_>>()?;
        let put = format!("links-put --connections 50 --duration {}s", options.seconds);
        let report = web.load(&put)?.without_errors("/total/all")?;
        let ended = Instant::now();
        wait_drained(&workers[0])?;
        let lag = |share: f64| -> Result<f64> {
            let lags = workers.iter().map(|worker| {
                let mut told = Histograms::default();
                told.add(&worker.metrics()?);
                let lag =
                    told.get("lodge_links_drain_lag_seconds").context("no metric of the lag")?;
                lag.quantile_s(share).context("a worker stored nothing")
            });
            lags.collect::<Result<Runs>>().map(|lags| lags.range().1)
        };
        println!(
            "write-behind, {} workers: {:.0}/s acknowledged, stored after {:.2} s (half of them), {:.2} s (99 %), by the slowest worker; all stored {:.1} s after the last",
            workers.len(),
            report.number("/total/all/rate_per_s")?,
            lag(0.5)?,
            lag(0.99)?,
            ended.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}

/// Waits until a worker's metric of waiting links is 0 twice.
fn wait_drained(worker: &Lodge) -> Result<()> {
    let (began, mut seen) = (Instant::now(), 0);
    while seen < 2 {
        ensure!(began.elapsed() < DRAINED, "links still wait to be stored");
        thread::sleep(Duration::from_secs(1));
        let waiting = worker.metric("lodge_links_waiting ")?;
        seen = if waiting == Some(0.0) { seen + 1 } else { 0 };
    }
    Ok(())
}

/// Runs one load repeatedly, and prints the medians.
fn measure(options: &Options, name: &str, lodge: &Lodge, load: &str) -> Result<()> {
    let figures =
        ["/total/all/rate_per_s", "/total/all/latency_ms/median", "/total/all/latency_ms/p99"];
    let runs =
        options.each_run(|_| lodge.load(load)?.without_errors("/total/all")?.numbers(figures))?;
    let [rates, p50s, p99s] = columns(&runs);
    let runs = runs.len();
    println!("{name}: {rates:.0}/s, p50 {p50s:.2} ms, p99 {p99s:.2} ms (medians of {runs})");
    Ok(())
}
