//! Origins and event ids.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::{Error, Random, Result};

/// A writer of events: one database, from its creation or restore until the next restore. Its number is random, so
/// that it is never reused, whatever backup is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(u32);

impl Origin {
    /// Draws a new origin; 0 is never drawn.
    pub fn draw(random: &dyn Random) -> Self {
        let mut bytes = [0; 4];
        random.fill(&mut bytes);
        Self(u32::from_be_bytes(bytes).max(1))
    }

    /// The origin with this number; `None` for 0.
    pub fn new(number: u32) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }

    /// The origin's number, 1 or more.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// An event's id in its channel: `origin:seq`. The events of an origin are numbered from 1 without a gap in each
/// channel, in commit order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, SerializeDisplay, DeserializeFromStr,
)]
pub struct EventId {
    /// The database that stored the event.
    pub origin: Origin,
    /// The event's number in this origin and channel, 1 or more.
    pub seq: u64,
}

impl FromStr for EventId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = || Error::invalid("id", "must be the id of an event, such as 7:42");
        let (origin, seq) = pair(text).ok_or_else(refused)?;
        let origin = Origin::new(origin).filter(|_| seq > 0).ok_or_else(refused)?;
        Ok(Self { origin, seq })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.origin.0, self.seq)
    }
}

/// Parses `number:number`, each in decimal without leading zeros. The second number fits an `i64`, the stores' integer.
pub(super) fn pair(text: &str) -> Option<(u32, u64)> {
    let (origin, seq) = text.split_once(':')?;
    let is_plain = |number: &str| {
        number.bytes().all(|digit| digit.is_ascii_digit())
            && (number == "0" || !number.starts_with('0'))
    };
    if !is_plain(origin) || !is_plain(seq) {
        return None;
    }
    let seq: i64 = seq.parse().ok()?;
    Some((origin.parse().ok()?, seq.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_events_id_has_one_form() {
        let id: EventId = "7:42".parse().unwrap();
        assert_eq!((id.origin.number(), id.seq, id.to_string()), (7, 42, "7:42".to_owned()));
        let long = format!("4294967295:{}", i64::MAX);
        assert_eq!(long.parse::<EventId>().unwrap().to_string(), long);
        let beyond = format!("1:{}", u64::MAX);
        let wrong = [
            "", ":", "7", "7:", ":42", "7:0", "0:7", "07:42", "7:042", "+7:42", "7:-1", "7:42:1",
            &beyond,
        ];
        for text in wrong {
            assert!(text.parse::<EventId>().is_err(), "{text:?}");
        }
    }
}
