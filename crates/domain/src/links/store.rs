//! The ports of the link store.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Owner,
    link::{Link, LinkId},
    short::Short,
};
use crate::{Error, IdempotencyKey, Idempotent, Result};

/// A link that claims a short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The link, with its preferred short.
    pub link: Link,
    /// Alternative shorts, in order of preference; empty if the client chose the short.
    pub spares: Vec<Short>,
}

impl Candidate {
    /// Returns all acceptable shorts, the preferred one first.
    pub fn shorts(&self) -> impl Iterator<Item = &Short> {
        std::iter::once(&self.link.short).chain(&self.spares)
    }
}

/// Why a link is invalid, independent of the store's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The name of the field in the request.
    pub field: Cow<'static, str>,
    /// What is wrong with the value.
    pub reason: Cow<'static, str>,
}

/// The outcome of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The short was free and now belongs to this link.
    Created(Link),
    /// The short belongs to this link, which is live, over, or deleted and still reserved.
    Exists(Link),
    /// The link is invalid; nothing was claimed.
    Refused(Refusal),
}

/// The outcome of taking one click of a limited link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenClick {
    /// A click was left, and is committed as used.
    Yes,
    /// No click was left, or the link was changed or ended meanwhile.
    No,
}

/// The outcome of a `PUT` in replace mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// The current link: the one put, or a newer one that stays.
    pub link: Link,
    /// Whether the short already led to the target, live and unprotected.
    pub already: bool,
}

/// The stored outcome of a write, for repeated requests with the same idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredLinkOutcome {
    /// The outcome of [`LinkStore::claim`].
    Claims(Vec<Claim>),
    /// The outcome of [`LinkStore::replace`].
    Replaced(Replaced),
    /// The outcome of [`LinkStore::change`].
    Changed(Link),
}

impl StoredLinkOutcome {
    /// Returns the outcome of claims.
    ///
    /// # Errors
    ///
    /// [`Error::KeyReused`] for another kind of write; likewise in the next two methods.
    pub fn claims(self) -> Result<Vec<Claim>> {
        if let Self::Claims(claims) = self { Ok(claims) } else { Err(Error::KeyReused) }
    }

    /// Returns the outcome of a `PUT`.
    pub fn replaced(self) -> Result<Replaced> {
        if let Self::Replaced(replaced) = self { Ok(replaced) } else { Err(Error::KeyReused) }
    }

    /// Returns the outcome of a change.
    pub fn changed(self) -> Result<Link> {
        if let Self::Changed(link) = self { Ok(link) } else { Err(Error::KeyReused) }
    }
}

/// A page of an owner's links, newest first.
#[derive(Debug, Clone)]
pub struct LinkQuery {
    /// The owner.
    pub owner: Owner,
    /// Only links older than this one (keyset paging).
    pub after: Option<LinkId>,
    /// Only links with this tag.
    pub tag: Option<String>,
    /// Only links whose short has this prefix.
    pub prefix: Option<String>,
    /// Only links whose short, target or tags contain these words, if the store supports search.
    pub search: Option<String>,
    /// The maximum number of links, 1 to 1,000.
    pub limit: usize,
}

impl LinkQuery {
    /// Whether many links may have to be read for each one that is found.
    pub fn is_search(&self) -> bool {
        self.search.is_some() || self.prefix.is_some()
    }

    /// Whether a link of this owner matches the tag and the prefix of the query.
    pub fn takes(&self, link: &Link) -> bool {
        let tagged = |tag: &String| link.tags.as_slice().contains(tag);
        self.tag.as_ref().is_none_or(tagged)
            && self.prefix.as_ref().is_none_or(|prefix| link.short.as_str().starts_with(prefix))
    }
}

/// The change feed of links: reports changes by other processes, so that this process can invalidate its caches.
#[async_trait]
pub trait ChangeFeed: Send + Sync {
    /// Returns the shorts whose links other processes have changed since the last successful call, as far as the
    /// changes were acknowledged when this call began; possibly with repetitions.
    async fn changed(&self) -> Result<Vec<Short>>;

    /// Returns the shorts whose links any process has changed since `since`, at most [`FEED_KEPT`] ago; possibly
    /// with repetitions and with older changes.
    async fn changed_since(&self, since: Timestamp) -> Result<Vec<Short>>;

    /// Returns when changes may be available, so that a poll is worthwhile at once.
    async fn wakeup(&self) {
        std::future::pending::<()>().await;
    }

    /// Runs the feed's background work, for as long as the feed is polled.
    async fn run_background(&self) {}
}

/// How long a change stays readable in the feed.
pub const FEED_KEPT: SignedDuration = SignedDuration::from_secs(600);

/// The store of links. A change that is answered with `Ok` survives the loss of the process. If an [`IdempotencyKey`] is
/// passed with a write, the write's [`StoredLinkOutcome`] is stored atomically with it for [`crate::idempotency::OUTCOME_KEPT_SECONDS`]; the
/// same key again returns it, and another fingerprint is [`crate::Error::KeyReused`]. A refused change, which wrote
/// nothing, is not stored.
#[async_trait]
pub trait LinkStore: Send + Sync {
    /// Returns the stored outcome of an earlier write with this idempotency key. A service calls it before it
    /// applies its rules: a repeated request gets the original answer even if rules or link have changed since.
    async fn stored_outcome(
        &self,
        idempotency: &IdempotencyKey,
    ) -> Result<Option<StoredLinkOutcome>>;

    /// Claims each candidate's short, or the first free one of its spares. A short is free unless a link has it
    /// whose reservation is not over (see [`Link::is_reservation_over`], at the claiming link's `created_at`); otherwise
    /// that link is deleted with its clicks. The outcomes, including the refusals that were passed in, are in the order of the
    /// candidates, so that a repeated request gets all of them.
    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Vec<Claim>>>;

    /// Replaces the link of `link.short`, unless the existing one has a newer `changed_at`, or the same and a
    /// target that sorts after; then the existing link stays and is returned. The row keeps its id and
    /// `created_at`; its version rises.
    async fn replace(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Replaced>>;

    /// Returns the link of a short, also if it is over or deleted, while it is stored.
    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>>;

    /// Returns the interface to copies of the links, if the store has copies.
    fn copies(&self) -> Option<&dyn LinkCopies> {
        None
    }

    /// Stores `link` in place of its previous version, `link.version - 1`; `None` if the link is not at that
    /// version or does not exist. The used clicks are kept while `max` is unchanged. A deletion is a change too.
    async fn change(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Option<Idempotent<Link>>>;

    /// Commits one click of a limited link, if at `at` one is left and the link is neither deleted nor expired.
    async fn take_click(&self, short: &Short, id: LinkId, at: Timestamp) -> Result<TakenClick>;

    /// Returns an owner's links, newest first, without deleted ones.
    async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>>;

    /// Returns links that are not deleted, in a stable order of the store's choice, after `after`, at most `limit`;
    /// for export.
    async fn page(&self, after: Option<Short>, limit: usize) -> Result<Vec<Arc<Link>>>;
}

/// A store with copies of its links: in this process's memory, in another service, or on any one of its nodes.
#[async_trait]
pub trait LinkCopies: LinkStore {
    /// Returns what [`LinkStore::find`] would, if this process's memory has a copy that is known to be current.
    fn find_cached(&self, _short: &str) -> Option<Arc<Link>> {
        None
    }

    /// Returns a copy that is known to be current, without a query to the store.
    async fn find_copy(&self, _short: &Short) -> Result<Option<Arc<Link>>> {
        Ok(None)
    }

    /// Returns a recently read or written copy if that is faster, else queries the store. `None` is no proof of
    /// absence.
    async fn find_recent(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        self.find(short).await
    }

    /// Returns a possibly stale copy, for when [`LinkStore::find`] fails. `None` is no proof of absence.
    async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>>;
}

impl dyn LinkStore + '_ {
    /// Calls [`LinkCopies::find_cached`], if the store has copies.
    pub fn find_cached(&self, short: &str) -> Option<Arc<Link>> {
        self.copies()?.find_cached(short)
    }

    /// Calls [`LinkCopies::find_recent`], or [`LinkStore::find`] if the store has no copies.
    pub async fn find_lately(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.copies() {
            Some(copies) => copies.find_recent(short).await,
            None => self.find(short).await,
        }
    }

    /// Calls [`LinkCopies::find_stale`], if the store has copies.
    pub async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.copies() {
            Some(copies) => copies.find_stale(short).await,
            None => Ok(None),
        }
    }
}
