//! Write-behind, for replace mode: a `PUT` is acknowledged when a queue has it for good and every process
//! can see it, and is stored a little later.
//!
//! What is held is seen before what is stored. Where it cannot be seen, or some of it may have been lost
//! while the queue still has it, nobody can say that a short leads nowhere: that is
//! [`lodge_domain::Error::Unavailable`] then, never an absence.

mod drain;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    links::{Link, Short},
};
use uuid::Uuid;

pub use self::{drain::Drain, write::WriteBehind};

/// What is held of one short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// The newest link that was acknowledged and is not known to be stored.
    Link(Arc<Link>),
    /// None; this one was stored in the last minute.
    Stored(Arc<Link>),
    /// None.
    Nothing,
    /// None, but something may have been lost.
    Unknown,
}

/// Holds what was acknowledged and is not stored yet, where every process can see it.
#[async_trait]
pub trait HeldLinks: Send + Sync {
    /// Holds a link, unless a newer one of its short is held or was stored lately, which comes back. With
    /// `Ok` it survives the loss of any one server.
    async fn hold(&self, link: &Link) -> Result<Option<Link>>;

    /// What is held of a short.
    async fn find(&self, short: &Short) -> Result<Held>;

    /// Lets go of what is held of the link's short, now that this link is stored, unless that is newer.
    async fn release(&self, link: &Link) -> Result<()>;

    /// Links that were held before `since` and still are; some of them at least, if there are any.
    async fn overdue(&self, since: Timestamp) -> Result<Vec<Link>>;

    /// Since when something may be missing that was held until then; `None` while nothing can be.
    async fn lost_since(&self) -> Result<Option<Timestamp>>;

    /// Vouches that nothing is missing, unless more was lost since [`Self::lost_since`] was asked.
    async fn vouch(&self) -> Result<()>;

    /// Says what this worker has received and not stored yet; what all workers together have that are
    /// known to be alive.
    async fn attend(&self, worker: Uuid, in_hand: InHand) -> Result<InHand>;
}

/// What workers have received and not stored yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InHand {
    /// How many links.
    pub count: u64,
    /// When the oldest of them was put, if there are any.
    pub oldest: Option<Timestamp>,
}

impl InHand {
    /// This and that.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let oldest = self.oldest.into_iter().chain(other.oldest).min();
        Self { count: self.count + other.count, oldest }
    }
}

/// Keeps links in the order in which they came until they are stored.
#[async_trait]
pub trait LinkQueue: Send + Sync {
    /// Whether it was made just now, so that nothing can be waiting in it.
    async fn is_new(&self) -> Result<bool>;

    /// Adds a link. With `Ok` it survives the loss of any one server.
    async fn publish(&self, link: &Link) -> Result<()>;

    /// The next links, as soon as there is one; they come again to somebody unless they are stored.
    async fn receive(&self) -> Result<Batch>;

    /// Takes a batch off the queue, all of it.
    async fn stored(&self, batch: Batch) -> Result<()>;

    /// Puts a link that no store will ever take with the dead, for a person to look at.
    async fn bury(&self, receipt: Receipt) -> Result<()>;

    /// How many links wait to be received.
    async fn waiting(&self) -> Result<u64>;

    /// Keeps the connection, for as long as it is polled.
    async fn keep(&self);
}

/// Links that were received together, in their order; at least one.
#[derive(Debug, Clone)]
pub struct Batch(pub Vec<Received>);

/// A link that was received.
#[derive(Debug, Clone)]
pub struct Received {
    /// The link.
    pub link: Link,
    /// By which the queue knows it.
    pub receipt: Receipt,
}

/// Which connection received a link, and the link's number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The connection.
    pub connection: Uuid,
    /// The number; it rises.
    pub number: u64,
}
