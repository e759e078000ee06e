//! Cursors: how far a reader has read a channel.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde_with::{DeserializeFromStr, SerializeDisplay};

use super::{EventId, Origin, origin::pair};
use crate::{Error, Result};

/// The longest text of a cursor, in bytes.
pub const CURSOR_BYTES_MAX: usize = 1024;

/// A reader's position in a channel: for each origin, the highest sequence number that was read. Its text is
/// `origin:seq,…` in the order of the origins. Closed origins fold into one entry, `0:ORIGIN`: every event of all
/// origins that closed up to that one, in the store's order of closing.
#[derive(Debug, Clone, PartialEq, Eq, Default, SerializeDisplay, DeserializeFromStr)]
pub struct Cursor {
    folded: Option<Origin>,
    seqs: BTreeMap<Origin, u64>,
}

impl Cursor {
    /// The highest sequence number that was read of `origin`; 0 if none was.
    pub fn seq(&self, origin: Origin) -> u64 {
        self.seqs.get(&origin).copied().unwrap_or(0)
    }

    /// Whether the cursor includes an event.
    pub fn has(&self, id: EventId) -> bool {
        id.seq <= self.seq(id.origin)
    }

    /// Advances the cursor to an event, and so past all earlier ones of its origin.
    pub fn take(&mut self, id: EventId) {
        let seq = self.seqs.entry(id.origin).or_default();
        *seq = id.seq.max(*seq);
    }

    /// Merges two cursors that fold the same origins: the events that either of them includes.
    #[must_use]
    pub fn merged(mut self, other: &Self) -> Self {
        other.ids().for_each(|id| self.take(id));
        self
    }

    /// Moves the cursor back to just before an event, and so before all later ones of its origin.
    pub fn rewind_before(&mut self, id: EventId) {
        let seq = self.seq(id.origin).min(id.seq - 1);
        if seq == 0 {
            self.seqs.remove(&id.origin);
        } else {
            self.seqs.insert(id.origin, seq);
        }
    }

    /// Each origin that the cursor names, with its sequence number.
    pub fn seqs(&self) -> impl Iterator<Item = (Origin, u64)> {
        self.seqs.iter().map(|(origin, seq)| (*origin, *seq))
    }

    /// Whether both cursors fold the same closed origins, so that they can be merged.
    pub fn folds_as(&self, other: &Self) -> bool {
        self.folded == other.folded
    }

    /// The last event of each origin that the cursor names.
    pub fn ids(&self) -> impl Iterator<Item = EventId> {
        self.seqs().filter(|(_, seq)| *seq > 0).map(|(origin, seq)| EventId { origin, seq })
    }

    /// Expands the folded entry. `closed` are the closed origins in the order in which they closed, each with the
    /// number of its last event in this channel. A folded origin that is not among them counts as unread.
    #[must_use]
    pub fn unfolded(mut self, closed: &[(Origin, u64)]) -> Self {
        let Some(last) = self.folded.take() else { return self };
        if let Some(place) = closed.iter().position(|(origin, _)| *origin == last) {
            for (origin, seq) in closed.iter().take(place + 1).filter(|(_, seq)| *seq > 0) {
                self.take(EventId { origin: *origin, seq: *seq });
            }
        }
        self
    }

    /// Folds the closed origins that were read completely, from the first on, into one entry. Returns
    /// [`Error::Invalid`] if the text is still too long: with an origin left out, a reader would start it again on
    /// every page and never reach the end.
    pub fn folded(self, closed: &[(Origin, u64)]) -> Result<Self> {
        let mut cursor = self.unfolded(closed);
        for (origin, seq) in closed {
            if cursor.seq(*origin) < *seq {
                break;
            }
            cursor.seqs.remove(origin);
            cursor.folded = Some(*origin);
        }
        if cursor.to_string().len() > CURSOR_BYTES_MAX {
            let (origins, most) = (cursor.seqs.len(), CURSOR_BYTES_MAX);
            let reason = format!("names {origins} origins, which do not fit into {most} bytes");
            return Err(Error::invalid("cursor", reason));
        }
        Ok(cursor)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = || {
            Error::invalid("cursor", "must be a cursor of an earlier response, such as 7:42,9:3")
        };
        if text.len() > CURSOR_BYTES_MAX {
            return Err(refused());
        }
        let mut cursor = Self::default();
        for entry in text.split(',').filter(|_| !text.is_empty()) {
            let (origin, seq) = pair(entry).ok_or_else(refused)?;
            let is_new = if let Some(origin) = Origin::new(origin) {
                seq > 0 && cursor.seqs.insert(origin, seq).is_none()
            } else {
                let last = u32::try_from(seq).ok().and_then(Origin::new).ok_or_else(refused)?;
                cursor.folded.replace(last).is_none()
            };
            if !is_new {
                return Err(refused());
            }
        }
        Ok(cursor)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folded = self.folded.map(|last| (0, u64::from(last.number())));
        let seqs = self.seqs.iter().map(|(origin, seq)| (origin.number(), *seq));
        for (place, (origin, seq)) in folded.into_iter().chain(seqs).enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{origin}:{seq}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn origin(number: u32) -> Origin {
        Origin::new(number).unwrap()
    }

    #[test]
    fn a_cursor_moves_forwards_and_backwards() {
        let mut cursor: Cursor = "3:7,9:1".parse().unwrap();
        cursor.take("5:2".parse().unwrap());
        cursor.take("3:4".parse().unwrap());
        assert_eq!(cursor.to_string(), "3:7,5:2,9:1");
        assert!(cursor.has("3:7".parse().unwrap()) && !cursor.has("3:8".parse().unwrap()));
        cursor.rewind_before("5:1".parse().unwrap());
        cursor.rewind_before("3:7".parse().unwrap());
        assert_eq!(cursor.to_string(), "3:6,9:1");
        assert_eq!(Cursor::default().to_string().parse::<Cursor>().unwrap(), Cursor::default());
    }

    #[test]
    fn malformed_cursors_are_refused() {
        let long = (1..=300).map(|o| format!("{o}:1")).collect::<Vec<_>>().join(",");
        for text in [
            "x",
            ",",
            "1:1,",
            "1:0",
            "1:1,1:2",
            "0:1,0:1",
            "0:0",
            "0:4294967296",
            "1:01",
            " 1:1",
            &long,
        ] {
            assert!(text.parse::<Cursor>().is_err(), "{text:?}");
        }
    }

    proptest! {
        /// For any number and order of closed origins, and any position of the reader in each.
        #[test]
        fn folding_neither_loses_nor_adds_events(lasts in vec(0_u64..4, 0..12), had in vec(0_u64..4, 0..12)) {
            let closed: Vec<_> = (1..).map(|n| origin(1_000 - n)).zip(lasts).collect();
            let mut cursor = Cursor::default();
            for ((origin, last), had) in closed.iter().zip(had) {
                if had.min(*last) > 0 {
                    cursor.take(EventId { origin: *origin, seq: had.min(*last) });
                }
            }
            let folded = cursor.clone().folded(&closed).unwrap();
            prop_assert_eq!(folded.to_string().parse::<Cursor>().unwrap(), folded.clone());
            prop_assert_eq!(folded.clone().folded(&closed).unwrap(), folded.clone());
            prop_assert_eq!(folded.unfolded(&closed), cursor);
        }
    }

    #[test]
    fn a_cursor_stays_short_with_many_closed_origins() {
        let closed: Vec<_> = (0..500).map(|n| (origin(u32::MAX - n), u64::from(n) + 1)).collect();
        let mut cursor = Cursor::default();
        for (origin, seq) in &closed {
            cursor.take(EventId { origin: *origin, seq: *seq });
        }
        let open = EventId { origin: origin(u32::MAX - 500), seq: i64::MAX.unsigned_abs() };
        cursor.take(open);
        assert_eq!(
            cursor.clone().folded(&closed).unwrap().to_string(),
            format!("0:{},{open}", u32::MAX - 499)
        );
    }

    #[test]
    fn a_cursor_names_every_open_origin_or_is_refused() {
        let mut cursor = Cursor::default();
        let mut fitting = 0;
        for number in 0..500 {
            cursor.take(EventId { origin: origin(u32::MAX - number), seq: 1_000_000 });
            match cursor.clone().folded(&[]) {
                Ok(folded) => {
                    assert_eq!(folded, cursor);
                    assert_eq!(folded.to_string().parse::<Cursor>().unwrap(), cursor);
                    fitting = number + 1;
                }
                Err(refused) => {
                    assert!(cursor.to_string().len() > CURSOR_BYTES_MAX);
                    let why = refused.to_string();
                    assert!(why.contains(&format!("names {} origins", number + 1)), "{why}");
                }
            }
        }
        assert!((30..500).contains(&fitting), "{fitting}");
    }

    #[test]
    fn an_unknown_folded_origin_counts_as_unread() {
        let cursor: Cursor = "0:77,5:3".parse().unwrap();
        assert_eq!(cursor.unfolded(&[(origin(4), 9)]).to_string(), "5:3");
    }
}
