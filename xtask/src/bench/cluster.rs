//! Short links on the cluster, everything on this one machine.

use anyhow::{Context, Result, ensure};
use lodge_testbed::{Cluster, Layout, Member};

use super::{
    Options,
    links::{load, number},
    median,
    servers::{self, LODGE, Scratch},
    wrk,
};
use crate::{
    cluster, process,
    system::{self, FOR_BENCHES},
};

/// Links that are more than what one process keeps in memory here.
const MANY: &str = "20000";

type Setting = (&'static str, String);
type Part = fn(&Options, &Layout) -> Result<()>;

/// Runs every part, or the one that is asked for.
pub(crate) fn run(options: &Options) -> Result<()> {
    system::provide(&FOR_BENCHES)?;
    let cluster = Cluster::of(&process::root());
    if Member::all().any(|member| cluster.pid(member).is_none()) {
        cluster::run(&cluster::Command::Up)?;
    }
    let parts: [(&str, Part); 3] = [("hot", hot), ("paths", paths), ("creation", creation)];
    for (name, part) in parts {
        if options.only.as_deref().is_none_or(|only| only == name) {
            part(options, cluster.layout()).with_context(|| format!("the part {name}"))?;
        }
    }
    Ok(())
}

/// A hot link from memory, in alternating runs with the embedded engine while the cluster idles.
fn hot(options: &Options, layout: &Layout) -> Result<()> {
    let scratch = Scratch::new()?;
    let engines = [("embedded", vec![]), ("cluster", layout.settings())];
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

/// Links at random that are not in this process's memory: from Redis, and from Cassandra.
fn paths(options: &Options, layout: &Layout) -> Result<()> {
    let forgetful: Setting = ("LODGE_EMBEDDED_LINK_CACHE_MIB", "1".to_owned());
    let with_redis: Vec<Setting> = layout.settings().into_iter().chain([forgetful]).collect();
    let without: Vec<Setting> =
        with_redis.iter().filter(|(name, _)| !name.contains("REDIS")).cloned().collect();
    for (name, settings) in [("from Redis", with_redis), ("from Cassandra", without)] {
        let get = ["links-get", "--connections", "50", "--links", MANY];
        measure(options, &format!("redirect {name}"), &settings, &get)?;
    }
    Ok(())
}

/// Creations that are stored before they are acknowledged, and after.
fn creation(options: &Options, layout: &Layout) -> Result<()> {
    let keyspace = |name: &str| ("LODGE_CASSANDRA_KEYSPACE", name.to_owned());
    let through = layout.settings();
    let replace: Vec<Setting> =
        [("LODGE_LINKS_MODE", "replace".to_owned()), keyspace("bench_replace")]
            .into_iter()
            .chain(layout.settings())
            .collect();
    let behind: Vec<Setting> = layout
        .settings()
        .into_iter()
        .chain(layout.settings_behind())
        .chain([keyspace("bench_behind")])
        .collect();
    for (name, settings) in [
        ("creation, claim, stored first", through),
        ("creation, replace, stored first", replace),
        ("creation, replace, stored later", behind),
    ] {
        measure(options, name, &settings, &["links-put", "--connections", "50"])?;
    }
    Ok(())
}

/// Runs of one load on one server, and the middle of them.
fn measure(options: &Options, name: &str, settings: &[Setting], load_it: &[&str]) -> Result<()> {
    let scratch = Scratch::new()?;
    let unlimited = ("LODGE_LIMITS_CREATIONS_PER_MINUTE", "0".to_owned());
    let settings: Vec<Setting> = settings.iter().cloned().chain([unlimited]).collect();
    let _lodge = servers::start_lodge_with(&scratch, "data", &settings)?;
    let (mut rates, mut p50s, mut p99s) = (vec![], vec![], vec![]);
    for _ in 0..options.runs {
        let report = load(&scratch, options, load_it)?;
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
