//! The check at the end of a row: every acknowledged link, first through the caches, then from the store
//! alone.

use std::{
    net::SocketAddr,
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use lodge_testbed::{Cluster, wait_until};
use serde_json::Value;

use super::expected::Expected;
use crate::faults::workload::{Loss, SharedState, metric};

/// Each worker has updated its count of waiting links within this time.
const LOOKED: Duration = Duration::from_secs(3);

/// How long the workers may take to store all links, and to mark the pending writes complete.
const DRAINED: Duration = Duration::from_mins(2);

/// Concurrent clients.
const CLIENTS: usize = 6;

/// Tries of a link whose answers leave it unknown whether it exists.
const TRIES: usize = 10;

/// Counts what is lost or duplicated.
pub(super) fn check(common: &SharedState, links: &[Expected], cluster: &Cluster) -> Result<Loss> {
    let lost = lost(common, links, cluster)?;
    Ok(Loss { lost, duplicated: duplicated(common)? })
}

/// Counts acknowledged links that do not redirect to their target: on one web process; edited links on all of them, and
/// all links on a process without caches, once no link waits to be stored. Until then an older target of an edited link
/// is not a loss; whether it was served too long is counted apart, as late edits.
fn lost(common: &SharedState, links: &[Expected], cluster: &Cluster) -> Result<u64> {
    let webs: Vec<SocketAddr> = common.webs().map(|route| route.address).collect();
    let (edited, others): (Vec<&Expected>, Vec<&Expected>) =
        links.iter().partition(|link| link.is_edited);
    let others = others.into_iter().zip(webs.iter().cycle());
    let lost = ask_all(common, &others.map(|(link, web)| (*web, link)).collect::<Vec<_>>())?;
    wait_stored(common, cluster)?;
    let on_all = edited.into_iter().flat_map(|link| webs.iter().map(move |web| (*web, link)));
    let lost_edits = ask_all(common, &on_all.collect::<Vec<_>>())?;
    let uncached = cluster.start_uncached()?;
    let asks: Vec<_> = links.iter().map(|link| (uncached.address, link)).collect();
    Ok((lost + lost_edits).max(ask_all(common, &asks)?))
}

/// Waits until no link waits to be stored, according to the recent metrics of all workers.
fn wait_stored(common: &SharedState, cluster: &Cluster) -> Result<()> {
    let began = Instant::now();
    let mut none_since = began;
    while none_since.elapsed() < LOOKED {
        let waiting = metric(common, cluster, "lodge_links_waiting");
        if waiting.iter().any(|waiting| waiting.is_some_and(|waiting| waiting > 0)) {
            none_since = Instant::now();
        }
        ensure!(began.elapsed() < DRAINED, "links wait to be stored: {waiting:?}");
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Waits until every web process answers 404 for an unknown short.
pub(super) fn wait_complete(common: &SharedState) -> Result<()> {
    let unknown = format!("/{}-unknown", common.tag);
    common.webs().try_for_each(|web| {
        wait_until(&format!("a 404 of {}", web.member), DRAINED, || {
            let answer = common.http.send("GET", web.address, &unknown);
            answer.is_some_and(|answer| answer.status == 404)
        })
    })
}

fn ask_all(common: &SharedState, asks: &[(SocketAddr, &Expected)]) -> Result<u64> {
    let lost = |share: &[(SocketAddr, &Expected)]| {
        share.iter().map(|(web, link)| Ok(u64::from(!leads(common, *web, link)?))).sum()
    };
    let share = asks.len().div_ceil(CLIENTS).max(1);
    thread::scope(|scope| {
        let shares = asks.chunks(share).map(|share| scope.spawn(move || lost(share)));
        let shares: Vec<ScopedJoinHandle<'_, Result<u64>>> = shares.collect();
        shares.into_iter().map(|share| share.join().ok().context("a check panicked")?).sum()
    })
}

fn leads(common: &SharedState, web: SocketAddr, link: &Expected) -> Result<bool> {
    for _ in 0..TRIES {
        match common.http.send("GET", web, &format!("/{}", link.short)) {
            Some(answer) if answer.status < 500 => {
                let leads = answer.leads_to(&link.targets);
                if !leads {
                    let (short, targets) = (&link.short, &link.targets);
                    println!("   lost: {short} leads to {targets:?}, {web} answers {answer:?}");
                }
                return Ok(leads);
            }
            _ => thread::sleep(Duration::from_millis(200)),
        }
    }
    bail!("{web} does not tell the target of {}", link.short)
}

/// Counts duplicates of links that were created with an Idempotency-Key.
fn duplicated(common: &SharedState) -> Result<u64> {
    let web = common.webs().next().context("no web process")?.address;
    let bearer = format!("Bearer {}", common.api_key);
    let (mut targets, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/links?limit=1000&tag={}{after}", common.tag);
        let page = common.http.send_with("GET", web, &path, &[("Authorization", &bearer)], None);
        let page = page.filter(|page| page.status == 200).context("links cannot be listed")?;
        let page: Value = serde_json::from_str(&page.body)?;
        let links = page["links"].as_array().context("a list has no links")?;
        targets.extend(links.iter().map(|link| link["target"].to_string()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    let listed = targets.len();
    targets.sort_unstable();
    targets.dedup();
    Ok((listed - targets.len()) as u64)
}
