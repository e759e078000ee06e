//! The port to the store of security events.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{SecurityEvent, SecurityEventKind};
use crate::{Result, accounts::AccountId};

/// The maximum events in one call that stores or lists them.
pub const SECURITY_EVENTS_PER_CALL_MAX: usize = 200;

/// The filter of a list; `None` matches all events.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SecurityEventQuery {
    /// Events of this kind only.
    pub kind: Option<SecurityEventKind>,
    /// Events that concern this account, or that it caused.
    pub account: Option<AccountId>,
    /// Events from this origin.
    pub origin: Option<String>,
    /// Events from this time on.
    pub since: Option<Timestamp>,
    /// Events before the one with this id.
    pub before: Option<Uuid>,
    /// The maximum number.
    pub limit: usize,
}

/// A store of security events. It removes those that are too old, and failures that are too many.
#[async_trait]
pub trait SecurityEventStore: Send + Sync {
    /// Stores events. An event with the id of a stored one replaces its repetitions, unless they are more.
    async fn append(&self, events: Vec<SecurityEvent>) -> Result<()>;

    /// Returns events, newest first.
    async fn list(&self, query: SecurityEventQuery) -> Result<Vec<SecurityEvent>>;
}
