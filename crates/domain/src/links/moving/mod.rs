//! Moving everything of the links app from one store to another: secret, API keys, links as they are
//! with their clicks, and outcomes. A move that broke off goes on where it was, and one that is
//! through is only compared.

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
    store::Outcome,
    visit::Device,
};
use crate::{Attempt, Result, keys::ApiKey, secret::InstallationSecret};

/// How long hours are moved apart from their days, as every store keeps them.
const HOURS_KEPT: SignedDuration = SignedDuration::from_hours(31 * 24);

/// A link with its clicks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovingLink {
    /// The link as it is, over or deleted too.
    pub link: Link,
    /// How often it was followed.
    pub clicks: Clicks,
}

/// How often a link was followed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clicks {
    /// By UTC day, counted from 1970-01-01, and device, for ever.
    pub days: BTreeMap<(i64, Device), u64>,
    /// Some of the same by hour.
    pub hours: BTreeMap<(i64, Device), u64>,
    /// Some of the same by the host that visitors came from.
    pub referrers: BTreeMap<String, u64>,
}

impl Clicks {
    /// All of them, those of known bots too.
    pub fn total(&self) -> u64 {
        self.days.values().sum()
    }

    /// The same with no hours but those that every store still has at `now`.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        let since = now.saturating_sub(HOURS_KEPT).unwrap_or(Timestamp::MIN);
        let first = since.as_second().div_euclid(3_600) + 1;
        self.hours.retain(|(hour, _), _| *hour >= first);
        self
    }
}

/// An API key as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The key.
    pub key: ApiKey,
    /// The digest of its token.
    pub digest: [u8; 32],
}

/// An outcome with its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOutcome {
    /// Its place in the order of the source.
    pub place: i64,
    /// The attempt.
    pub attempt: Attempt,
    /// What it came to.
    pub outcome: Outcome,
}

/// How much there is to move.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extent {
    /// Links, over and deleted ones too.
    pub links: u64,
    /// API keys, revoked ones too.
    pub keys: u64,
    /// Clicks, those of known bots too.
    pub clicks: u64,
    /// Figures of the source's own, at least one of which differs once anything in it has changed.
    pub marks: Vec<i64>,
}

/// What the destination keeps of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What there was to move when it began.
    pub extent: Extent,
    /// How far it has come.
    pub step: Step,
}

/// How far a move has come. Keys are put at every start, because they are few.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Links are put.
    Links {
        /// All up to this one are.
        after: Option<Short>,
        /// So many.
        put: u64,
    },
    /// All links are put, and outcomes are.
    Outcomes {
        /// All up to this place are.
        after: i64,
    },
    /// Everything is put.
    Through,
}

/// What is found where everything is to go.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The secret of the installation that has it.
    pub secret: Option<InstallationSecret>,
    /// An earlier move.
    pub record: Option<Record>,
    /// Whether there is a link or an API key.
    pub is_used: bool,
}

/// Where everything is. Nobody changes it meanwhile.
#[async_trait]
pub trait Source: Send + Sync {
    /// The installation's secret.
    async fn secret(&self) -> Result<InstallationSecret>;
    /// How much there is.
    async fn extent(&self) -> Result<Extent>;
    /// Every API key.
    async fn keys(&self) -> Result<Vec<StoredKey>>;
    /// Some links in an order that stays the same, those after `after`: at most `limit`, fewer where
    /// they have many clicks, none after the last.
    async fn links(&self, after: Option<Short>, limit: usize) -> Result<Vec<MovingLink>>;
    /// The links of those shorts, in their order.
    async fn find(&self, shorts: Vec<Short>) -> Result<Vec<Option<MovingLink>>>;
    /// At most `limit` outcomes of attempts made after `since`, in the order of their places, those
    /// after `after`.
    async fn outcomes(
        &self,
        after: i64,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredOutcome>>;
}

/// Where everything is to go. What is there stays: the same again changes nothing, and neither does
/// something else in its place, which the comparison finds.
#[async_trait]
pub trait Destination: Send + Sync {
    /// What is there.
    async fn standing(&self) -> Result<Standing>;
    /// Keeps the secret, and then the record, where there is none.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Conflict`] if another secret is there.
    async fn begin(&self, secret: &InstallationSecret, record: &Record) -> Result<()>;
    /// Keeps how far the move has come. Only the one move that there is changes it.
    async fn note(&self, record: &Record) -> Result<()>;
    /// Puts an API key.
    async fn put_key(&self, key: &StoredKey) -> Result<()>;
    /// Puts a link as it is, has its owner's lists lead to it, and puts its clicks as those that a
    /// process of this `incarnation` has counted.
    async fn put_link(&self, link: &MovingLink, incarnation: Uuid) -> Result<()>;
    /// Puts an outcome.
    async fn put_outcome(&self, outcome: &StoredOutcome) -> Result<()>;
}

/// The way back: what the destination has, to compare it.
#[async_trait]
pub trait ReadBack: Send + Sync {
    /// Every API key that is found by its digest and its number, too.
    async fn keys(&self) -> Result<Vec<StoredKey>>;
    /// Links in an order that stays the same, over and deleted ones too, those after `after`, at most
    /// `limit`; none after the last.
    async fn links(&self, after: Option<Short>, limit: usize) -> Result<Vec<Link>>;
    /// The link of that short.
    async fn find(&self, short: &Short) -> Result<Option<Link>>;
    /// The clicks of a link.
    async fn clicks(&self, link: LinkId) -> Result<Clicks>;
    /// All clicks of all links.
    async fn clicks_total(&self) -> Result<u64>;
}
