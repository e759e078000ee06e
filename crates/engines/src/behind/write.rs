//! Acknowledging before storing.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Attempt, Done, Error, Result,
    links::{
        Candidate, Claim, Link, LinkId, LinkQuery, LinkStore, Outcome, Replaced, Replacement,
        Short, TakenClick,
    },
};

use super::{Held, HeldLinks, LinkQueue};

const MAYBE_QUEUED: &str =
    "what was acknowledged may be waiting to be stored, and cannot be seen here at the moment";

/// A store whose replacements are stored later; the version that one is answered with is a guess until
/// then. Where the queue or the holder cannot take one, it is
/// stored at once.
pub struct WriteBehind {
    /// Where everything ends up.
    pub store: Arc<dyn LinkStore>,
    /// Where it is seen until then.
    pub held: Arc<dyn HeldLinks>,
    /// Where it waits.
    pub queue: Arc<dyn LinkQueue>,
}

impl WriteBehind {
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
        candidates: Vec<Candidate>,
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
            Replacement::Stays(is) => return Ok(Done::now(is)),
            Replacement::Becomes(is) => is,
        };
        let (held, queued) = tokio::join!(self.held.hold(&is.link), self.queue.publish(&is.link));
        match queued.and(held) {
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
            Ok(Held::Link(link)) => Ok(Some(link)),
            Ok(Held::Nothing) => self.store.find(short).await,
            Ok(Held::Unknown) | Err(_) => {
                let found = self.store.find(short).await?;
                found.map(Some).ok_or_else(|| Error::unavailable(MAYBE_QUEUED))
            }
        }
    }

    async fn find_lately(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.held.find(short).await {
            Ok(Held::Link(link)) => Ok(Some(link)),
            _ => self.store.find_copy(short).await,
        }
    }

    async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.held.find(short).await {
            Ok(Held::Link(link)) => Ok(Some(link)),
            _ => self.store.find_stale(short).await,
        }
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
