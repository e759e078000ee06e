//! Builds pages of events from those of several origins.

use super::{BoardEvent, Cursor, EventsPage};

impl EventsPage {
    /// The first events that the cursor `had` does not include. `events` must hold, for each origin, the first such
    /// events without a gap, and `limit + 1` of them if there are so many.
    pub fn after(had: Cursor, mut events: Vec<BoardEvent>, limit: usize) -> Self {
        events.sort_unstable_by_key(BoardEvent::sort_key);
        let more = events.len() > limit;
        events.truncate(limit);
        let mut cursor = had.clone();
        for event in &events {
            cursor.take(event.id);
        }
        Self { events, start: had, cursor, more }
    }

    /// The last events that the cursor `had` includes. `events` must hold, for each origin, the last such events
    /// without a gap, and `limit + 1` of them if there are so many.
    pub fn before(had: Cursor, mut events: Vec<BoardEvent>, limit: usize) -> Self {
        events.sort_unstable_by_key(BoardEvent::sort_key);
        let more = events.len() > limit;
        events.drain(..events.len().saturating_sub(limit));
        let mut start = had.clone();
        for event in &events {
            start.rewind_before(event.id);
        }
        Self { events, start, cursor: had, more }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::board::{BoardEventContent, EventId, Origin, Profile, Stamp};

    /// Events of several origins whose clocks differ by up to 10 s.
    fn events(written: &[(u32, i64)]) -> Vec<BoardEvent> {
        let mut all: Vec<BoardEvent> = Vec::new();
        for (origin, clock_ms) in written {
            let origin = Origin::new(origin + 1).unwrap();
            let of_origin = || all.iter().filter(|event| event.id.origin == origin);
            let id = EventId { origin, seq: of_origin().count() as u64 + 1 };
            let latest = of_origin().map(|event| event.at).max();
            let now = jiff::Timestamp::from_millisecond(10_000 + clock_ms).unwrap();
            let (by, what) = (Profile::of_member(1), BoardEventContent::Delete { target: id });
            all.push(BoardEvent { id, at: Stamp::after(latest, now), by, content: what });
        }
        all
    }

    /// What an engine returns: for each origin, the first or last `count` matching events.
    fn of_each(
        all: &[BoardEvent],
        wanted: impl Fn(&BoardEvent) -> bool,
        count: usize,
        last: bool,
    ) -> Vec<BoardEvent> {
        let mut found = Vec::new();
        for origin in (1..=3).filter_map(Origin::new) {
            let of_origin = all.iter().filter(|event| event.id.origin == origin && wanted(event));
            let mut of_origin: Vec<_> = of_origin.cloned().collect();
            of_origin.sort_by_key(|event| event.id.seq);
            let skipped = if last { of_origin.len().saturating_sub(count) } else { 0 };
            found.extend(of_origin.into_iter().skip(skipped).take(count));
        }
        found
    }

    proptest! {
        /// Pages of any length, forwards and backwards, return each event once and in order.
        #[test]
        fn paging_skips_nothing_and_repeats_nothing(
            written in vec((0_u32..3, -5_000_i64..5_000), 0..40), limit in 1_usize..9,
        ) {
            let all = events(&written);
            let mut in_order = all.clone();
            in_order.sort_by_key(BoardEvent::sort_key);

            let (mut cursor, mut forwards) = (Cursor::default(), Vec::new());
            loop {
                let had = cursor.clone();
                let page = EventsPage::after(cursor, of_each(&all, |e| !had.has(e.id), limit + 1, false), limit);
                forwards.extend(page.events);
                cursor = page.cursor;
                if !page.more { break }
            }
            prop_assert_eq!(&forwards, &in_order);

            let mut backwards = Vec::new();
            loop {
                let had = cursor.clone();
                let page = EventsPage::before(cursor, of_each(&all, |e| had.has(e.id), limit + 1, true), limit);
                backwards.splice(0..0, page.events);
                cursor = page.start;
                if !page.more { break }
            }
            prop_assert_eq!(&backwards, &in_order);
            prop_assert_eq!(cursor, Cursor::default());
        }
    }
}
