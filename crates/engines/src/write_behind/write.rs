//! The store that acknowledges before it stores.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, join},
};
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Clock, Error, IdempotencyKey, Idempotent, Result,
    links::{
        Candidate, Claim, Link, LinkCopies, LinkId, LinkQuery, LinkStore, Refusal, Replaced,
        Replacement, Short, StoredLinkOutcome, TakenClick,
    },
};
use tokio::time::{sleep, timeout};

use super::{LinkQueue, PendingWrite, PendingWrites};

/// Tries of queueing a link, and the first pause between two, which doubles each time.
const TRIES: usize = 4;
const FIRST_BACKOFF: Duration = Duration::from_millis(50);

/// Deadline of all tries together.
const ENQUEUE_TIMEOUT: Duration = Duration::from_secs(4);

/// Age up to which a pending write is returned without reading the store. An older one may have been
/// stored and replaced while Redis was unreachable.
const PENDING_TRUSTED_FOR: SignedDuration = SignedDuration::from_millis(900);

/// Pause before it is checked again whether the queue is new.
const IS_NEW_RETRY_DELAY: Duration = Duration::from_millis(200);

const MAYBE_QUEUED: &str = "Redis cannot tell whether this link is waiting to be stored";

/// A store whose replacements are stored later; the version in the answer is a guess until then. If the
/// queue or the pending writes are unavailable, a replacement is stored at once.
#[derive(Clone)]
pub struct WriteBehind {
    /// The final store.
    pub store: Arc<dyn LinkStore>,
    /// The links that are queued and not stored yet.
    pub pending: Arc<dyn PendingWrites>,
    /// The queue that workers store from.
    pub queue: Arc<dyn LinkQueue>,
    /// The clock that gives the age of a link.
    pub clock: Arc<dyn Clock>,
}

/// Sort key of the links of one short: the greatest wins.
fn sort_key(link: &Link) -> (Timestamp, &str) {
    (link.changed_at, link.target.as_str())
}

impl WriteBehind {
    /// Keeps the queue connected, for as long as it is polled. If the queue is new, marks the pending writes
    /// complete.
    pub fn run_background(&self) -> BoxFuture<'_, ()> {
        join(self.queue.run_background(), self.complete_if_new()).map(drop).boxed()
    }

    /// Marks the pending writes complete, unless some were lost since the start or the queue may contain
    /// earlier ones.
    async fn complete_if_new(&self) {
        let loss = loop {
            match self.pending.loss().await {
                Ok(Some(loss)) => break loss,
                Ok(None) => return,
                Err(_) => sleep(IS_NEW_RETRY_DELAY).await,
            }
        };
        loop {
            match self.queue.is_new().await {
                Ok(true) if self.pending.mark_complete(&loss).await.is_ok() => return,
                Ok(false) => return,
                _ => sleep(IS_NEW_RETRY_DELAY).await,
            }
        }
    }

    /// Adds a link to the queue and the pending writes, possibly twice; returns a newer link if one was
    /// there.
    async fn enqueue(&self, link: &Link) -> Result<Option<Link>> {
        timeout(ENQUEUE_TIMEOUT, self.try_enqueue(link))
            .await
            .map_err(|_| Error::unavailable("RabbitMQ or Redis did not accept the link in time"))?
    }

    async fn try_enqueue(&self, link: &Link) -> Result<Option<Link>> {
        let (mut tries, mut pause) = (1, FIRST_BACKOFF);
        loop {
            let (held, queued) = tokio::join!(self.pending.add(link), self.queue.publish(link));
            match queued.and(held) {
                // A server that is busy for a moment is no reason to write to the store directly.
                Err(_) if tries < TRIES => {
                    tries += 1;
                    sleep(pause).await;
                    pause *= 2;
                }
                taken => return taken,
            }
        }
    }

    /// Returns the newer of the pending and the stored link; the pending one if the store does not answer.
    async fn newest(&self, short: &Short, held: Arc<Link>) -> Result<Arc<Link>> {
        if self.clock.now().duration_since(held.changed_at) < PENDING_TRUSTED_FOR {
            return Ok(held);
        }
        match self.store.find(short).await {
            Ok(Some(stored)) if sort_key(&stored) > sort_key(&held) => Ok(stored),
            Ok(_) | Err(Error::Unavailable { .. }) => Ok(held),
            Err(error) => Err(error),
        }
    }

    /// Stores a link now. A pending write of its short is older, or will be stored by a worker.
    async fn store(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Replaced>> {
        let done = self.store.replace(link, idempotency).await?;
        if let Err(error) = self.pending.remove_stored(&done.outcome.link).await {
            tracing::debug!(%error, "a stored link is still a pending write; it is removed later");
        }
        Ok(done)
    }
}

#[async_trait]
impl LinkStore for WriteBehind {
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
        self.store.claim(candidates, reserved, idempotency).await
    }

    async fn replace(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Replaced>> {
        if idempotency.is_some() {
            // The outcome is stored together with the write.
            return self.store(link, idempotency).await;
        }
        let was = self.find_recent(&link.short).await?.map(Arc::unwrap_or_clone);
        let is = match link.replacing(was) {
            // The newer link may be pending and not queued, even for ever: it need not be acknowledged.
            Replacement::Stays(is) | Replacement::Becomes(is) => is,
        };
        match self.enqueue(&is.link).await {
            Ok(None) => Ok(Idempotent::fresh(is)),
            Ok(Some(newer)) => Ok(Idempotent::fresh(Replaced { link: newer, already: is.already })),
            Err(error) => {
                tracing::debug!(%error, "a link cannot be queued; storing it now");
                metrics::counter!("lodge_links_behind_refused_total").increment(1);
                let stored = self.store(is.link, None).await?;
                Ok(stored.map(|stored| Replaced { already: is.already, ..stored }))
            }
        }
    }

    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.pending.find(short).await {
            Ok(PendingWrite::Pending(held)) => self.newest(short, held).await.map(Some),
            Ok(PendingWrite::Stored(_) | PendingWrite::Absent) => self.store.find(short).await,
            Ok(PendingWrite::Unknown) | Err(_) => {
                let found = self.store.find(short).await?;
                found.map(Some).ok_or_else(|| Error::unavailable(MAYBE_QUEUED))
            }
        }
    }

    fn copies(&self) -> Option<&dyn LinkCopies> {
        Some(self)
    }

    async fn change(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Option<Idempotent<Link>>> {
        self.store.change(link, idempotency).await
    }

    async fn take_click(&self, short: &Short, id: LinkId, at: Timestamp) -> Result<TakenClick> {
        self.store.take_click(short, id, at).await
    }

    async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        self.store.list(query).await
    }

    async fn page(&self, after: Option<Short>, limit: usize) -> Result<Vec<Arc<Link>>> {
        self.store.page(after, limit).await
    }
}

#[async_trait]
impl LinkCopies for WriteBehind {
    async fn find_recent(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.pending.find(short).await {
            Ok(PendingWrite::Pending(link) | PendingWrite::Stored(link)) => Ok(Some(link)),
            _ => match self.store.copies() {
                Some(copies) => copies.find_copy(short).await,
                None => Ok(None),
            },
        }
    }

    async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.pending.find(short).await {
            Ok(PendingWrite::Pending(link) | PendingWrite::Stored(link)) => Ok(Some(link)),
            _ => self.store.find_stale(short).await,
        }
    }
}
