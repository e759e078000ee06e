//! The state of a message, projected from its events.

use super::{BoardEventContent, EventId, Stamp, Visibility};

/// An event's sort key in the order that every reader shows.
pub type EventSortKey = (Stamp, EventId);

/// The state of a message after the events about it. Events of several origins arrive in any order, and may arrive
/// before the message that they are about; the state does not depend on the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageState {
    /// The latest edit, which has the current text; without one the message itself has it.
    pub edit: Option<EventSortKey>,
    /// The latest event that hid the message or showed it again, and whether it hid it.
    pub hide: Option<(EventSortKey, bool)>,
    /// Whether the text is erased: an event deleted the message, or its author has posted an earlier one with the same
    /// client id.
    pub is_deleted: bool,
}

impl MessageState {
    /// Applies an event about the message, or the message itself.
    pub fn apply(&mut self, place: EventSortKey, what: &BoardEventContent) {
        match what {
            BoardEventContent::Edit { .. } => self.edit = self.edit.max(Some(place)),
            BoardEventContent::Delete { .. } => self.is_deleted = true,
            BoardEventContent::Hide { is_hidden, .. } => {
                self.hide = self.hide.max(Some((place, *is_hidden)));
            }
            BoardEventContent::Message { .. } | BoardEventContent::Reaction { .. } => {}
        }
    }

    /// Whether the message can be read.
    pub fn visibility(&self) -> Visibility {
        match (self.is_deleted, self.hide) {
            (true, _) => Visibility::Deleted,
            (false, Some((_, true))) => Visibility::Hidden,
            (false, _) => Visibility::Shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::board::{Body, Origin};

    fn id(origin: u32, seq: u64) -> EventId {
        EventId { origin: Origin::new(origin).unwrap(), seq }
    }

    fn event(kind: u8) -> BoardEventContent {
        let target = id(1, 1);
        match kind {
            0 => BoardEventContent::Edit { target, body: Some(Body::parse("anew").unwrap()) },
            1 => BoardEventContent::Hide { target, is_hidden: true },
            2 => BoardEventContent::Hide { target, is_hidden: false },
            _ => BoardEventContent::Delete { target },
        }
    }

    fn state(events: &[(EventSortKey, BoardEventContent)]) -> MessageState {
        let mut state = MessageState::default();
        for (place, what) in events {
            state.apply(*place, what);
        }
        state
    }

    proptest! {
        #[test]
        fn the_state_does_not_depend_on_order_or_repetition(
            kinds in vec((0_u8..4, 0_i64..5), 0..12),
            (arrival, again) in (any::<proptest::sample::Index>(), any::<proptest::sample::Index>()),
        ) {
            let events: Vec<_> = (1_u64..)
                .zip(&kinds)
                .map(|(seq, (kind, at))| ((Stamp::stored(*at), id(2, seq)), event(*kind)))
                .collect();
            let mut arrived = events.clone();
            if !arrived.is_empty() {
                arrived.push(events[again.index(events.len())].clone());
                let turn = arrival.index(arrived.len());
                arrived.rotate_left(turn);
                arrived[turn..].reverse();
            }
            prop_assert_eq!(state(&arrived), state(&events));
        }
    }

    #[test]
    fn the_latest_hide_wins_and_a_deletion_is_final() {
        let at = |at| (Stamp::stored(at), id(1, at.unsigned_abs()));
        let mut state = MessageState::default();
        state.apply(at(3), &event(2));
        state.apply(at(2), &event(1));
        assert_eq!(state.visibility(), Visibility::Shown);
        state.apply(at(4), &event(1));
        assert_eq!(state.visibility(), Visibility::Hidden);
        state.apply(at(1), &event(3));
        state.apply(at(5), &event(2));
        assert_eq!(state.visibility(), Visibility::Deleted);
    }
}
