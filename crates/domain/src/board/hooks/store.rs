//! The ports of hooks.

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;

use super::{
    super::{Cursor, Slug},
    DeliveryStatus, Hook, HookId, HookSecret, HookUrl,
};
use crate::Result;

/// A hook to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHook {
    /// The channel whose events are sent.
    pub channel: Slug,
    /// The receiver's URL.
    pub url: HookUrl,
    /// The signing secret.
    pub secret: HookSecret,
    /// The start: events that this cursor includes are not sent.
    pub cursor: Cursor,
    /// When the hook was added.
    pub created_at: Timestamp,
}

/// Stores hooks.
#[async_trait]
pub trait HookStore: Send + Sync {
    /// Adds a hook. Returns [`crate::Error::Conflict`] if there are [`super::HOOKS_MAX`]. Numbers are never reused.
    async fn add(&self, new: NewHook) -> Result<Hook>;
    /// Returns every hook with its signing secret, oldest first.
    async fn list(&self) -> Result<Vec<(Hook, HookSecret)>>;
    /// Removes a hook; false if it does not exist.
    async fn remove(&self, id: HookId) -> Result<bool>;
    /// Stores what the receiver has accepted, and that the hook is healthy; false if the hook is absent or disabled.
    async fn advance(&self, id: HookId, cursor: Cursor) -> Result<bool>;
    /// Stores the status of a hook; false if the hook does not exist.
    async fn note(&self, id: HookId, delivery: DeliveryStatus) -> Result<bool>;
}

/// A delivery of one event to a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The hook.
    pub hook: HookId,
    /// The receiver's URL.
    pub url: HookUrl,
    /// `webhook-id`: the same for every try of an event.
    pub id: String,
    /// `webhook-timestamp`: the time of this try, in seconds since 1970.
    pub timestamp_s: i64,
    /// `webhook-signature`.
    pub signature: String,
    /// The event as JSON.
    pub body: Bytes,
}

/// The outcome of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver accepted the event.
    Taken,
    /// The receiver answered 410: the hook is to be disabled.
    Unwanted,
    /// The receiver may not have the event; the reason, for the administrator of the hook.
    Failed(String),
}

/// Sends deliveries over the network.
#[async_trait]
pub trait Deliver: Send + Sync {
    /// Returns [`crate::Error::Invalid`] if the URL alone shows that nothing is ever sent there, without a DNS lookup.
    fn check(&self, url: &HookUrl) -> Result<()>;
    /// Sends a delivery once. Ends within seconds, whatever the receiver does.
    async fn deliver(&self, delivery: Delivery) -> DeliveryOutcome;
}
