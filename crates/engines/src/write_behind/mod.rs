//! Write-behind, for replace mode: a `PUT` is acknowledged when the queue has it durably and every process
//! can read it from the pending writes, and is stored a little later.
//!
//! Pending writes take precedence over the store. If they are unreachable, or some may be lost while the
//! queue still has them, a short that the store does not have is [`lodge_domain::Error::Unavailable`],
//! never absent.

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

pub use self::{drain::DrainWorker, write::WriteBehind};

/// The pending write of one short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingWrite {
    /// The newest acknowledged link, which is not known to be stored.
    Pending(Arc<Link>),
    /// No pending write; this link was stored in the last minute.
    Stored(Arc<Link>),
    /// No pending write.
    Absent,
    /// No pending write, but some may have been lost.
    Unknown,
}

/// The pending writes: links that are acknowledged and not stored yet, readable by every process.
#[async_trait]
pub trait PendingWrites: Send + Sync {
    /// Adds a pending write, unless a newer link of its short is pending or was stored recently; returns
    /// that link then. After `Ok` it survives the loss of any one server.
    async fn add(&self, link: &Link) -> Result<Option<Link>>;

    /// Looks up the pending write of a short.
    async fn find(&self, short: &Short) -> Result<PendingWrite>;

    /// Removes the pending write of the link's short, now that this link is stored, unless it is newer.
    async fn remove_stored(&self, link: &Link) -> Result<()>;

    /// Returns links that are pending since before `since`: if there are any, at least some of them.
    async fn overdue(&self, since: Timestamp) -> Result<Vec<Link>>;

    /// Returns what may be lost; `None` while the set is known to be complete.
    async fn loss(&self) -> Result<Option<Loss>>;

    /// Marks the set complete, unless more was lost after this loss.
    async fn mark_complete(&self, loss: &Loss) -> Result<()>;

    /// Records a worker's heartbeat and its links in flight; returns the links in flight of all live
    /// workers together.
    async fn heartbeat(&self, worker: Uuid, in_flight: InFlight) -> Result<InFlight>;
}

/// A loss of pending writes, of which there may be none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// When it was last noticed on any server.
    pub since: Timestamp,
    /// For each server: what identifies its loss; `None` if it has lost nothing.
    pub servers: Vec<Option<ServerLoss>>,
}

/// A loss of pending writes on one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLoss {
    /// The id of the server's run; a restart begins another.
    pub run_id: String,
    /// When the loss was noticed.
    pub since: Timestamp,
}

/// The links that workers have received and not stored yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InFlight {
    /// The number of links.
    pub count: u64,
    /// When the oldest was put; `None` if there are no links.
    pub oldest: Option<Timestamp>,
}

impl InFlight {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let oldest = self.oldest.into_iter().chain(other.oldest).min();
        Self { count: self.count + other.count, oldest }
    }
}

/// A durable first-in, first-out queue of links to store.
#[async_trait]
pub trait LinkQueue: Send + Sync {
    /// Whether this process has found that the queue did not exist, so that it contains no link from before.
    async fn is_new(&self) -> Result<bool>;

    /// Adds a link. After `Ok` it survives the loss of any one server.
    async fn publish(&self, link: &Link) -> Result<()>;

    /// Waits for the next links. They are redelivered to a worker unless [`Self::acknowledge`] is called.
    async fn receive(&self) -> Result<Batch>;

    /// Acknowledges a whole batch, which removes it from the queue.
    async fn acknowledge(&self, batch: Batch) -> Result<()>;

    /// Dead-letters a link that the store will never accept, for an operator to inspect.
    async fn dead_letter(&self, receipt: Receipt) -> Result<()>;

    /// The number of links that wait to be received.
    async fn waiting(&self) -> Result<u64>;

    /// Keeps the queue connected, for as long as it is polled.
    async fn run_background(&self);
}

/// Links that were received together, in queue order; at least one.
#[derive(Debug, Clone)]
pub struct Batch(pub Vec<Received>);

/// A received link.
#[derive(Debug, Clone)]
pub struct Received {
    /// The link.
    pub link: Link,
    /// Identifies the delivery to the queue.
    pub receipt: Receipt,
}

/// The connection that received a link, and the delivery's number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The connection's id.
    pub connection: Uuid,
    /// The delivery number, which rises.
    pub number: u64,
}
