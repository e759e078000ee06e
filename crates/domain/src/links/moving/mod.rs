//! Moves all data of the links app from one store to another: secret, API keys, links with their clicks, and stored
//! outcomes. An interrupted move resumes at its last checkpoint; a complete one is only compared.

mod carry;
mod compare;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use carry::{BELONGS_TO_ANOTHER, Move, Moved, Pace, Phase, Progress};
pub use compare::{DIFFERENCES_SHOWN, Differences};

use super::{
    link::{Link, LinkId},
    short::Short,
    store::StoredLinkOutcome,
    visit::Device,
};
use crate::{IdempotencyKey, Result, keys::ApiKey, secret::InstallationSecret};

/// The age up to which hourly counts are moved, the retention of every store.
const HOURS_KEPT: SignedDuration = SignedDuration::from_hours(31 * 24);

/// A link with its clicks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovingLink {
    /// The link, possibly over or deleted.
    pub link: Link,
    /// The clicks on the link.
    pub clicks: Clicks,
}

/// The clicks on a link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clicks {
    /// All clicks by UTC day, counted from 1970-01-01, and device.
    pub days: BTreeMap<(i64, Device), u64>,
    /// Some of these clicks by hour.
    pub hours: BTreeMap<(i64, Device), u64>,
    /// Some of these clicks by the referrer's host.
    pub referrers: BTreeMap<String, u64>,
}

impl Clicks {
    /// Returns all clicks, including those of known bots.
    pub fn total(&self) -> u64 {
        self.days.values().sum()
    }

    /// Drops the hours that a store no longer keeps at `now`.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        let since = now.saturating_sub(HOURS_KEPT).unwrap_or(Timestamp::MIN);
        let first = since.as_second().div_euclid(3_600) + 1;
        self.hours.retain(|(hour, _), _| *hour >= first);
        self
    }
}

/// An API key as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The key.
    pub key: ApiKey,
    /// The digest of its token.
    pub digest: [u8; 32],
}

/// A stored outcome with its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOutcome {
    /// The position in the source's order.
    pub place: i64,
    /// The idempotency key.
    pub attempt: IdempotencyKey,
    /// The outcome.
    pub outcome: StoredLinkOutcome,
}

/// The amount of data to move.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extent {
    /// Links, including those over or deleted.
    pub links: u64,
    /// API keys, including revoked ones.
    pub keys: u64,
    /// Clicks, including those of known bots.
    pub clicks: u64,
    /// Figures specific to the source; at least one of them differs once any data has changed.
    pub marks: Vec<i64>,
}

/// The checkpoint that the destination stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The amount of data at the begin of the move.
    pub extent: Extent,
    /// The progress.
    pub step: Step,
}

/// The progress of a move. Keys are written in every run, because they are few.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Links are being written.
    Links {
        /// The last link that was written.
        after: Option<Short>,
        /// The number of links that were written.
        put: u64,
    },
    /// All links are written; outcomes are being written.
    Outcomes {
        /// The position of the last outcome that was written.
        after: i64,
    },
    /// All data is written.
    Through,
}

/// The state of a destination before a move.
#[derive(Debug, Clone)]
pub struct DestinationState {
    /// The secret of the installation that the destination belongs to.
    pub secret: Option<InstallationSecret>,
    /// The checkpoint of an earlier move.
    pub record: Option<Checkpoint>,
    /// Whether the destination contains a link or an API key.
    pub is_used: bool,
}

/// The source of a move. No process changes it meanwhile.
#[async_trait]
pub trait Source: Send + Sync {
    /// Returns the installation secret.
    async fn secret(&self) -> Result<InstallationSecret>;
    /// Returns the amount of data.
    async fn extent(&self) -> Result<Extent>;
    /// Returns all API keys.
    async fn keys(&self) -> Result<Vec<StoredKey>>;
    /// Returns links in a stable order, after `after`: at most `limit`, fewer where they have many clicks, none
    /// after the last.
    async fn links(&self, after: Option<Short>, limit: usize) -> Result<Vec<MovingLink>>;
    /// Returns the links of `shorts`, in their order.
    async fn find(&self, shorts: Vec<Short>) -> Result<Vec<Option<MovingLink>>>;
    /// Returns at most `limit` outcomes of requests made after `since`, ordered by position, after `after`.
    async fn outcomes(
        &self,
        after: i64,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredOutcome>>;
}

/// The destination of a move. Existing data is never overwritten: neither the same data written again nor other
/// data in its place changes anything; the comparison finds the latter.
#[async_trait]
pub trait Destination: Send + Sync {
    /// Returns the state of the destination.
    async fn state(&self) -> Result<DestinationState>;
    /// Stores the secret and then the checkpoint, where none exists.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Conflict`] if the destination has another secret.
    async fn begin(&self, secret: &InstallationSecret, record: &Checkpoint) -> Result<()>;
    /// Stores a checkpoint. Only one move writes it.
    async fn save_checkpoint(&self, record: &Checkpoint) -> Result<()>;
    /// Writes an API key.
    async fn put_key(&self, key: &StoredKey) -> Result<()>;
    /// Writes a link unchanged and adds it to its owner's lists; writes its clicks as counted by a process with
    /// this `incarnation`.
    async fn put_link(&self, link: &MovingLink, incarnation: Uuid) -> Result<()>;
    /// Writes a stored outcome.
    async fn put_outcome(&self, outcome: &StoredOutcome) -> Result<()>;
}

/// Reads the destination for the comparison.
#[async_trait]
pub trait ReadBack: Send + Sync {
    /// Returns all API keys that can be found both by digest and by number.
    async fn keys(&self) -> Result<Vec<StoredKey>>;
    /// Returns links in a stable order, including those over or deleted, after `after`, at most `limit`; none after
    /// the last.
    async fn links(&self, after: Option<Short>, limit: usize) -> Result<Vec<Link>>;
    /// Returns the link of a short.
    async fn find(&self, short: &Short) -> Result<Option<Link>>;
    /// Returns the clicks on a link.
    async fn clicks(&self, link: LinkId) -> Result<Clicks>;
    /// Returns the number of all clicks on all links.
    async fn clicks_total(&self) -> Result<u64>;
}
