//! The port to whoever keeps the links.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Owner,
    link::{Link, LinkId},
    short::Short,
};
use crate::{Attempt, Done, Error, Result};

/// A link that wants a short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The link, under the short that it wants most.
    pub link: Link,
    /// What it would take instead, in this order; empty where the caller chose the short.
    pub spares: Vec<Short>,
}

impl Candidate {
    /// Every short that the link would take, the one that it wants most first.
    pub fn shorts(&self) -> impl Iterator<Item = &Short> {
        std::iter::once(&self.link.short).chain(&self.spares)
    }
}

/// Why a link that is wished for cannot be, whatever the store holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The field, as the caller names it.
    pub field: Cow<'static, str>,
    /// What is wrong with it.
    pub reason: Cow<'static, str>,
}

/// What came of claiming a short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// It was free, and is now this link's.
    Created(Link),
    /// This link has it, live, over or deleted and still reserved.
    Exists(Link),
    /// Nothing was claimed.
    Refused(Refusal),
}

/// What came of asking for one of a limited link's clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenClick {
    /// One was left, and is committed as used.
    Yes,
    /// None was left, or the link was changed or ended meanwhile.
    No,
}

/// What came of a `PUT` in replace mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// What is there now: this link, or a newer one that stays.
    pub link: Link,
    /// Whether the short led there before, live and unprotected.
    pub already: bool,
}

/// What a write came to, as it is kept for repetitions of its attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Of [`LinkStore::claim`].
    Claims(Vec<Claim>),
    /// Of [`LinkStore::replace`].
    Replaced(Replaced),
    /// Of [`LinkStore::change`].
    Changed(Link),
}

impl Outcome {
    /// What came of claims.
    ///
    /// # Errors
    ///
    /// [`Error::KeyReused`] if it is of another kind of write; so with the other two.
    pub fn claims(self) -> Result<Vec<Claim>> {
        if let Self::Claims(claims) = self { Ok(claims) } else { Err(Error::KeyReused) }
    }

    /// What came of a `PUT`.
    pub fn replaced(self) -> Result<Replaced> {
        if let Self::Replaced(replaced) = self { Ok(replaced) } else { Err(Error::KeyReused) }
    }

    /// What came of a change.
    pub fn changed(self) -> Result<Link> {
        if let Self::Changed(link) = self { Ok(link) } else { Err(Error::KeyReused) }
    }
}

/// Which of an owner's links, newest first.
#[derive(Debug, Clone)]
pub struct LinkQuery {
    /// Whose.
    pub owner: Owner,
    /// Only those older than this one (keyset paging).
    pub after: Option<LinkId>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Only those whose short starts so.
    pub prefix: Option<String>,
    /// Only those whose short or target holds these words, where the store can search.
    pub search: Option<String>,
    /// At most so many, 1 to 1,000.
    pub limit: usize,
}

impl LinkQuery {
    /// Whether a link of this owner belongs in the list, as far as its tags and short say.
    pub fn takes(&self, link: &Link) -> bool {
        let tagged = |tag: &String| link.tags.as_slice().contains(tag);
        self.tag.as_ref().is_none_or(tagged)
            && self.prefix.as_ref().is_none_or(|prefix| link.short.as_str().starts_with(prefix))
    }
}

/// Tells what other processes have changed, so that what this one remembers can be forgotten.
#[async_trait]
pub trait ChangeFeed: Send + Sync {
    /// The shorts whose links other processes have changed since the last call that went well, as far
    /// as they were acknowledged when this call began; some may come twice.
    async fn changed(&self) -> Result<Vec<Short>>;

    /// The shorts whose links any process has changed, as far as it told the feed after `since`, which
    /// is at most [`FEED_KEPT`] ago; some may come twice, and some that are older.
    async fn changed_since(&self, since: Timestamp) -> Result<Vec<Short>>;

    /// Returns when something may have changed, so that it is worth asking at once.
    async fn nudged(&self) {
        std::future::pending::<()>().await;
    }

    /// Does what the feed needs done beside, for as long as it is polled.
    async fn keep(&self) {}
}

/// How long a change can be read in the feed.
pub const FEED_KEPT: SignedDuration = SignedDuration::from_secs(600);

/// Keeps links. Whatever a method answers with `Ok` survives the loss of the process. Where an
/// [`Attempt`] comes with a write, its outcome is kept with the write, atomically, for
/// [`crate::once::KEPT_SECONDS`], as an [`Outcome`]; the same attempt again answers with it, and
/// another fingerprint is [`crate::Error::KeyReused`]. A refused change, which wrote nothing, is not kept.
#[async_trait]
pub trait LinkStore: Send + Sync {
    /// What an earlier write with this attempt came to. A service asks before it applies its rules: a
    /// repetition is answered as it was, even if the rules or the link have changed since.
    async fn recall(&self, attempt: &Attempt) -> Result<Option<Outcome>>;

    /// Claims each candidate's short, or the first free one of its spares; a short is free unless a
    /// link that is not forgotten (see [`Link::is_forgotten`], at the claiming link's `created_at`)
    /// has it. A forgotten link goes, with its clicks. Each outcome stands at its candidate's place, and
    /// a refusal at its own, so that a repetition is told it, too.
    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        attempt: Option<Attempt>,
    ) -> Result<Done<Vec<Claim>>>;

    /// Puts `link` where its short leads, whoever was there, unless what is there has a newer
    /// `changed_at`, or the same and a target that sorts after; then what is there stays, and comes
    /// back. The row keeps its id and `created_at`; its version rises.
    async fn replace(&self, link: Link, attempt: Option<Attempt>) -> Result<Done<Replaced>>;

    /// The link of that short, over or deleted too, while it is kept.
    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>>;

    /// What can be answered without asking all of the store, where that is so.
    fn copies(&self) -> Option<&dyn LinkCopies> {
        None
    }

    /// Stores `link` (all but the clicks used, which stay as they are while `max` stays as it is) in
    /// place of its own former version, `link.version - 1`; `None` if the link is not at that version
    /// or not there. Deletion is a change too.
    async fn change(&self, link: Link, attempt: Option<Attempt>) -> Result<Option<Done<Link>>>;

    /// Commits one click of a limited link, if at `at` one is left and the link is neither deleted nor
    /// expired.
    async fn take_click(&self, short: &Short, id: LinkId, at: Timestamp) -> Result<TakenClick>;

    /// An owner's links, newest first; deleted ones left out.
    async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>>;

    /// Every link that is not deleted, in an order of the store's own that stays the same, those after
    /// `after`, at most `limit`; for export.
    async fn page(&self, after: Option<Short>, limit: usize) -> Result<Vec<Arc<Link>>>;
}

/// A store that has copies of its links: in this process's memory, in another service, or on any one of its nodes.
#[async_trait]
pub trait LinkCopies: LinkStore {
    /// The same as [`LinkStore::find`], if this process's memory has a copy that is known to be current.
    fn find_cached(&self, _short: &str) -> Option<Arc<Link>> {
        None
    }

    /// A copy that is known to be current; the store itself is not asked.
    async fn find_copy(&self, _short: &Short) -> Result<Option<Arc<Link>>> {
        Ok(None)
    }

    /// The link as it was read or written lately, if that is quicker to know than the truth; else the truth. `None`
    /// says nothing.
    async fn find_lately(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        self.find(short).await
    }

    /// A copy, out of date perhaps: for when [`LinkStore::find`] cannot answer. `None` says nothing.
    async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>>;
}

impl dyn LinkStore + '_ {
    /// [`LinkCopies::find_cached`], where there are copies.
    pub fn find_cached(&self, short: &str) -> Option<Arc<Link>> {
        self.copies()?.find_cached(short)
    }

    /// [`LinkCopies::find_lately`]; the truth, where there are no copies.
    pub async fn find_lately(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.copies() {
            Some(copies) => copies.find_lately(short).await,
            None => self.find(short).await,
        }
    }

    /// [`LinkCopies::find_stale`], where there are copies.
    pub async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.copies() {
            Some(copies) => copies.find_stale(short).await,
            None => Ok(None),
        }
    }
}
