//! The contract on Cassandra.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::join_all;
use lodge_contract::{
    Fixture,
    samples::{BEGIN, at, claim, fresh, fresh_owner, link, target},
};
use lodge_domain::{
    Error,
    links::{
        ChangeFeed, Claim, ClickBatch, Device, Grouping, Link, LinkId, LinkQuery, LinkStore, Short,
        clicks::ClickCell,
    },
};
use lodge_engines::cassandra::{Cassandra, Options};
use lodge_testbed::Kind;
use uuid::Uuid;

use crate::testbed::nodes;

/// Connects to a keyspace for tests.
pub(crate) async fn connect(keyspace: &str) -> Cassandra {
    Cassandra::connect(&options(keyspace)).await.unwrap()
}

/// Connection options for a keyspace for tests.
pub(crate) fn options(keyspace: &str) -> Options {
    let (nodes, keyspace) = (nodes(Kind::Cassandra), keyspace.to_owned());
    Options { nodes, keyspace, copies: 3, login: None, tls: None }
}

/// Reads a feed. A read has a short timeout, because the feed is polled: on a machine that is busy with
/// other tests it is retried, as the process that follows the feed does.
async fn heard(feed: &dyn ChangeFeed) -> Vec<Short> {
    const TRIES: usize = 20;
    for _ in 1..TRIES {
        match feed.changed().await {
            Err(Error::Unavailable { .. }) => {}
            heard => return heard.unwrap(),
        }
    }
    feed.changed().await.unwrap()
}

async fn stores() -> (Fixture, Cassandra) {
    let engine = connect("lodge_contract").await;
    (fixture(&engine, engine.links().0), engine)
}

/// The stores of an engine with another store of links.
pub(crate) fn fixture(engine: &Cassandra, links: Arc<dyn LinkStore>) -> Fixture {
    let (clicks, keys) = (engine.clicks(), engine.keys());
    let key_sessions = engine.key_sessions();
    Fixture { links, clicks, keys, key_sessions, can_search: false, stores_later: false }
}

lodge_contract::promises!(stores);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_taken_by_a_put_is_not_claimed_although_the_id_is_derived_from_it() {
    let (links, _) = connect("lodge_contract").await.links();
    let replaceable = |short: &Short, url: &str, seconds: i64| {
        let (id, at) = (LinkId::of(short), at(seconds));
        Link { id, target: target(url), created_at: at, changed_at: at, ..link(short) }
    };
    let taken = fresh("taken");
    let held = links.replace(replaceable(&taken, "https://put.example/", 10), None).await.unwrap();
    let wanted = replaceable(&taken, "https://posted.example/", 20);
    assert!(
        matches!(claim(&*links, wanted.clone()).await, Claim::Exists(_)),
        "it was taken from its holder"
    );
    let is = links.find(&taken).await.unwrap().unwrap();
    assert_eq!(is.target, held.outcome.link.target);

    let free = replaceable(&fresh("free"), "https://posted.example/", 20);
    for turn in ["first", "again"] {
        assert!(matches!(claim(&*links, free.clone()).await, Claim::Created(_)), "{turn}");
    }
    let put = replaceable(&free.short, "https://put.example/", 30);
    links.replace(put.clone(), None).await.unwrap();
    assert_eq!(links.find(&free.short).await.unwrap().unwrap().target, put.target);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_that_its_owner_claims_again_stays_on_their_list() {
    let (links, _) = connect("lodge_contract").await.links();
    let (short, owner) = (fresh("again"), fresh_owner());
    let mine = |url: &str, seconds: i64| {
        let (id, at, owner) = (LinkId::of(&short), at(seconds), Some(owner));
        Link { id, owner, target: target(url), created_at: at, changed_at: at, ..link(&short) }
    };
    assert!(matches!(claim(&*links, mine("https://a.example/", 10)).await, Claim::Created(_)));
    assert!(matches!(claim(&*links, mine("https://b.example/", 20)).await, Claim::Exists(_)));
    let all = LinkQuery { owner, after: None, tag: None, prefix: None, search: None, limit: 1_000 };
    let listed = links.list(all).await.unwrap();
    assert_eq!(listed.iter().map(|link| &link.short).collect::<Vec<_>>(), [&short]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_contains_the_writes_of_its_own_process_and_their_repetitions() {
    let (links, feed) = connect("lodge_contract").await.links();
    let link = link(&fresh("own"));
    for turn in ["first", "again"] {
        links.replace(link.clone(), None).await.unwrap();
        let heard = heard(&*feed).await;
        assert!(heard.contains(&link.short), "{turn}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_contains_each_of_many_concurrent_changes_of_another_process_once() {
    let (links, _) = connect("lodge_contract").await.links();
    let (_, feed) = connect("lodge_contract").await.links();
    let shorts: BTreeSet<Short> = (0..300).map(|_| fresh("many")).collect();
    let put = |short: &Short| links.replace(link(short), None);
    for put in join_all(shorts.iter().map(put)).await {
        put.unwrap();
    }
    let heard = heard(&*feed).await;
    let mine: Vec<&Short> = heard.iter().filter(|short| shorts.contains(*short)).collect();
    assert_eq!(mine.len(), shorts.len(), "each change is in the feed once");
    assert_eq!(mine.into_iter().collect::<BTreeSet<_>>(), shorts.iter().collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_with_more_rows_than_one_batch_is_counted_in_full() {
    let engine = connect("lodge_contract").await;
    let (incarnation, link) = (Uuid::now_v7(), LinkId(Uuid::now_v7()));
    let cell = ClickCell { link, hour: BEGIN.as_second() / 3_600, device: Device::Desktop };
    let host = |index: u64| ((link, format!("{index}.example").into_boxed_str()), 1);
    let batch = |number| {
        let referrers = (0..250).map(host).collect();
        Arc::new(ClickBatch { incarnation, number, clicks: vec![(cell, 250)], referrers })
    };
    let clicks = engine.clicks();
    for (number, expected) in [(1, 250), (1, 250), (2, 500)] {
        clicks.add(batch(number)).await.unwrap();
        let report = clicks.report(link, Grouping::Referrer, BEGIN).await.unwrap();
        let from_hosts: u64 = report.lines.iter().map(|line| line.clicks).sum();
        assert_eq!((report.total, from_hosts, report.lines.len()), (expected, expected, 250));
    }
    // A store with an empty cache reads the stored counts, and adds to them.
    let another = engine.clicks();
    another.add(batch(2)).await.unwrap();
    another.add(batch(3)).await.unwrap();
    assert_eq!(another.totals(vec![link]).await.unwrap(), [750]);
}
