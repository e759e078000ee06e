//! What is there at the end: every link that was acknowledged, as it is then, and once more from the
//! store alone, when nobody can remember it.

use std::{
    net::SocketAddr,
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use lodge_testbed::{Cluster, Kind, Member, wait_until};
use serde_json::Value;

use super::workload::{Common, Expected};

/// How long ago each worker has looked at what waits, at most.
const LOOKED: Duration = Duration::from_secs(3);

/// How long everything may take to be stored, and to be vouched for.
const DRAINED: Duration = Duration::from_mins(2);

/// Clients that ask at once.
const CLIENTS: usize = 6;

/// How often a link is asked for of which nobody says yes or no.
const TRIES: usize = 10;

/// Of links that were acknowledged, those that do not lead where they should: at any process, edited
/// ones at all; or, once nothing waits to be stored, at one that has nothing but the store.
pub(crate) fn lost(common: &Common, links: &[Expected], cluster: &Cluster) -> Result<u64> {
    let webs: Vec<SocketAddr> = common.webs().map(|route| route.address).collect();
    let mut asks = Vec::new();
    for (number, link) in links.iter().enumerate() {
        let at = if link.is_edited { &webs[..] } else { &webs[number % webs.len()..][..1] };
        asks.extend(at.iter().map(|web| (*web, link)));
    }
    let lost = ask_all(common, &asks)?;
    wait_stored(common, cluster)?;
    let witness = cluster.witness()?;
    let asks: Vec<_> = links.iter().map(|link| (witness.address, link)).collect();
    Ok(lost.max(ask_all(common, &asks)?))
}

/// Waits until nothing waits to be stored, as every worker says that has looked lately.
fn wait_stored(common: &Common, cluster: &Cluster) -> Result<()> {
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

/// Waits until every process can say that a link is not there.
pub(crate) fn wait_whole(common: &Common) -> Result<()> {
    let nobody = format!("/{}-nobody", common.tag);
    common.webs().try_for_each(|web| {
        wait_until(&format!("a 404 of {}", web.member), DRAINED, || {
            let answer = common.http.send("GET", web.address, &nobody);
            answer.is_some_and(|answer| answer.status == 404)
        })
    })
}

fn ask_all(common: &Common, asks: &[(SocketAddr, &Expected)]) -> Result<u64> {
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
    let counts = metric(common, cluster, "lodge_links_stale_total");
    counts.into_iter().map(Option::unwrap_or_default).collect()
}

/// What each web process says of a metric; nothing where it does not answer, or has none.
fn metric(common: &Common, cluster: &Cluster, name: &str) -> Vec<Option<u64>> {
    let read = |web| {
        let metrics = common.http.send("GET", cluster.layout().ops(web), "/metrics")?.body;
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
        metrics.lines().find_map(value)
    };
    Member::of(Kind::Web).map(read).collect()
}
