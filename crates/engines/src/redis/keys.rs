//! The names of Redis keys.

use lodge_domain::links::Short;
use uuid::Uuid;

/// The names of the keys of one prefix.
pub(super) struct Keys {
    prefix: String,
    /// This process's latest heartbeat.
    pub(super) heartbeat: String,
    /// Shared by all processes: the time up to which the change feed is applied, in milliseconds since 1970.
    pub(super) feed_applied_until: String,
    /// The run id of the server that is known to have lost no pending write. A server that was restarted
    /// or promoted has another.
    pub(super) complete: String,
    /// The shorts of pending writes, by the time at which they were added.
    pub(super) pending_since: String,
    /// The workers, by the time of their last heartbeat.
    pub(super) workers: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        let key = |name: &str| format!("{prefix}{name}");
        Self {
            heartbeat: key(&format!("heartbeat:{}", Uuid::new_v4())),
            feed_applied_until: key("heard"),
            complete: key("whole"),
            pending_since: key("held-at"),
            workers: key("workers"),
            prefix: prefix.to_owned(),
        }
    }

    pub(super) fn copy(&self, short: &Short) -> String {
        format!("{}link:{}", self.prefix, short.as_str())
    }

    pub(super) fn lease(&self, short: &Short) -> String {
        format!("{}lease:{}", self.prefix, short.as_str())
    }

    pub(super) fn pending(&self, short: &Short) -> String {
        format!("{}held:{}", self.prefix, short.as_str())
    }

    /// The copy of a session.
    pub(super) fn session(&self, name: &str) -> String {
        format!("{}session:{name}", self.prefix)
    }

    /// Since when the server of this run id may have lost a pending write.
    pub(super) fn lost(&self, run_id: &str) -> String {
        format!("{}lost:{run_id}", self.prefix)
    }

    pub(super) fn worker(&self, id: Uuid) -> String {
        format!("{}worker:{id}", self.prefix)
    }
}
