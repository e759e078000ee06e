//! The contract with Redis in front of the store, and what a reader may see from Redis.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use lodge_contract::{
    Fixture, SpyLinkStore,
    samples::{change, create, fresh, link, target},
};
use lodge_domain::links::{ChangeFeed, ClickLimit, Link, LinkStore, Short};
use lodge_engines::redis::{Login, Options, Redis};
use lodge_testbed::Kind;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    cassandra::{connect, fixture},
    redis_server::OwnRedis,
    testbed::{flush, layout, nodes},
};

const KEYSPACE: &str = "lodge_contract_redis";

/// A process with Redis in front of Cassandra, and the tasks that follow the change feed.
struct Process {
    links: Arc<dyn LinkStore>,
    store: Arc<SpyLinkStore>,
    followers: JoinSet<()>,
}

impl Process {
    async fn start() -> Self {
        Self::with(&redis(KEYSPACE)).await
    }

    async fn with(redis: &Redis) -> Self {
        let (mut process, feed) = Self::without_following(redis).await;
        process.followers.spawn(async move {
            loop {
                let _ = feed.changed().await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        process
    }

    /// A process that reads the change feed only when the test does.
    async fn without_following(redis: &Redis) -> (Self, Arc<dyn ChangeFeed>) {
        let (store, feed) = connect(KEYSPACE).await.links();
        let store = SpyLinkStore::new(store);
        let (links, feed) = redis.in_front_of((Arc::clone(&store) as Arc<dyn LinkStore>, feed));
        let (mut followers, kept) = (JoinSet::new(), Arc::clone(&feed));
        followers.spawn(async move { kept.run_background().await });
        (Self { links, store, followers }, feed)
    }

    /// The number of links that were read from the store.
    fn lookups(&self) -> usize {
        self.store.lookups()
    }

    /// Finds a link; returns whether it was read from the store.
    async fn asks_the_store_for(&self, short: &Short) -> bool {
        let before = self.lookups();
        assert!(self.links.find(short).await.unwrap().is_some(), "{short}");
        self.lookups() > before
    }
}

/// The cluster's Redis with keys of this prefix.
pub(crate) fn redis(prefix: &str) -> Redis {
    let layout = layout(&[Kind::Redis, Kind::Sentinel]);
    let password = layout.secret(Kind::Redis).unwrap();
    let options = options(nodes(Kind::Sentinel), &password, prefix);
    let login = Login { username: "lodge".to_owned(), ..options.login };
    Redis::new(Options { login, ..options }).unwrap()
}

/// Connection options for the master `lodge` of these sentinels.
pub(crate) fn options(sentinels: Vec<String>, password: &str, prefix: &str) -> Options {
    let login = Login { username: String::new(), password: Some(password.into()) };
    Options {
        sentinels,
        masters: vec!["lodge".to_owned()],
        login: login.clone(),
        sentinel_login: login,
        tls: None,
        deadline: Duration::from_millis(50),
        writers: 2,
        prefix: format!("{prefix}:"),
    }
}

async fn stores() -> (Fixture, Process) {
    let process = Process::start().await;
    let links = Arc::clone(&process.links);
    (fixture(&connect(KEYSPACE).await, links), process)
}

mod contract {
    lodge_contract::promises!(super::stores);
}

/// Polls until `holds` is true, at most for `time`.
pub(crate) async fn within<F: Future<Output = bool>>(time: Duration, holds: impl Fn() -> F) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < time, "not within {time:?}");
        tokio::task::yield_now().await;
    }
}

/// The same with a limit of one second.
pub(crate) async fn within_a_second<F: Future<Output = bool>>(holds: impl Fn() -> F) {
    within(Duration::from_secs(1), holds).await;
}

async fn target_at(process: &Process, short: &Short) -> String {
    process.links.find(short).await.unwrap().unwrap().target.as_str().to_owned()
}

/// Waits until the link is found without a read from the store.
async fn wait_for_copy(process: &Process, short: &Short) {
    within(Duration::from_secs(10), async || !process.asks_the_store_for(short).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_one_process_has_read_another_finds_without_the_store() {
    let (one, other) = (Process::start().await, Process::start().await);
    let link = create(&*one.links, link(&fresh("shared"))).await;
    wait_for_copy(&one, &link.short).await;
    wait_for_copy(&other, &link.short).await;
    assert_eq!(*other.links.find(&link.short).await.unwrap().unwrap(), link);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_flush_a_copy_is_kept_again_within_a_second() {
    let prefix = format!("lodge-flushed-{}", Uuid::new_v4().simple());
    let process = Process::with(&redis(&prefix)).await;
    let link = create(&*process.links, link(&fresh("flushed"))).await;
    wait_for_copy(&process, &link.short).await;
    flush(&prefix);
    // The first reader's copy cannot be stored yet.
    process.links.find(&link.short).await.unwrap();
    within_a_second(async || !process.asks_the_store_for(&link.short).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_seen_by_another_process_within_a_second() {
    let (one, other) = (Process::start().await, Process::start().await);
    let mut link = create(&*one.links, link(&fresh("changed"))).await;
    for turn in 0..10 {
        wait_for_copy(&other, &link.short).await;
        let new = format!("https://example.org/{turn}");
        link = change(&*one.links, &link, |link| link.target = target(&new)).await;
        assert_eq!(target_at(&one, &link.short).await, new, "its own change");
        within_a_second(async || target_at(&other, &link.short).await == new).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_sees_its_own_change_at_once_though_a_replica_lags() {
    let mut servers = OwnRedis::start(&["lagging"], false);
    let replica = servers.add_replica(0);
    let options = servers.options(fresh("lagging").as_str());
    let (process, feed) = Process::without_following(&Redis::new(options).unwrap()).await;
    let old = create(&*process.links, link(&fresh("lagging"))).await;
    within(Duration::from_secs(30), async || {
        let _ = feed.changed().await;
        let before = replica.keys_found();
        process.links.find(&old.short).await.unwrap();
        // The copy, and the heartbeat.
        replica.keys_found() >= before + 2
    })
    .await;
    replica.stop_following();
    let new = "https://new.example/";
    change(&*process.links, &old, |link| link.target = target(new)).await;
    assert_eq!(target_at(&process, &old.short).await, new);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_by_a_process_that_cannot_reach_redis_is_seen_within_a_second() {
    let other = Process::start().await;
    let (cut_off, _) = connect(KEYSPACE).await.links();
    let mut link = create(&*cut_off, link(&fresh("cut-off"))).await;
    for turn in 0..5 {
        wait_for_copy(&other, &link.short).await;
        let new = format!("https://example.org/{turn}");
        link = change(&*cut_off, &link, |link| link.target = target(&new)).await;
        within_a_second(async || target_at(&other, &link.short).await == new).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_read_before_a_change_is_not_cached_after_it() {
    let (slow, other) = (Process::start().await, Process::start().await);
    let old = create(&*slow.links, link(&fresh("slow"))).await;
    wait_for_feed(&[&slow, &other]).await;
    let (release, before) = (slow.store.hold_next_answer(), slow.lookups());
    let lookup = tokio::spawn({
        let (links, short) = (Arc::clone(&slow.links), old.short.clone());
        async move { links.find(&short).await.unwrap() }
    });
    within_a_second(async || slow.lookups() > before).await;
    let new =
        change(&*other.links, &old, |link| link.target = target("https://new.example/")).await;
    // So that the feed does not repair what the slow process does.
    wait_for_feed(&[&slow, &other]).await;
    release.send(()).unwrap();
    assert_eq!(*lookup.await.unwrap().unwrap(), old, "it was read before");
    wait_for_copy(&other, &new.short).await;
    assert_eq!(*other.links.find(&new.short).await.unwrap().unwrap(), new);
}

/// Returns when every process has read all earlier changes from the feed.
async fn wait_for_feed(processes: &[&Process]) {
    let (cut_off, _) = connect(KEYSPACE).await.links();
    let old = create(&*cut_off, link(&fresh("heard"))).await;
    for process in processes {
        wait_for_copy(process, &old.short).await;
    }
    let new = change(&*cut_off, &old, |link| link.target = target("https://heard.example/")).await;
    for process in processes {
        let heard = async || target_at(process, &new.short).await == new.target.as_str();
        within_a_second(heard).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_does_not_read_the_feed_reads_from_the_store() {
    let (one, mut unfollowing) = (Process::start().await, Process::start().await);
    let link = create(&*one.links, link(&fresh("deaf"))).await;
    wait_for_copy(&unfollowing, &link.short).await;
    unfollowing.followers.abort_all();
    within_a_second(async || unfollowing.asks_the_store_for(&link.short).await).await;
    assert!(unfollowing.asks_the_store_for(&link.short).await, "an outdated copy was accepted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_with_a_password_or_a_limit_stay_in_the_store() {
    let process = Process::start().await;
    let plain = create(&*process.links, link(&fresh("plain"))).await;
    wait_for_copy(&process, &plain.short).await;
    let secret = Link {
        password: Some(lodge_domain::passwords::PasswordHash("$argon2id$secret".to_owned())),
        ..link(&fresh("secret"))
    };
    let limited = Link { click_limit: ClickLimit::new(3).ok(), ..link(&fresh("limited")) };
    for link in [create(&*process.links, secret).await, create(&*process.links, limited).await] {
        for _ in 0..5 {
            assert!(process.asks_the_store_for(&link.short).await, "{link:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_loss_of_a_master_loses_only_the_copies_of_its_own_links() {
    let mut servers = OwnRedis::start(&["first", "second"], false);
    let options = servers.options(fresh("two").as_str());
    let process = Process::with(&Redis::new(options).unwrap()).await;
    let mut shorts = Vec::new();
    for _ in 0..20 {
        shorts.push(create(&*process.links, link(&fresh("hashed"))).await.short);
    }
    for short in &shorts {
        wait_for_copy(&process, short).await;
    }
    servers.kill(1);
    let asked_of_the_store = async || {
        let mut asked = Vec::new();
        for short in &shorts {
            if process.asks_the_store_for(short).await {
                asked.push(short);
            }
        }
        asked
    };
    // A momentarily slow master sends reads to the store, too, but the set of lost links stays the same.
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut asked = asked_of_the_store().await;
    loop {
        assert!((1..20).contains(&asked.len()), "{} of 20 are read from the store", asked.len());
        let again = asked_of_the_store().await;
        if again == asked {
            break;
        }
        assert!(Instant::now() < deadline, "{asked:?}, then {again:?}");
        asked = again;
    }
}
