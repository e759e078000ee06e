//! Short links on the cluster, everything on this one machine.

use std::{
    fs,
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use lodge_testbed::{Cluster, Kind, Layout, Member};
use serde_json::json;

use super::{
    Options,
    links::{load, load_at, number},
    median,
    servers::{self, LODGE, Scratch, metric, quantile_s},
    wrk,
};
use crate::{
    http::Http,
    process::{self, Running},
    system::{self, FOR_BENCHES, FOR_CLUSTERS},
};

/// Links that are asked for at random.
const MANY: u32 = 20_000;

type Setting = (&'static str, String);
type Part = fn(&Options, &Cluster) -> Result<()>;

/// Redirects a second of one short, and how often Redis is flushed under them.
const STAMPEDE: &str = "5000";
const FLUSHES: u32 = 4;

/// How long writes may take to be stored.
const DRAINED: Duration = Duration::from_mins(3);

/// Runs every part, or the one that is asked for.
pub(crate) fn run(options: &Options) -> Result<()> {
    system::provide(FOR_BENCHES)?;
    system::provide(FOR_CLUSTERS)?;
    servers::build_lodge()?;
    let cluster = Cluster::new(Layout::of(&process::root()), servers::lodge_binary());
    cluster.up()?;
    // They may have been up with another build.
    cluster.restart_webs()?;
    let parts: [(&str, Part); 5] = [
        ("hot", hot),
        ("paths", paths),
        ("creation", creation),
        ("stampede", stampede),
        ("drain", drain),
    ];
    for (name, part) in parts {
        if options.only.as_deref().is_none_or(|only| only == name) {
            part(options, &cluster).with_context(|| format!("the part {name}"))?;
        }
    }
    Ok(())
}

/// A hot link from memory, in alternating runs with the embedded engine while the cluster idles.
fn hot(options: &Options, cluster: &Cluster) -> Result<()> {
    let scratch = Scratch::new()?;
    let engines = [("embedded", vec![]), ("cluster", cluster.layout().settings())];
    let (mut rates, mut ratios) = ([vec![], vec![]], vec![]);
    for _ in 0..options.runs {
        for ((name, settings), rates) in engines.iter().zip(&mut rates) {
            let _lodge = servers::start_lodge_with(&scratch, name, settings)?;
            servers::put("/?short=hot&long=example.org/hot")?;
            let run = wrk::run(2, 100, options.seconds, None, &format!("http://{LODGE}/hot"))?;
            ensure!(run.errors == 0.0, "errors: {run:?}");
            rates.push(run.per_second);
        }
        ratios.push(rates[1].last().unwrap_or(&0.0) / rates[0].last().unwrap_or(&1.0));
    }
    println!(
        "hot link from memory: {:.0}/s on the cluster, {:.0}/s embedded beside it: {:.3} (bar 0.9); runs {ratios:.3?}",
        median(&rates[1]),
        median(&rates[0]),
        median(&ratios)
    );
    Ok(())
}

/// Links at random, of a process that remembers none: from Redis, and from Cassandra.
fn paths(options: &Options, cluster: &Cluster) -> Result<()> {
    let forgetful: Setting = ("LODGE_EMBEDDED_LINK_CACHE_MIB", "0".to_owned());
    let with_redis: Vec<Setting> =
        cluster.layout().settings().into_iter().chain([forgetful]).collect();
    let without: Vec<Setting> =
        with_redis.iter().filter(|(name, _)| !name.contains("REDIS")).cloned().collect();
    for (name, settings) in [("from Redis", with_redis), ("from Cassandra", without)] {
        let scratch = Scratch::new()?;
        let _lodge = start(&scratch, &settings)?;
        servers::import(&scratch, "data", "path-", MANY)?;
        let shorts: Vec<String> = (0..MANY).map(|number| format!("path-{number}")).collect();
        let file = scratch.path("shorts");
        fs::write(&file, shorts.join("\n"))?;
        let file = file.display().to_string();
        let get = ["links-get", "--connections", "50", "--shorts", &file];
        // Once before, so that what can be remembered is.
        load(&scratch, options, &get)?;
        measure(options, &format!("redirect {name}"), &scratch, &get)?;
    }
    Ok(())
}

/// Creations that are stored before they are acknowledged, and after; and one pair again and again, as in
/// the run that a seed recorded.
fn creation(options: &Options, cluster: &Cluster) -> Result<()> {
    let through = cluster.layout().settings();
    let replace: Vec<Setting> =
        [("LODGE_LINKS_MODE", "replace".to_owned()), keyspace("bench_replace".to_owned())]
            .into_iter()
            .chain(cluster.layout().settings())
            .collect();
    let behind = behind(cluster.layout(), "bench_behind".to_owned());
    for (name, settings, same) in [
        ("creation, claim, stored first", &through, None),
        ("creation, replace, stored first", &replace, None),
        ("creation, replace, stored later", &behind, None),
        ("one pair, claim, stored first", &through, Some("--same-pair")),
        ("one pair, replace, stored first", &replace, Some("--same-pair")),
    ] {
        let scratch = Scratch::new()?;
        let _lodge = start(&scratch, settings)?;
        let put = ["links-put", "--connections", "50"].into_iter().chain(same);
        measure(options, name, &scratch, &put.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn unlimited() -> Setting {
    ("LODGE_LIMITS_CREATIONS_PER_MINUTE", "0".to_owned())
}

fn keyspace(name: String) -> Setting {
    ("LODGE_CASSANDRA_KEYSPACE", name)
}

/// The settings of processes that store later.
fn behind(layout: &Layout, name: String) -> Vec<Setting> {
    let settings = layout.settings().into_iter().chain(layout.settings_behind());
    settings.chain([keyspace(name), unlimited()]).collect()
}

/// One short that everybody wants, at three processes, while Redis is flushed again and again, and the
/// short edited at the same time, so that nobody remembers it: how often the store is asked for it in a
/// second.
fn stampede(options: &Options, cluster: &Cluster) -> Result<()> {
    cluster.restart_webs()?;
    let scratch = Scratch::new()?;
    let balancer = cluster.layout().address(Member { kind: Kind::Haproxy, number: 1 });
    let url = format!("http://{balancer}");
    let wanted = Wanted::make(balancer)?;
    let get = ["links-get", "--rate", STAMPEDE, "--connections", "60", "--shorts", &wanted.short];
    let asked = || -> Result<f64> {
        let webs = Member::of(Kind::Web).map(|web| cluster.layout().ops(web).to_string());
        webs.map(|ops| Ok(metric(&ops, "lodge_redis_misses_total")?.unwrap_or_default())).sum()
    };
    let before = asked()?;
    let report = thread::scope(|scope| -> Result<_> {
        let load = scope.spawn(|| load_at(&url, &scratch, options, &get));
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
        Ok((report, worst, last - before, flushed))
    });
    let (report, worst, all, flushed) = report?;
    println!(
        "stampede: {:.0}/s of one short at three processes, {} errors, Redis flushed and the short edited {flushed} times: the store was asked at most {worst} times in a second (bar 3), {all} times in all",
        number(&report, "/total/all/rate_per_s")?,
        number(&report, "/total/all/errors")?,
    );
    Ok(())
}

/// The short that everybody wants.
struct Wanted {
    http: Http,
    at: SocketAddr,
    short: String,
    key: String,
}

impl Wanted {
    fn make(at: SocketAddr) -> Result<Self> {
        let (http, body) = (Http::new(), json!({ "target": "example.org/0" }));
        let made = http.send_json("POST", at, "/api/links", &[], &body).context("no answer")?;
        let text = |name| made.text(name).with_context(|| format!("no {name}: {}", made.body));
        Ok(Self { at, short: text("short")?, key: text("manage_key")?, http })
    }

    fn edit(&self, turn: u32) -> Result<()> {
        let (path, key) = (format!("/api/links/{}", self.short), format!("Bearer {}", self.key));
        let (headers, body) =
            ([("Authorization", &*key)], json!({ "target": format!("example.org/{turn}") }));
        let edited = self.http.send_json("PATCH", self.at, &path, &headers, &body);
        ensure!(edited.is_some_and(|edited| edited.status == 200), "the short was not edited");
        Ok(())
    }
}

/// How soon what was acknowledged is stored, by the number of workers.
fn drain(options: &Options, cluster: &Cluster) -> Result<()> {
    for workers in [1, 2, 4] {
        let settings = behind(cluster.layout(), format!("bench_drain_{workers}"));
        let scratch = Scratch::new()?;
        let web: Vec<Setting> =
            settings.iter().cloned().chain([("LODGE_ROLES", "web".to_owned())]).collect();
        let _web = servers::start_lodge_with(&scratch, "data", &web)?;
        let workers: Vec<_> = (1..=workers)
            .map(|number| servers::start_worker(&scratch, number, &settings))
            .collect::<Result<_>>()?;
        let report = load(&scratch, options, &["links-put", "--connections", "50"])?;
        ensure!(number(&report, "/total/all/errors")? == 0.0, "errors");
        let ended = Instant::now();
        wait_drained(&workers[0].1)?;
        let lag = |share: f64| -> Result<f64> {
            let lags = workers.iter().map(|(_, ops)| {
                let lag = quantile_s(ops, "lodge_links_drain_lag_seconds", share)?;
                lag.context("a worker stored nothing")
            });
            let lags = lags.collect::<Result<Vec<f64>>>()?;
            Ok(lags.into_iter().fold(0.0, f64::max))
        };
        println!(
            "stored later, {} workers: {:.0}/s acknowledged, stored after {:.2} s (half of them), {:.2} s (99 %), by the slowest worker; all stored {:.1} s after the last",
            workers.len(),
            number(&report, "/total/all/rate_per_s")?,
            lag(0.5)?,
            lag(0.99)?,
            ended.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}

/// Waits until a worker has seen twice that nothing waits.
fn wait_drained(ops: &str) -> Result<()> {
    let (began, mut seen) = (Instant::now(), 0);
    while seen < 2 {
        ensure!(began.elapsed() < DRAINED, "links still wait to be stored");
        thread::sleep(Duration::from_secs(1));
        let waiting = metric(ops, "lodge_links_waiting")?;
        seen = if waiting == Some(0.0) { seen + 1 } else { 0 };
    }
    Ok(())
}

/// A process with these settings, in which one address may create as much as it likes.
fn start(scratch: &Scratch, settings: &[Setting]) -> Result<Running> {
    let settings: Vec<Setting> = settings.iter().cloned().chain([unlimited()]).collect();
    servers::start_lodge_with(scratch, "data", &settings)
}

/// Runs of one load, and the middle of them.
fn measure(options: &Options, name: &str, scratch: &Scratch, load_it: &[&str]) -> Result<()> {
    let (mut rates, mut p50s, mut p99s) = (vec![], vec![], vec![]);
    for _ in 0..options.runs {
        let report = load(scratch, options, load_it)?;
        ensure!(number(&report, "/total/all/errors")? == 0.0, "{name}: errors");
        rates.push(number(&report, "/total/all/rate_per_s")?);
        p50s.push(number(&report, "/total/all/latency_ms/median")?);
        p99s.push(number(&report, "/total/all/latency_ms/p99")?);
    }
    println!(
        "{name}: {:.0}/s, p50 {:.2} ms, p99 {:.2} ms (medians of {})",
        median(&rates),
        median(&p50s),
        median(&p99s),
        options.runs
    );
    Ok(())
}
