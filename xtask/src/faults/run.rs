//! Running one row.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use lodge_testbed::Cluster;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use super::{
    accounts::Acknowledged,
    fault::ChosenFault,
    links::Links,
    record::{Counted, Record},
    rows::{Promise, PromisedRow},
    workload::{self, App, SharedState, Workload},
};

/// How long the clients work before a fault (at least) and after it.
const BEFORE: Duration = Duration::from_secs(2);
const AFTER: Duration = Duration::from_secs(2);

/// How long a fault lasts: longer than every deadline in the cluster, so that waiting does not hide it.
const FAULT: Duration = Duration::from_secs(10);

/// Random addition to the time before and during a fault, by the seed.
const JITTER_MS: u64 = 1_000;

/// Runs a row; returns its result.
pub(crate) fn run(
    cluster: &Cluster,
    api_key: &str,
    row: PromisedRow,
    seed: u64,
    commit: &str,
) -> Result<Record> {
    match row.promise {
        Promise::Links(_) => run_with::<Links>(cluster, api_key, row, seed, commit),
        Promise::Accounts(_) => run_with::<Acknowledged>(cluster, api_key, row, seed, commit),
    }
}

/// Runs a row with clients of an app.
fn run_with<A: App>(
    cluster: &Cluster,
    api_key: &str,
    row: PromisedRow,
    seed: u64,
    commit: &str,
) -> Result<Record> {
    let began = Instant::now();
    let mut random = StdRng::seed_from_u64(seed);
    let mut jitter = || Duration::from_millis(random.random_range(0..JITTER_MS));
    let (before, during) = (BEFORE + jitter(), FAULT + jitter());
    cluster.wait_settled()?;
    let scene = ChosenFault::choose(cluster, row.fault, seed)?;
    // Names must be unique among the runs on a cluster.
    let tag = format!("f{:012x}", rand::rng().random::<u64>() >> 16);
    let common = Arc::new(SharedState::new(cluster, api_key, tag));
    let app = Arc::new(A::default());
    app.prepare(&common, cluster)?;
    let load = Workload::start(Arc::clone(&common), &app, seed);
    workload::warm_up(before, || app.has_enough())?;
    let stale = workload::stale(&common, cluster);
    load.announce_fault(&scene.unresponsive());
    let replaced = scene.begin()?;
    thread::sleep(during);
    let counts = workload::stale(&common, cluster).into_iter().zip(stale);
    // The counter of a restarted process begins at 0.
    let stale = counts.map(|(now, then)| now.checked_sub(then).unwrap_or(now)).sum();
    let healed = Instant::now();
    scene.end()?;
    let recovered = load.wait_calm(healed);
    thread::sleep(AFTER);
    cluster.wait_settled()?;
    let tally = load.finish()?;
    let loss = app.check(&common, cluster)?;
    let counted = Counted {
        lost: loss.lost,
        listed_twice: loss.duplicated,
        stale,
        replaced_ms: replaced.map(ms),
        recovered_ms: recovered.map(ms),
        tally,
    };
    Ok(Record {
        commit: commit.to_owned(),
        fault: row.name.to_owned(),
        seed,
        victims: scene.victims.iter().map(ToString::to_string).collect(),
        took_s: began.elapsed().as_secs(),
        broken: row.broken_promises(&counted),
        counted,
    })
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
