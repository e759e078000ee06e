//! Coherence of the link cache with its store.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_contract::{
    SpyLinkStore,
    samples::{at, change, changed, chosen, create, fresh, idempotency_key, link, target},
};
use lodge_domain::{
    Error, Idempotent, Result,
    keys::{ApiKey, KeyId, KeyStore},
    links::{ClickLimit, Link, LinkCopies as _, LinkStore as _, Short, TakenClick},
};
use lodge_local::{CachedKeys, CachedLinks};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::support::{open, until};

/// Capacity for a few dozen links.
const SMALL: u64 = 40_000;

struct Stores {
    slow: Arc<SpyLinkStore>,
    cached: Arc<CachedLinks>,
    _folder: TempDir,
}

fn stores(capacity_bytes: u64) -> Stores {
    let (engine, folder) = open();
    let slow = SpyLinkStore::new(engine.links());
    let cached = Arc::new(CachedLinks::new(slow.clone(), capacity_bytes));
    Stores { slow, cached, _folder: folder }
}

/// Fills the cache with more frequently read links until this one is evicted.
async fn evict(cached: &CachedLinks, short: &Short) {
    until("the cache is bounded", async || {
        let others: Vec<Short> = (0..100).map(|_| fresh("other")).collect();
        let candidates = others.iter().map(|other| chosen(link(other))).collect();
        cached.claim(candidates, SignedDuration::ZERO, None).await.unwrap();
        for other in others {
            cached.find(&other).await.unwrap();
            for _ in 0..3 {
                cached.find_cached(other.as_str());
            }
        }
        cached.find_cached(short.as_str()).is_none()
    })
    .await;
}

fn spawn_find(cached: &Arc<CachedLinks>, short: &Short) -> JoinHandle<Option<Arc<Link>>> {
    let (cached, short) = (Arc::clone(cached), short.clone());
    tokio::spawn(async move { cached.find(&short).await.unwrap() })
}

/// Spawns a change of a link.
fn spawn_change(
    cached: &Arc<CachedLinks>,
    link: &Link,
) -> JoinHandle<Result<Option<Idempotent<Link>>>> {
    let (cached, link) = (Arc::clone(cached), link.clone());
    tokio::spawn(async move { cached.change(link, None).await })
}

#[tokio::test]
async fn a_slow_lookup_never_restores_a_replaced_link() {
    let Stores { slow, cached, _folder } = stores(SMALL);
    let first = create(&*cached, link(&fresh("slow"))).await;
    evict(&cached, &first.short).await;

    let release = slow.hold_next_answer();
    let finds = slow.lookups();
    let late = spawn_find(&cached, &first.short);
    until("the lookup has begun", async || slow.lookups() > finds).await;
    let held_is_taken = async || slow.holds_all();
    until("the lookup has been answered, and the answer held back", held_is_taken).await;

    let second =
        change(&*cached, &first, |link| link.target = target("https://new.example/")).await;
    assert_eq!(cached.find_cached(first.short.as_str()).as_deref(), Some(&second));
    evict(&cached, &first.short).await;
    // A read after the write does not share the lookup that began before it.
    let fresh_find = tokio::time::timeout(Duration::from_secs(10), cached.find(&first.short));
    assert_eq!(fresh_find.await.unwrap().unwrap().as_deref(), Some(&second));
    evict(&cached, &first.short).await;

    release.send(()).unwrap();
    assert_eq!(late.await.unwrap().as_deref(), Some(&first));
    assert_eq!(cached.find_cached(first.short.as_str()), None);
    assert_eq!(cached.find(&first.short).await.unwrap().as_deref(), Some(&second));
    assert_eq!(cached.find_cached(first.short.as_str()).as_deref(), Some(&second));
}

#[tokio::test]
async fn of_two_writes_answered_in_the_wrong_order_the_newer_wins() {
    let Stores { slow, cached, _folder } = stores(SMALL);
    let first = create(&*cached, link(&fresh("order"))).await;
    let second = changed(&first, |link| link.key_version = 2);
    let release = slow.hold_next_answer();
    let late = spawn_change(&cached, &second);
    until("the second version is stored", async || {
        slow.store().find(&first.short).await.unwrap().as_deref() == Some(&second)
    })
    .await;
    until("its answer is held back", async || slow.holds_all()).await;
    // From here on the link has a click limit and must not be cached.
    let third = change(&*cached, &second, |link| link.click_limit = ClickLimit::new(5).ok()).await;
    release.send(()).unwrap();
    late.await.unwrap().unwrap();
    assert_eq!(cached.find_cached(first.short.as_str()), None);
    assert_eq!(cached.find(&first.short).await.unwrap().as_deref(), Some(&third));
}

#[tokio::test]
async fn a_write_with_an_unknown_outcome_invalidates_its_entry() {
    let Stores { slow, cached, _folder } = stores(SMALL);
    let first = create(&*cached, link(&fresh("unknown"))).await;
    let second = changed(&first, |link| link.key_version = 2);
    let put = Link { changed_at: at(500), target: target("https://put.example/"), ..first.clone() };
    for replace in [false, true] {
        assert!(cached.find(&first.short).await.unwrap().is_some());
        assert!(cached.find_cached(first.short.as_str()).is_some());
        slow.lose_answers(true);
        let outcome = if replace {
            cached.replace(put.clone(), None).await.map(|_| ())
        } else {
            cached.change(second.clone(), None).await.map(|_| ())
        };
        assert!(matches!(outcome, Err(Error::Unavailable { .. })));
        slow.lose_answers(false);
        assert_eq!(cached.find_cached(first.short.as_str()), None);
        let found = cached.find(&first.short).await.unwrap().unwrap();
        assert_eq!(found.version, if replace { 3 } else { 2 });
    }
}

#[tokio::test]
async fn a_write_whose_caller_is_dropped_still_updates_the_cache() {
    let Stores { slow, cached, _folder } = stores(SMALL);
    let first = create(&*cached, link(&fresh("gone"))).await;
    let release = slow.hold_next_answer();
    let second = changed(&first, |link| link.key_version = 2);
    let asked = spawn_change(&cached, &second);
    until("the change is stored", async || {
        slow.store().find(&first.short).await.unwrap().as_deref() == Some(&second)
    })
    .await;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    release.send(()).unwrap();
    until("the cache has the change", async || {
        cached.find_cached(first.short.as_str()).as_deref() == Some(&second)
    })
    .await;
}

#[tokio::test]
async fn concurrent_misses_of_one_short_share_one_lookup() {
    let Stores { slow, cached, _folder } = stores(SMALL);
    let absent = fresh("absent");
    let present = create(slow.store(), link(&fresh("present"))).await;
    for (short, expected) in [(&present.short, true), (&absent, false)] {
        let release = slow.hold_next_answer();
        let before = slow.lookups();
        let waiting: Vec<_> = (0..50).map(|_| spawn_find(&cached, short)).collect();
        until("the answer is held back", async || slow.holds_all()).await;
        release.send(()).unwrap();
        for find in waiting {
            assert_eq!(find.await.unwrap().is_some(), expected);
        }
        assert_eq!(slow.lookups() - before, 1);
    }
    // No negative caching: an absent short is looked up again.
    let before = slow.lookups();
    assert_eq!(cached.find(&absent).await.unwrap(), None);
    assert_eq!(slow.lookups() - before, 1);
    let claimed = create(slow.store(), link(&absent)).await;
    assert_eq!(cached.find(&absent).await.unwrap().as_deref(), Some(&claimed));
}

#[tokio::test]
async fn a_shared_lookup_survives_its_first_caller() {
    let Stores { slow, cached, _folder } = stores(SMALL);
    let present = create(slow.store(), link(&fresh("present"))).await;
    let release = slow.hold_next_answer();
    let first = spawn_find(&cached, &present.short);
    until("the answer is held back", async || slow.lookups() == 1 && slow.holds_all()).await;
    let second = spawn_find(&cached, &present.short);
    tokio::task::yield_now().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    release.send(()).unwrap();
    assert_eq!(second.await.unwrap().as_deref(), Some(&present));
    assert_eq!(slow.lookups(), 1);
}

#[tokio::test]
async fn lookups_past_the_limit_are_refused() {
    let Stores { slow, cached, _folder } = stores(SMALL);
    let mut held = Vec::new();
    let mut waiting = Vec::new();
    for _ in 0..1_024 {
        held.push(slow.hold_next_answer());
        waiting.push(spawn_find(&cached, &fresh("absent")));
    }
    until("all answers are held back", async || slow.lookups() == 1_024 && slow.holds_all()).await;
    assert!(matches!(cached.find(&fresh("one-more")).await, Err(Error::Unavailable { .. })));
    drop(held);
    for find in waiting {
        assert_eq!(find.await.unwrap(), None);
    }
    assert_eq!(cached.find(&fresh("one-more")).await.unwrap(), None);
}

#[tokio::test]
async fn a_link_with_a_click_limit_is_never_cached() {
    let Stores { slow, cached, _folder } = stores(SMALL);
    let limited = Link { click_limit: ClickLimit::new(1).ok(), ..link(&fresh("limited")) };
    let limited = create(&*cached, limited).await;
    for _ in 0..2 {
        assert!(cached.find(&limited.short).await.unwrap().is_some());
        assert_eq!(cached.find_cached(limited.short.as_str()), None);
    }
    assert_eq!(slow.lookups(), 2);
    assert_eq!(
        cached.take_click(&limited.short, limited.id, at(1)).await.unwrap(),
        TakenClick::Yes
    );
    let used = cached.find(&limited.short).await.unwrap().unwrap().click_limit.unwrap().used;
    assert_eq!(used, 1);
}

#[tokio::test]
async fn a_replayed_write_does_not_cache_its_old_outcome() {
    let Stores { cached, _folder, .. } = stores(SMALL);
    let idempotency = idempotency_key(&fresh("key"), "", 0);
    let wanted = link(&fresh("repeated"));
    let again = || {
        cached.claim(vec![chosen(wanted.clone())], SignedDuration::ZERO, Some(idempotency.clone()))
    };
    assert!(!again().await.unwrap().replayed);
    let second = change(&*cached, &wanted, |link| link.key_version = 2).await;
    assert!(again().await.unwrap().replayed);
    assert_eq!(cached.find(&wanted.short).await.unwrap().as_deref(), Some(&second));
}

#[tokio::test]
async fn a_replayed_write_invalidates_an_older_entry() {
    let Stores { cached, slow, _folder } = stores(SMALL);
    let idempotency = idempotency_key(&fresh("key"), "", 0);
    let first = create(&*cached, link(&fresh("done"))).await;
    let second = changed(&first, |link| link.key_version = 2);
    // Another process stores the change, as after a crash of this one.
    slow.change(second.clone(), Some(idempotency.clone())).await.unwrap();
    assert!(cached.change(second.clone(), Some(idempotency)).await.unwrap().unwrap().replayed);
    let found = cached.find(&first.short).await.unwrap().unwrap();
    assert_eq!(found.key_version, second.key_version);
}

/// Each reader notes the last acknowledged version before it reads, and must read that or a newer one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_read_is_older_than_the_last_acknowledged_write() {
    const CHANGES: u64 = 200;
    let Stores { cached, _folder, .. } = stores(SMALL);
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let first = create(&*cached, link(&fresh("raced"))).await;
        let acknowledged = Arc::new(AtomicU64::new(1));
        for by_put in [false, true] {
            let (cached, short, acknowledged) =
                (Arc::clone(&cached), first.short.clone(), Arc::clone(&acknowledged));
            tasks.push(tokio::spawn(async move {
                for number in 0..CHANGES {
                    let is = cached.find(&short).await.unwrap().unwrap();
                    let path = target(&format!("https://example.com/{number}/{by_put}"));
                    let next = changed(&is, |link| link.target = path);
                    let version = if by_put {
                        cached.replace(next, None).await.unwrap().outcome.link.version
                    } else {
                        cached
                            .change(next, None)
                            .await
                            .unwrap()
                            .map_or(0, |done| done.outcome.version)
                    };
                    acknowledged.fetch_max(version, Ordering::SeqCst);
                }
            }));
        }
        for at_once in [false, true] {
            let (cached, short, acknowledged) =
                (Arc::clone(&cached), first.short.clone(), Arc::clone(&acknowledged));
            tasks.push(tokio::spawn(async move {
                while acknowledged.load(Ordering::SeqCst) < CHANGES {
                    let before = acknowledged.load(Ordering::SeqCst);
                    let seen = if at_once {
                        cached.find_cached(short.as_str())
                    } else {
                        cached.find(&short).await.unwrap()
                    };
                    let seen = seen.map_or(u64::MAX, |link| link.version);
                    assert!(
                        seen >= before,
                        "version {seen} was read after {before} had been acknowledged"
                    );
                    tokio::task::yield_now().await;
                }
            }));
        }
    }
    // Other links evict these from the cache meanwhile.
    let others = tokio::spawn({
        let cached = Arc::clone(&cached);
        async move {
            loop {
                create(&*cached, link(&fresh("other"))).await;
            }
        }
    });
    for task in tasks {
        task.await.unwrap();
    }
    others.abort();
}

struct SlowKeys {
    store: Arc<dyn KeyStore>,
    held: Mutex<Option<oneshot::Receiver<()>>>,
    finds: AtomicUsize,
}

#[async_trait]
impl KeyStore for SlowKeys {
    async fn add(&self, name: &str, digest: [u8; 32], at: Timestamp) -> Result<ApiKey> {
        self.store.add(name, digest, at).await
    }
    async fn find(&self, digest: [u8; 32]) -> Result<Option<ApiKey>> {
        let found = self.store.find(digest).await;
        self.finds.fetch_add(1, Ordering::SeqCst);
        let held = self.held.lock().take();
        if let Some(held) = held {
            drop(held.await);
        }
        found
    }
    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>> {
        self.store.get(id).await
    }
    async fn list(&self) -> Result<Vec<ApiKey>> {
        self.store.list().await
    }
    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<ApiKey>> {
        self.store.revoke(name, at).await
    }
}

#[tokio::test]
async fn a_slow_lookup_never_restores_a_revoked_key() {
    let (engine, _folder) = open();
    let (release, held) = oneshot::channel();
    let slow = Arc::new(SlowKeys {
        store: engine.keys(),
        held: Mutex::new(Some(held)),
        finds: AtomicUsize::new(0),
    });
    let cached = Arc::new(CachedKeys::new(slow.clone()));
    cached.add("key", [1; 32], at(0)).await.unwrap();
    let late = tokio::spawn({
        let cached = Arc::clone(&cached);
        async move { cached.find([1; 32]).await.unwrap() }
    });
    until("the lookup has been answered", async || slow.finds.load(Ordering::SeqCst) == 1).await;
    let revoked = cached.revoke("key", at(1)).await.unwrap();
    release.send(()).unwrap();
    assert_eq!(late.await.unwrap().unwrap().revoked_at, None);
    assert_eq!(cached.find([1; 32]).await.unwrap(), revoked);
    // Now it is cached: no further lookup.
    assert_eq!(cached.find([1; 32]).await.unwrap(), revoked);
    assert_eq!(slow.finds.load(Ordering::SeqCst), 2);
}
