//! Read positions buffered in memory until the next flush: open pages advance them continuously.

use std::collections::HashMap;

use lodge_domain::{
    Error, Result,
    board::{CURSOR_BYTES_MAX, Cursor, PersonId, ReadPosition, Slug},
};
use parking_lot::Mutex;

/// Pending positions of all members.
const PENDING_MAX: usize = 20_000;

/// Pending positions of one member: the channels that one can open while the database is unavailable.
const PENDING_PER_MEMBER_MAX: usize = 100;

/// The positions that are not stored yet.
#[derive(Debug, Default)]
pub(super) struct PendingReads(Mutex<Pending>);

#[derive(Debug, Default)]
struct Pending {
    of: HashMap<PersonId, Vec<(Slug, Cursor)>>,
    count: usize,
}

impl PendingReads {
    /// Records a position; [`Error::Unavailable`] if too many are pending.
    pub(super) fn record(
        &self,
        ReadPosition { person, channel, cursor }: ReadPosition,
    ) -> Result<()> {
        let mut waiting = self.0.lock();
        let Pending { of, count } = &mut *waiting;
        let own = of.get_mut(&person);
        let is_full = *count >= PENDING_MAX
            || own.as_ref().is_some_and(|own| own.len() >= PENDING_PER_MEMBER_MAX);
        let had = own.and_then(|own| {
            own.iter_mut().find(|(of, had)| *of == channel && had.folds_as(&cursor))
        });
        if let Some((_, had)) = had {
            let both = had.clone().merged(&cursor);
            // A cursor that names more origins than fit is not of this board.
            *had = if both.to_string().len() <= CURSOR_BYTES_MAX { both } else { cursor };
            return Ok(());
        }
        if is_full {
            return Err(Error::unavailable("too many read positions are waiting to be stored"));
        }
        *count += 1;
        of.entry(person).or_default().push((channel, cursor));
        Ok(())
    }

    /// Returns the pending positions of a member.
    pub(super) fn of(&self, person: PersonId) -> Vec<(Slug, Cursor)> {
        self.0.lock().of.get(&person).cloned().unwrap_or_default()
    }

    /// Returns all pending positions.
    pub(super) fn all(&self) -> Vec<ReadPosition> {
        let waiting = self.0.lock();
        let of_each = waiting.of.iter().flat_map(|(person, own)| {
            own.iter().map(|(channel, cursor)| {
                let (channel, cursor) = (channel.clone(), cursor.clone());
                ReadPosition { person: *person, channel, cursor }
            })
        });
        of_each.collect()
    }

    /// Removes stored positions, except those that have advanced since.
    pub(super) fn forget(&self, stored: &[ReadPosition]) {
        let mut waiting = self.0.lock();
        let Pending { of, count } = &mut *waiting;
        for note in stored {
            let Some(own) = of.get_mut(&note.person) else { continue };
            let before = own.len();
            own.retain(|(channel, cursor)| *channel != note.channel || *cursor != note.cursor);
            *count -= before - own.len();
            if own.is_empty() {
                of.remove(&note.person);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lodge_domain::accounts::AccountId;

    use super::*;

    fn note(person: usize, cursor: &str) -> ReadPosition {
        let person = PersonId::Account(AccountId(i64::try_from(person).unwrap()));
        ReadPosition { person, channel: Slug::lobby(), cursor: cursor.parse().unwrap() }
    }

    #[test]
    fn positions_of_one_channel_are_merged_without_loss() {
        let reads = PendingReads::default();
        for cursor in ["7:3,9:1", "7:5", "9:2"] {
            reads.record(note(1, cursor)).unwrap();
        }
        assert_eq!(reads.all(), [note(1, "7:5,9:2")]);
        // Only the store can unfold a folded cursor.
        reads.record(note(1, "0:7,9:4")).unwrap();
        assert_eq!(reads.all(), [note(1, "7:5,9:2"), note(1, "0:7,9:4")]);
        assert_eq!(reads.of(note(2, "").person), []);
    }

    #[test]
    fn a_position_that_advances_during_a_flush_stays_pending() {
        let reads = PendingReads::default();
        reads.record(note(1, "7:3")).unwrap();
        reads.record(note(2, "7:3")).unwrap();
        let stored = reads.all();
        reads.record(note(1, "7:4")).unwrap();
        reads.forget(&stored);
        assert_eq!(reads.all(), [note(1, "7:4")]);
        reads.forget(&reads.all());
        let waiting = reads.0.into_inner();
        assert_eq!((waiting.count, waiting.of.len()), (0, 0));
    }

    #[test]
    fn pending_positions_are_bounded() {
        let reads = PendingReads::default();
        (0..PENDING_MAX).for_each(|person| reads.record(note(person, "7:1")).unwrap());
        let refused = reads.record(note(PENDING_MAX, "7:1"));
        assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
        reads.record(note(0, "7:2")).unwrap();
        reads.forget(&[note(1, "7:1")]);
        reads.record(note(PENDING_MAX, "7:1")).unwrap();
    }

    #[test]
    fn invented_cursors_do_not_make_pending_positions_grow() {
        let reads = PendingReads::default();
        for origin in 1..1_000 {
            reads.record(note(1, &format!("{}:{}", u32::MAX - origin, i64::MAX))).unwrap();
        }
        let waiting = reads.of(note(1, "").person);
        assert!(waiting.len() == 1 && waiting[0].1.to_string().len() <= CURSOR_BYTES_MAX);
        let folded = |origin| reads.record(note(1, &format!("0:{origin}")));
        assert!((1..PENDING_PER_MEMBER_MAX).all(|origin| folded(origin).is_ok()));
        assert!(matches!(folded(PENDING_PER_MEMBER_MAX), Err(Error::Unavailable { .. })));
        reads.record(note(2, "7:1")).unwrap();
    }
}
