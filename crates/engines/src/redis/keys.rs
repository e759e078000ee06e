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
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        let pulse = format!("{prefix}pulse:{}", Uuid::new_v4());
        Self { pulse, heard: format!("{prefix}heard"), prefix: prefix.to_owned() }
    }

    pub(super) fn copy(&self, short: &Short) -> String {
        format!("{}link:{}", self.prefix, short.as_str())
    }

    pub(super) fn lease(&self, short: &Short) -> String {
        format!("{}lease:{}", self.prefix, short.as_str())
    }
}
