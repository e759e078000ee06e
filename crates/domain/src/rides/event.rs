//! Events sent by gates: rides, and voids of earlier rides.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::Ride;
use crate::{Error, Result, text::is_key};

/// The id of an event, chosen by its first sender. Stored for ever, so that the event counts only once.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, SerializeDisplay, DeserializeFromStr,
)]
pub enum RideEventId {
    /// A UUID in its usual form, which takes less space; those that sort by time (version 7) are the fastest to
    /// store.
    Uuid(Uuid),
    /// Any other text of 1 to 128 printable ASCII characters.
    Text(Box<str>),
}

/// The key of a batch, from which the ids of its events derive by line number: the batch sent again under the same
/// key has the same ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchKey([u8; 16]);

impl BatchKey {
    /// Returns the id of the event in a line; the first line is 1. The ids of one batch are adjacent, which makes
    /// them fast to store, and are unlikely to collide with a client's own ids.
    pub fn event(self, line: u16) -> RideEventId {
        let Self(mut bytes) = self;
        bytes[14..].copy_from_slice(&line.to_be_bytes());
        RideEventId::Uuid(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// Returns the bytes, for a store.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl FromStr for BatchKey {
    type Err = Error;

    /// Parses 1 to 128 printable ASCII characters, as an event id.
    fn from_str(key: &str) -> Result<Self> {
        key.parse::<RideEventId>()?;
        let digest = Sha256::new().chain_update(b"batch of rides\0").chain_update(key).finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Ok(Self(bytes))
    }
}

impl FromStr for RideEventId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if !is_key(text) {
            return Err(Error::invalid("id", "must be 1 to 128 printable ASCII characters"));
        }
        // Of the forms of a UUID only the one with hyphens is recognised.
        let uuid =
            (text.len() == uuid::fmt::Hyphenated::LENGTH).then(|| Uuid::try_parse(text).ok());
        Ok(uuid.flatten().map_or_else(|| Self::Text(text.into()), Self::Uuid))
    }
}

impl fmt::Display for RideEventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => uuid.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A batch with a key. The key is bound to the body for ever: the ids derive from the line numbers, and in another
/// body the same line would be another event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyedBatch {
    /// The key.
    pub key: BatchKey,
    /// SHA-256 of the decompressed body.
    pub digest: [u8; 32],
}

impl KeyedBatch {
    /// Creates a batch of a body.
    pub fn of(key: BatchKey, body: &[u8]) -> Self {
        Self { key, digest: Sha256::digest(body).into() }
    }
}

/// The sender of an event: a gate with a key, or 0 for all senders without one. Event ids are scoped to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GateId(pub i64);

impl GateId {
    /// All senders without a key.
    pub const ANONYMOUS: Self = Self(0);
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RideEventContent {
    /// A ride.
    Ride(Ride),
    /// A void of an earlier ride of the same gate, by its event id.
    Void(RideEventId),
}

/// A complete event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RideEvent {
    /// The gate that sent it.
    pub gate: GateId,
    /// The event id, scoped to the gate.
    pub id: RideEventId,
    /// The content.
    pub what: RideEventContent,
    /// The time of arrival.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_batch_line_derives_from_key_and_line_number() {
        let key = |key: &str| key.parse::<BatchKey>().unwrap();
        let id = |of: &str, line| key(of).event(line);
        assert_eq!(id("day 9", 1), id("day 9", 1));
        let ids = [id("day 9", 1), id("day 9", 2), id("day 9", 257), id("day 10", 1)];
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        assert!(
            ids.iter().all(|id| matches!(id, RideEventId::Uuid(id) if id.get_version_num() == 8))
        );
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
            let id: RideEventId = text.parse().unwrap();
            assert_eq!(matches!(id, RideEventId::Uuid(_)), is_uuid, "{text}");
            assert_eq!(id.to_string(), text);
        }
        assert_eq!(uuid.to_uppercase().parse::<RideEventId>().unwrap(), uuid.parse().unwrap());
        for text in ["", "ä", "a\nb", &"x".repeat(129)] {
            assert!(text.parse::<RideEventId>().is_err(), "{text}");
        }
    }
}
