//! A coherent cache of links. Every write of this process passes through the cache, and a result that was read before
//! the end of a write is not cached after it. Changes of other processes are invalidated by the change feed. While the
//! feed cannot be read, reads go to the store; only if the store is unavailable, too, stale entries are served.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Error, IdempotencyKey, Idempotent, Result, RunToCompletion, Tasks,
    links::{
        Candidate, ChangeFeed, Claim, Link, LinkCopies, LinkId, LinkQuery, LinkStore, Refusal,
        Replaced, Short, StoredLinkOutcome, TakenClick,
    },
};
use quick_cache::{Weighter, sync::Cache};
use tokio::sync::Semaphore;

use super::{
    epochs::Epochs, feed_trust::FeedTrust, finish::CurrentRuntime, single_flight::SingleFlight,
};

/// Concurrent lookups, and concurrent writes, of the store; one more is refused.
const LOOKUPS_MAX: usize = 1_024;
const WRITES_MAX: usize = 4_096;

/// Memory of an entry without its texts, in bytes: the link, and a generous overhead of the cache and the allocator.
const ENTRY_BYTES: usize = size_of::<Link>() + 250;

/// A store of links with a bounded cache in front. Links with a click limit are not cached, and there is no negative
/// caching.
pub struct CachedLinks {
    store: Arc<dyn LinkStore>,
    cache: Arc<Entries>,
    flights: SingleFlight<Short, Option<Arc<Link>>>,
    writes: Arc<Semaphore>,
    tasks: Arc<dyn Tasks>,
    feed: Option<Arc<dyn ChangeFeed>>,
}

struct Entries {
    links: Cache<Short, Entry, Weight>,
    epochs: Epochs,
    /// `Some` if other processes write to the store.
    feed_trust: Option<FeedTrust>,
}

#[derive(Clone)]
struct Entry {
    link: Arc<Link>,
    /// The expiry by the clock of [`FeedTrust`].
    until_ms: u64,
}

/// Computes the bytes of an entry.
#[derive(Clone)]
struct Weight;

/// A short and its epoch before the start of a read or a write.
type Noted = (Short, u64);

impl CachedLinks {
    /// Creates a cache of about `capacity_bytes` for a store to which no other process writes.
    pub fn new(store: Arc<dyn LinkStore>, capacity_bytes: u64) -> Self {
        Self::with(store, capacity_bytes, None)
    }

    /// The longest time for which a link is cached if other processes write. If a process dies between a change and its
    /// entry in the feed, the caches of the others are stale for this time; that change was not acknowledged.
    pub const KEPT: Duration = Duration::from_mins(1);

    /// Creates a cache for a store to which other processes write; `feed` reports their changes. No entry is cached for
    /// longer than `kept`. Until [`Self::follow`] runs, and while the feed cannot be read, reads go to the store.
    pub fn with_feed(
        store: Arc<dyn LinkStore>,
        capacity_bytes: u64,
        feed: Arc<dyn ChangeFeed>,
        kept: Duration,
    ) -> Self {
        let hearing = FeedTrust::new(kept);
        Self::with(store, capacity_bytes, Some((feed, hearing)))
    }

    fn with(
        store: Arc<dyn LinkStore>,
        capacity_bytes: u64,
        others: Option<(Arc<dyn ChangeFeed>, FeedTrust)>,
    ) -> Self {
        let items = usize::try_from(capacity_bytes).unwrap_or(usize::MAX) / ENTRY_BYTES;
        let links = Cache::with_weighter(items, capacity_bytes, Weight);
        let (feed, hearing) = others.unzip();
        let cache = Arc::new(Entries { links, epochs: Epochs::new(), feed_trust: hearing });
        let (flights, writes) =
            (SingleFlight::new(LOOKUPS_MAX), Arc::new(Semaphore::new(WRITES_MAX)));
        Self { store, cache, flights, writes, tasks: Arc::new(CurrentRuntime), feed }
    }

    /// Invalidates what other processes change; never returns, or at once if no other process writes.
    pub async fn follow(&self) {
        if let (Some(feed), Some(hearing)) = (&self.feed, &self.cache.feed_trust) {
            let follow = hearing.follow(&**feed, |short| self.cache.forget(short));
            tokio::join!(feed.run_background(), follow);
        }
    }

    /// Runs a write of `shorts` to completion, even if the caller is dropped, then updates the cache with the links
    /// that `written` extracts from the outcome; `None` from `written` invalidates them.
    fn write<T, F>(
        &self,
        shorts: Vec<Short>,
        write: impl FnOnce(Arc<dyn LinkStore>) -> F + Send + 'static,
        written: impl Fn(&T) -> Option<Vec<&Link>> + Send + 'static,
    ) -> RunToCompletion<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        let mut noted: Vec<Noted> =
            shorts.into_iter().map(|short| self.cache.note(short)).collect();
        noted.sort_unstable();
        let (store, cache) = (Arc::clone(&self.store), Arc::clone(&self.cache));
        // Held until the write completes, which may be after the caller is dropped.
        let seat = Arc::clone(&self.writes).try_acquire_owned();
        let to_its_end = async move {
            let _seat = seat.map_err(|_| Error::unavailable("too many writes in flight"))?;
            let outcome = write(store).await;
            match outcome.as_ref().ok().and_then(&written) {
                Some(links) => cache.settle(&noted, &links),
                // The state of the store is unknown.
                None => noted.iter().for_each(|noted| cache.forget(&noted.0)),
            }
            outcome
        };
        RunToCompletion::new(Arc::clone(&self.tasks), to_its_end)
    }
}

#[async_trait]
impl LinkStore for CachedLinks {
    async fn stored_outcome(
        &self,
        idempotency: &IdempotencyKey,
    ) -> Result<Option<StoredLinkOutcome>> {
        self.store.stored_outcome(idempotency).await
    }

    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Vec<Claim>>> {
        let shorts = candidates.iter().flatten().flat_map(Candidate::shorts).cloned().collect();
        let write = move |store: Arc<dyn LinkStore>| async move {
            store.claim(candidates, reserved, idempotency).await
        };
        self.write(shorts, write, |done| {
            of_this_attempt(done).map(|claims| claims.iter().filter_map(created).collect())
        })
        .await
    }

    async fn replace(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Replaced>> {
        let shorts = vec![link.short.clone()];
        let write =
            move |store: Arc<dyn LinkStore>| async move { store.replace(link, idempotency).await };
        self.write(shorts, write, |done| of_this_attempt(done).map(|replaced| vec![&replaced.link]))
            .await
    }

    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        if let Some(link) = self.cache.get(short.as_str()) {
            return Ok(Some(link));
        }
        let noted = self.cache.note(short.clone());
        let epoch = noted.1;
        let (store, cache) = (Arc::clone(&self.store), Arc::clone(&self.cache));
        let look_up = || async move {
            match store.find(&noted.0).await {
                Ok(found) => {
                    if let Some(link) = &found {
                        cache.fill(&noted, link);
                    }
                    Ok(found)
                }
                Err(error @ Error::Unavailable { .. }) => {
                    cache.recall(&*store, &noted.0).await?.map(Some).ok_or(error)
                }
                Err(error) => Err(error),
            }
        };
        self.flights.join(short, epoch, look_up).await
    }

    fn copies(&self) -> Option<&dyn LinkCopies> {
        Some(self)
    }

    async fn change(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Option<Idempotent<Link>>> {
        let shorts = vec![link.short.clone()];
        let write =
            move |store: Arc<dyn LinkStore>| async move { store.change(link, idempotency).await };
        // If it is refused, the caller had read an older version, perhaps from this cache.
        self.write(shorts, write, |done: &Option<_>| {
            done.as_ref().and_then(of_this_attempt).map(|link| vec![link])
        })
        .await
    }

    async fn take_click(&self, short: &Short, id: LinkId, at: Timestamp) -> Result<TakenClick> {
        let taken = self.store.take_click(short, id, at).await;
        // No reader may join an earlier lookup, which does not see this click.
        self.cache.epochs.advance(short);
        taken
    }

    async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        self.store.list(query).await
    }

    async fn page(&self, after: Option<Short>, limit: usize) -> Result<Vec<Arc<Link>>> {
        self.store.page(after, limit).await
    }
}

#[async_trait]
impl LinkCopies for CachedLinks {
    async fn find_recent(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.cache.get(short.as_str()) {
            Some(link) => Ok(Some(link)),
            None => self.store.find_lately(short).await,
        }
    }

    async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        self.cache.recall(&*self.store, short).await
    }

    fn find_cached(&self, short: &str) -> Option<Arc<Link>> {
        self.cache.get(short)
    }
}

fn created(claim: &Claim) -> Option<&Link> {
    match claim {
        Claim::Created(link) => Some(link),
        Claim::Exists(_) | Claim::Refused(_) => None,
    }
}

/// Returns the outcome of a first execution. A replayed outcome is ignored: the link may have changed since, or been
/// written only now.
fn of_this_attempt<T>(done: &Idempotent<T>) -> Option<&T> {
    (!done.replayed).then_some(&done.outcome)
}

impl Entries {
    /// Returns an entry that is known to be current.
    fn get(&self, short: &str) -> Option<Arc<Link>> {
        let entry = self.links.get(short)?;
        let is_current = |hearing: &FeedTrust| hearing.is_valid(entry.until_ms);
        self.feed_trust.as_ref().is_none_or(is_current).then_some(entry.link)
    }

    /// Returns a possibly stale copy from this cache or the store's own copies.
    async fn recall(&self, store: &dyn LinkStore, short: &Short) -> Result<Option<Arc<Link>>> {
        let stale = match self.stale(short) {
            Some(link) => Some(link),
            None => store.find_stale(short).await?,
        };
        if stale.is_some() {
            metrics::counter!("lodge_links_stale_total").increment(1);
        }
        Ok(stale)
    }

    /// Returns a possibly stale entry, for use while the store is unavailable.
    fn stale(&self, short: &Short) -> Option<Arc<Link>> {
        self.feed_trust.as_ref().and_then(|_| self.links.get(short)).map(|entry| entry.link)
    }

    fn note(&self, short: Short) -> Noted {
        let epoch = self.epochs.of(&short);
        (short, epoch)
    }

    /// Updates the cache after a successful write.
    fn settle(&self, noted: &[Noted], written: &[&Link]) {
        for link in written {
            let before = noted
                .binary_search_by(|(short, _)| short.cmp(&link.short))
                .ok()
                .map(|at| noted[at].1);
            let mut epoch = self.epochs.lock(&link.short);
            // If another write with this epoch has completed meanwhile, its outcome may be newer.
            let newest = before == Some(*epoch);
            *epoch += 1;
            if newest { self.put(Arc::new((*link).clone())) } else { self.remove(&link.short) }
        }
    }

    /// Caches the result of a lookup, unless a write has completed since its start.
    fn fill(&self, (short, noted): &Noted, link: &Arc<Link>) {
        let epoch = self.epochs.lock(short);
        let is_newer =
            |cached: Entry| cached.link.id == link.id && cached.link.version > link.version;
        if *epoch == *noted && !self.links.peek(short).is_some_and(is_newer) {
            self.put(Arc::clone(link));
        }
    }

    /// Invalidates a short.
    fn forget(&self, short: &Short) {
        *self.epochs.lock(short) += 1;
        self.remove(short);
    }

    /// Caches a link. The caller holds the lock of its epoch.
    fn put(&self, link: Arc<Link>) {
        if link.click_limit.is_some() || Weight.of(&link) > self.links.shard_capacity() {
            return self.remove(&link.short);
        }
        let spread = link.id.0.as_u64_pair().1;
        let until_ms = self.feed_trust.as_ref().map_or(0, |hearing| hearing.kept_until_ms(spread));
        self.links.insert(link.short.clone(), Entry { link, until_ms });
    }

    fn remove(&self, short: &Short) {
        self.links.remove(short);
    }
}

impl Weighter<Short, Entry> for Weight {
    fn weight(&self, _short: &Short, entry: &Entry) -> u64 {
        self.of(&entry.link)
    }
}

impl Weight {
    #[expect(clippy::unused_self, reason = "it is what weighs")]
    fn of(&self, link: &Link) -> u64 {
        let tags: usize =
            link.tags.as_slice().iter().map(|tag| tag.len() + size_of::<String>()).sum();
        let password = link.password.as_ref().map_or(0, |hash| hash.0.len());
        (ENTRY_BYTES + 2 * link.short.as_str().len() + link.target.as_str().len() + tags + password)
            as u64
    }
}
