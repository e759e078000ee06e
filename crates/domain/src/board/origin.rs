//! Where an event was written, and what it is called.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::{Error, Random, Result};

/// A writer of events: one database, from when it was made, or made anew of a backup, to when that happens again.
/// Its number is drawn, so that none is ever given twice, whatever file somebody goes back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(u32);

impl Origin {
    /// A new one; 0 is none.
    pub fn draw(random: &dyn Random) -> Self {
        let mut bytes = [0; 4];
        random.fill(&mut bytes);
        Self(u32::from_be_bytes(bytes).max(1))
    }

    /// The one of that number, unless it is none.
    pub fn new(number: u32) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// An event's name in its channel: `origin:seq`. The events of an origin in a channel are numbered from 1 on, without
/// a gap, in the order in which they were stored.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, SerializeDisplay, DeserializeFromStr,
)]
pub struct EventId {
    /// Who wrote it.
    pub origin: Origin,
    /// As the how many-eth in the channel, 1 or more.
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

/// Two numbers with a colon between, each in the one form that it has: digits, the first of them not 0. The second
/// fits a store's integers.
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
