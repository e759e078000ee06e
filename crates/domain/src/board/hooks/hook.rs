//! Hooks and their delivery status.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use url::Url;

use super::super::{Cursor, Slug};
use crate::{
    Error, Result,
    text::{display_text, parsed_text},
};

/// The most hooks of a board.
pub const HOOKS_MAX: usize = 50;

/// The longest URL of a hook, in bytes.
pub const HOOK_URL_BYTES_MAX: usize = 2_048;

/// A hook's number, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HookId(pub i64);

parsed_text! {
    /// A receiver's URL: https or http, without credentials or fragment, normalised as browsers do.
    pub struct HookUrl(Box<str>);
}
display_text!(HookUrl);

impl HookUrl {
    /// Parses a typed URL.
    pub fn parse(typed: &str) -> Result<Self> {
        let refused = |reason| Err(Error::invalid("url", reason));
        if typed.len() > HOOK_URL_BYTES_MAX {
            return refused("must be at most 2048 bytes");
        }
        let Ok(mut url) = Url::parse(typed.trim()) else {
            return refused("must be a URL, such as https://example.org/hook");
        };
        if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none() {
            return refused("must begin with https:// or http://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused(
                "must not contain a user name or password: deliveries are signed instead",
            );
        }
        url.set_fragment(None);
        if url.as_str().len() > HOOK_URL_BYTES_MAX {
            return refused("must be at most 2048 bytes");
        }
        Ok(Self(url.as_str().into()))
    }
}

/// The delivery status of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// The last delivery succeeded, or there was none yet.
    Healthy,
    /// The last delivery failed; the event will be retried.
    Failing {
        /// Failures in a row.
        failures: u32,
        /// When the first of them happened.
        since: Timestamp,
        /// When the event is retried.
        next_try: Timestamp,
        /// The error of the last one.
        why: String,
    },
    /// The hook is disabled: nothing is sent any more.
    Disabled {
        /// When it was disabled.
        at: Timestamp,
        /// The reason.
        why: String,
    },
}

/// A hook, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// The hook's number.
    pub id: HookId,
    /// The channel whose events are sent.
    pub channel: Slug,
    /// The receiver's URL.
    pub url: HookUrl,
    /// When the hook was added.
    pub created_at: Timestamp,
    /// The events that the receiver has accepted.
    pub cursor: Cursor,
    /// The delivery status.
    pub delivery: DeliveryStatus,
}

impl Hook {
    /// Whether a delivery may be sent at `now`.
    pub fn is_due(&self, now: Timestamp) -> bool {
        match self.delivery {
            DeliveryStatus::Healthy => true,
            DeliveryStatus::Failing { next_try, .. } => next_try <= now,
            DeliveryStatus::Disabled { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hooks_url_is_normalised() {
        let forms = [
            ("https://Example.org", "https://example.org/"),
            (" http://example.org:80/a b#c ", "http://example.org/a%20b"),
            ("https://0x7f.1/x?y", "https://127.0.0.1/x?y"),
            ("http://[::ffff:7f00:1]:8/", "http://[::ffff:7f00:1]:8/"),
        ];
        for (typed, form) in forms {
            assert_eq!(HookUrl::parse(typed).unwrap().as_str(), form);
            assert_eq!(HookUrl::parse(form).unwrap().as_str(), form);
        }
        let long = format!("https://example.org/{}", "a".repeat(HOOK_URL_BYTES_MAX));
        let grows = format!("https://example.org/{}", " a".repeat(HOOK_URL_BYTES_MAX / 3));
        for typed in [
            "",
            "example.org",
            "ftp://example.org/",
            "https://",
            "https://ada@example.org/",
            "https://:x@example.org/",
            "file:///etc/passwd",
            &long,
            &grows,
        ] {
            assert!(HookUrl::parse(typed).is_err(), "{typed:?}");
        }
    }
}
