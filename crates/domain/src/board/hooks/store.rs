//! What hooks need of the world.

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;

use super::{
    super::{Cursor, Slug},
    Hook, HookId, HookSecret, HookStanding, HookUrl,
};
use crate::Result;

/// A hook to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHook {
    /// The channel whose events are sent.
    pub channel: Slug,
    /// Where to.
    pub url: HookUrl,
    /// What deliveries are signed with.
    pub secret: HookSecret,
    /// What is not sent: all that happened before.
    pub cursor: Cursor,
    /// Since when.
    pub created_at: Timestamp,
}

/// Keeps hooks.
#[async_trait]
pub trait HookStore: Send + Sync {
    /// Adds one; [`crate::Error::Conflict`] if there are [`super::HOOKS_MAX`]. No number is given twice.
    async fn add(&self, new: NewHook) -> Result<Hook>;
    /// Every hook, oldest first, and what its deliveries are signed with.
    async fn list(&self) -> Result<Vec<(Hook, HookSecret)>>;
    /// Removes one; false if there is none.
    async fn remove(&self, id: HookId) -> Result<bool>;
    /// Notes what the receiver has taken, which makes the hook well; false if there is none, or it is disabled.
    async fn advance(&self, id: HookId, cursor: Cursor) -> Result<bool>;
    /// Notes how it goes with a hook; false if there is none.
    async fn note(&self, id: HookId, standing: HookStanding) -> Result<bool>;
}

/// One event on its way to a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Whose it is.
    pub hook: HookId,
    /// Where to.
    pub url: HookUrl,
    /// `webhook-id`: the same for every try of an event.
    pub id: String,
    /// `webhook-timestamp`: when this try is made, in seconds since 1970.
    pub timestamp_s: i64,
    /// `webhook-signature`.
    pub signature: String,
    /// JSON.
    pub body: Bytes,
}

/// What came of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    /// The receiver has it.
    Taken,
    /// The receiver wants nothing any more.
    Unwanted,
    /// It may not have it; why, for whoever looks after the hook.
    Failed(String),
}

/// Sends deliveries.
#[async_trait]
pub trait Deliver: Send + Sync {
    /// [`crate::Error::Invalid`] if it can be said without asking anybody that nothing is ever sent there.
    fn check(&self, url: &HookUrl) -> Result<()>;
    /// Sends one, once. It ends within seconds, whatever the receiver does.
    async fn deliver(&self, delivery: Delivery) -> Delivered;
}
