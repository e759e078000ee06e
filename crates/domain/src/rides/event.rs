//! What a gate tells: that somebody rode, or that an earlier telling was wrong.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::Ride;
use crate::{Error, Result, text::is_key};

/// What an event is called, by whoever sent it first. Kept for ever, so that it counts once for ever.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, SerializeDisplay, DeserializeFromStr,
)]
pub enum EventId {
    /// A UUID in its usual form, which takes less room; those that sort by time (version 7) are the
    /// quickest to store.
    Uuid(Uuid),
    /// Anything else, 1 to 128 printable ASCII characters.
    Text(Box<str>),
}

/// Calls the events of a batch by the key under which it was sent and the numbers of their lines: sent again
/// under that key, it has the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchKey([u8; 16]);

impl BatchKey {
    /// The id of the event in a line, the first of which is 1. Those of one batch lie side by side, which makes
    /// them quick to store; no id that somebody makes up is likely to be among them.
    pub fn event(self, line: u16) -> EventId {
        let Self(mut bytes) = self;
        bytes[14..].copy_from_slice(&line.to_be_bytes());
        EventId::Uuid(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// What a store knows it by.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl FromStr for BatchKey {
    type Err = Error;

    /// Of 1 to 128 printable ASCII characters, as an id.
    fn from_str(key: &str) -> Result<Self> {
        key.parse::<EventId>()?;
        let digest = Sha256::new().chain_update(b"batch of rides\0").chain_update(key).finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Ok(Self(bytes))
    }
}

impl FromStr for EventId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if !is_key(text) {
            return Err(Error::invalid("id", "must be 1 to 128 printable ASCII characters"));
        }
        // Of the forms in which a UUID can be written only the one with hyphens.
        let uuid =
            (text.len() == uuid::fmt::Hyphenated::LENGTH).then(|| Uuid::try_parse(text).ok());
        Ok(uuid.flatten().map_or_else(|| Self::Text(text.into()), Self::Uuid))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => uuid.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A batch that was sent under a key, which is its body's for ever: its events are called by their lines, and
/// in another body the same line would be another event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedBatch {
    /// The key.
    pub key: BatchKey,
    /// A digest of the body, however it came packed.
    pub digest: [u8; 32],
}

impl NamedBatch {
    /// The batch that this body is.
    pub fn of(key: BatchKey, body: &[u8]) -> Self {
        Self { key, digest: Sha256::digest(body).into() }
    }
}

/// Who sent an event: a gate that has a key, or, as number 0, anybody without one. Ids of one are none of
/// another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GateId(pub i64);

impl GateId {
    /// Whoever has no key.
    pub const NOBODY: Self = Self(0);
}

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// Somebody rode.
    Ride(Ride),
    /// The ride of that event, from the same gate, was none.
    Void(EventId),
}

/// An event, complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RideEvent {
    /// Who sent it.
    pub gate: GateId,
    /// What it is called there.
    pub id: EventId,
    /// What it says.
    pub what: What,
    /// When it came in.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_batch_is_called_by_its_key_and_number() {
        let key = |key: &str| key.parse::<BatchKey>().unwrap();
        let id = |of: &str, line| key(of).event(line);
        assert_eq!(id("day 9", 1), id("day 9", 1));
        let ids = [id("day 9", 1), id("day 9", 2), id("day 9", 257), id("day 10", 1)];
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        assert!(ids.iter().all(|id| matches!(id, EventId::Uuid(id) if id.get_version_num() == 8)));
        for text in ["", "ä", "a\nb", &"x".repeat(129)] {
            assert!(text.parse::<BatchKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_id_is_a_uuid_or_any_printable_text() {
        let uuid = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
        for (text, is_uuid) in
            [(uuid, true), (&uuid.replace('-', ""), false), ("gate 4: 17", false)]
        {
            let id: EventId = text.parse().unwrap();
            assert_eq!(matches!(id, EventId::Uuid(_)), is_uuid, "{text}");
            assert_eq!(id.to_string(), text);
        }
        assert_eq!(uuid.to_uppercase().parse::<EventId>().unwrap(), uuid.parse().unwrap());
        for text in ["", "ä", "a\nb", &"x".repeat(129)] {
            assert!(text.parse::<EventId>().is_err(), "{text}");
        }
    }
}
