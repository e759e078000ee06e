//! Acknowledging before storing.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Attempt, Clock, Done, Error, Result,
    links::{
        Candidate, Claim, Link, LinkCopies, LinkId, LinkQuery, LinkStore, Outcome, Refusal,
        Replaced, Replacement, Short, TakenClick,
    },
};
use tokio::time::{sleep, timeout};

use super::{Held, HeldLinks, LinkQueue};

/// How often it is tried to store a link later, and how long between two tries at first; twice as long
/// each time.
const TRIES: usize = 4;
const PAUSE: Duration = Duration::from_millis(50);

/// How long all of them may take together.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long ago a link may have been put that is believed without a look at the store. One that is held
/// for longer may have been stored, and another over it, while the holder could not be told.
const SOON: SignedDuration = SignedDuration::from_millis(900);

/// How soon it is tried again whether a queue is new.
const AGAIN: Duration = Duration::from_millis(200);

const MAYBE_QUEUED: &str =
    "what was acknowledged may be waiting to be stored, and cannot be seen here at the moment";

/// A store whose replacements are stored later; the version that one is answered with is a guess until
/// then. Where the queue or the holder cannot take one, it is stored at once.
#[derive(Clone)]
pub struct WriteBehind {
    /// Where everything ends up.
    pub store: Arc<dyn LinkStore>,
    /// Where it is seen until then.
    pub held: Arc<dyn HeldLinks>,
    /// Where it waits.
    pub queue: Arc<dyn LinkQueue>,
    /// What says how long ago a link was put.
    pub clock: Arc<dyn Clock>,
}

/// Of two links of a short, the one that counts is greater.
fn order(link: &Link) -> (Timestamp, &str) {
    (link.changed_at, link.target.as_str())
}

impl WriteBehind {
    /// Keeps the queue's connection, for as long as it is polled. If the queue was made by this process,
    /// nothing can be missing from what is held.
    pub async fn keep(&self) {
        let vouch_if_new = async {
            loop {
                match self.queue.is_new().await {
                    Ok(true) if self.vouch().await.is_ok() => return,
                    Ok(false) => return,
                    _ => sleep(AGAIN).await,
                }
            }
        };
        tokio::join!(self.queue.keep(), vouch_if_new);
    }

    async fn vouch(&self) -> Result<()> {
        self.held.lost_since().await?;
        self.held.vouch().await
    }

    /// Has the queue and the holder take a link, which they may do twice; a newer one comes back that was
    /// there.
    async fn take(&self, link: &Link) -> Result<Option<Link>> {
        timeout(PATIENCE, self.try_to_take(link))
            .await
            .map_err(|_| Error::unavailable("the queue and Redis do not take it in time"))?
    }

    async fn try_to_take(&self, link: &Link) -> Result<Option<Link>> {
        let (mut tries, mut pause) = (1, PAUSE);
        loop {
            let (held, queued) = tokio::join!(self.held.hold(link), self.queue.publish(link));
            match queued.and(held) {
                // A server that is busy for a moment is no reason to have the store do it at once.
                Err(_) if tries < TRIES => {
                    tries += 1;
                    sleep(pause).await;
                    pause *= 2;
                }
                taken => return taken,
            }
        }
    }

    /// What is held, or what is stored if that is newer; what is held, if the store does not answer.
    async fn newest(&self, short: &Short, held: Arc<Link>) -> Result<Arc<Link>> {
        if self.clock.now().duration_since(held.changed_at) < SOON {
            return Ok(held);
        }
        match self.store.find(short).await {
            Ok(Some(stored)) if order(&stored) > order(&held) => Ok(stored),
            Ok(_) | Err(Error::Unavailable { .. }) => Ok(held),
            Err(error) => Err(error),
        }
    }

    /// Stores a link now. What is held of its short is older, or is stored in its turn.
    async fn store(&self, link: Link, attempt: Option<Attempt>) -> Result<Done<Replaced>> {
        let done = self.store.replace(link, attempt).await?;
        if let Err(error) = self.held.release(&done.outcome.link).await {
            tracing::debug!(%error, "what is held is let go of later");
        }
        Ok(done)
    }
}

#[async_trait]
impl LinkStore for WriteBehind {
    async fn recall(&self, attempt: &Attempt) -> Result<Option<Outcome>> {
        self.store.recall(attempt).await
    }

    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        attempt: Option<Attempt>,
    ) -> Result<Done<Vec<Claim>>> {
        self.store.claim(candidates, reserved, attempt).await
    }

    async fn replace(&self, link: Link, attempt: Option<Attempt>) -> Result<Done<Replaced>> {
        if attempt.is_some() {
            // The outcome is kept with the write.
            return self.store(link, attempt).await;
        }
        let was = self.find_lately(&link.short).await?.map(Arc::unwrap_or_clone);
        let is = match link.replacing(was) {
            // The newer one may be held and not be queued yet, or never: nobody has to have acknowledged it.
            Replacement::Stays(is) | Replacement::Becomes(is) => is,
        };
        match self.take(&is.link).await {
            Ok(None) => Ok(Done::now(is)),
            Ok(Some(newer)) => Ok(Done::now(Replaced { link: newer, already: is.already })),
            Err(error) => {
                tracing::debug!(%error, "a link cannot be stored later; it is stored now");
                metrics::counter!("lodge_links_behind_refused_total").increment(1);
                let stored = self.store(is.link, None).await?;
                Ok(stored.map(|stored| Replaced { already: is.already, ..stored }))
            }
        }
    }

    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.held.find(short).await {
            Ok(Held::Link(held)) => self.newest(short, held).await.map(Some),
            Ok(Held::Stored(_) | Held::Nothing) => self.store.find(short).await,
            Ok(Held::Unknown) | Err(_) => {
                let found = self.store.find(short).await?;
                found.map(Some).ok_or_else(|| Error::unavailable(MAYBE_QUEUED))
            }
        }
    }

    fn copies(&self) -> Option<&dyn LinkCopies> {
        Some(self)
    }

    async fn change(&self, link: Link, attempt: Option<Attempt>) -> Result<Option<Done<Link>>> {
        self.store.change(link, attempt).await
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
    async fn find_lately(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.held.find(short).await {
            Ok(Held::Link(link) | Held::Stored(link)) => Ok(Some(link)),
            _ => match self.store.copies() {
                Some(copies) => copies.find_copy(short).await,
                None => Ok(None),
            },
        }
    }

    async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.held.find(short).await {
            Ok(Held::Link(link) | Held::Stored(link)) => Ok(Some(link)),
            _ => self.store.find_stale(short).await,
        }
    }
}
