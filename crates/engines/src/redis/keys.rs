//! The names of keys.

use lodge_domain::links::Short;
use uuid::Uuid;

/// The names of keys.
pub(super) struct Keys {
    prefix: String,
    /// Of this process: what it wrote last.
    pub(super) pulse: String,
    /// Of all processes: when the feed was asked last of what they have told, in milliseconds since 1970.
    pub(super) heard: String,
    /// The run id of the server of which it is known that nothing that it should hold is missing. A
    /// server that has started anew, or was promoted, has another.
    pub(super) whole: String,
    /// Shorts that are held, by the time since when.
    pub(super) held_at: String,
    /// The workers that were heard of lately.
    pub(super) workers: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        let key = |name: &str| format!("{prefix}{name}");
        Self {
            pulse: key(&format!("pulse:{}", Uuid::new_v4())),
            heard: key("heard"),
            whole: key("whole"),
            held_at: key("held-at"),
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

    pub(super) fn held(&self, short: &Short) -> String {
        format!("{}held:{}", self.prefix, short.as_str())
    }

    /// Since when something may be missing from the server of this run id.
    pub(super) fn lost(&self, run_id: &str) -> String {
        format!("{}lost:{run_id}", self.prefix)
    }

    pub(super) fn worker(&self, id: Uuid) -> String {
        format!("{}worker:{id}", self.prefix)
    }
}
