//! What is there at the end: every link that was acknowledged, as it is then, and once more from the
//! store alone, when nobody can remember it.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use lodge_testbed::{Cluster, Kind, Member};
use serde_json::Value;

use super::workload::{Common, Expected};

/// Clients that ask at once.
const CLIENTS: usize = 6;

/// How often a link is asked for of which nobody says yes or no.
const TRIES: usize = 10;

/// Of links that were acknowledged, those that do not lead where they should: at any process, edited
/// ones at all; or at one that has just been started, with Redis empty.
pub(crate) fn lost(common: &Common, links: &[Expected], cluster: &Cluster) -> Result<u64> {
    let webs: Vec<SocketAddr> = common.webs().map(|route| route.address).collect();
    let mut asks = Vec::new();
    for (number, link) in links.iter().enumerate() {
        let at = if link.is_edited { &webs[..] } else { &webs[number % webs.len()..][..1] };
        asks.extend(at.iter().map(|web| (*web, link)));
    }
    let lost = ask_all(common, &asks)?;
    let forgetful = Member { kind: Kind::Web, number: 1 };
    cluster.flush_redis()?;
    cluster.kill(forgetful)?;
    cluster.start(forgetful)?;
    let web = cluster.layout().address(forgetful);
    let asks: Vec<_> = links.iter().map(|link| (web, link)).collect();
    Ok(lost.max(ask_all(common, &asks)?))
}

fn ask_all(common: &Common, asks: &[(SocketAddr, &Expected)]) -> Result<u64> {
    let counter = AtomicU64::new(0);
    let lost = &counter;
    let share = asks.len().div_ceil(CLIENTS).max(1);
    thread::scope(|scope| {
        let shares = asks.chunks(share).map(|share| {
            scope.spawn(move || -> Result<()> {
                for (web, link) in share {
                    if !leads(common, *web, link)? {
                        lost.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Ok(())
            })
        });
        let shares: Vec<_> = shares.collect();
        shares.into_iter().try_for_each(|share| share.join().ok().context("a check panicked")?)
    })?;
    Ok(counter.into_inner())
}

fn leads(common: &Common, web: SocketAddr, link: &Expected) -> Result<bool> {
    for _ in 0..TRIES {
        match common.http.send("GET", web, &format!("/{}", link.short)) {
            Some(answer) if answer.status < 500 => {
                let leads = answer.leads_to(&link.targets);
                if !leads {
                    let (short, targets) = (&link.short, &link.targets);
                    println!("   lost: {short} is {targets:?}, {web} says {answer:?}");
                }
                return Ok(leads);
            }
            _ => thread::sleep(Duration::from_millis(200)),
        }
    }
    bail!("{web} does not say where {} leads", link.short)
}

/// Of links that were made under an Idempotency-Key, those that are there a second time.
pub(crate) fn duplicated(common: &Common) -> Result<u64> {
    let web = common.webs().next().context("no web process")?.address;
    let bearer = format!("Bearer {}", common.api_key);
    let (mut targets, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/links?limit=1000&tag={}{after}", common.tag);
        let page = common.http.ask("GET", web, &path, &[("Authorization", &bearer)], None);
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

/// What the web processes have counted of links that may have been out of date.
pub(crate) fn stale(common: &Common, cluster: &Cluster) -> Vec<u64> {
    let count = |web| -> Option<u64> {
        let metrics = common.http.send("GET", cluster.layout().ops(web), "/metrics")?.body;
        let line =
            metrics.lines().find_map(|line| line.strip_prefix("lodge_links_stale_total "))?;
        line.trim().parse().ok()
    };
    Member::of(Kind::Web).map(|web| count(web).unwrap_or_default()).collect()
}
