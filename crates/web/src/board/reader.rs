//! The cursor of one stream. It decides which events the stream sends next: every event once, in seq order per
//! origin, however pages of the store and broadcast events interleave.

use lodge_domain::board::{BoardEvent, Cursor, EventId, EventsPage};

/// The result of receiving a broadcast event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// The next event of its origin: the cursor is past it now, and it is to be sent.
    Next,
    /// A duplicate: the cursor was past it already.
    Duplicate,
    /// A gap: an earlier event of its origin is missing. The reader goes back to the store, which has both.
    Gap,
}

/// A reader with a cursor. It reads pages of the store until it has caught up, then receives broadcast events until it
/// misses one. The caller must subscribe to the broadcast before it reads the first page.
#[derive(Debug)]
pub(super) struct Reader {
    cursor: Cursor,
    is_live: bool,
}

impl Reader {
    /// Starts after `cursor`, not caught up.
    pub(super) fn from(cursor: Cursor) -> Self {
        Self { cursor, is_live: false }
    }

    /// Returns the cursor after the last event.
    pub(super) fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Whether the reader has caught up; if not, the page after its cursor is to be read.
    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Makes the reader read the store again, after events may have been missed.
    pub(super) fn mark_behind(&mut self) {
        self.is_live = false;
    }

    /// Receives a broadcast event.
    pub(super) fn receive(&mut self, id: EventId) -> Received {
        let had = self.cursor.seq(id.origin);
        if id.seq <= had {
            return Received::Duplicate;
        }
        if id.seq > had + 1 {
            self.is_live = false;
            return Received::Gap;
        }
        self.cursor.take(id);
        Received::Next
    }

    /// Takes the page after the cursor; returns its new events, each with the cursor after it.
    pub(super) fn read(&mut self, page: EventsPage) -> Vec<(BoardEvent, Cursor)> {
        let EventsPage { events, start, cursor, more } = page;
        self.is_live = !more;
        let mut had = start;
        let mut told = Vec::with_capacity(events.len());
        for event in events {
            if had.has(event.id) {
                continue;
            }
            had.take(event.id);
            told.push((event, had.clone()));
        }
        self.cursor = cursor;
        told
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use lodge_domain::board::{BoardEventContent, Origin, Stamp};
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::board::samples::member;

    const ORIGINS: u32 = 3;
    const READERS: usize = 3;
    const PAGE: usize = 3;

    /// The capacity of a stream's queue of broadcast events; past it events are lost.
    const WAITING_MAX: usize = 4;

    fn event(id: EventId, at: i64) -> BoardEvent {
        let (by, what) = (member(1, "", ""), BoardEventContent::Delete { target: id });
        BoardEvent { id, at: Stamp::stored(at), by, content: what }
    }

    /// The stored events. Each origin grows independently, as with several writing nodes.
    #[derive(Default)]
    struct Store(BTreeMap<u32, Vec<BoardEvent>>);

    impl Store {
        fn write(&mut self, origin: u32, at: i64) {
            let of_origin = self.0.entry(origin).or_default();
            let id =
                EventId { origin: Origin::new(origin).unwrap(), seq: of_origin.len() as u64 + 1 };
            let latest = of_origin.last().map_or(0, |event| event.at.microseconds());
            of_origin.push(event(id, at.max(latest + 1)));
        }

        fn len(&self) -> usize {
            self.0.values().map(Vec::len).sum()
        }

        fn after(&self, had: &Cursor, limit: usize) -> EventsPage {
            let first = |of_origin: &Vec<BoardEvent>| {
                let new = of_origin.iter().filter(|event| !had.has(event.id)).take(limit + 1);
                new.cloned().collect::<Vec<_>>()
            };
            EventsPage::after(had.clone(), self.0.values().flat_map(first).collect(), limit)
        }
    }

    /// A stream: its queue, and the events that it has sent over all of its connections.
    struct Stream {
        reader: Reader,
        waiting: VecDeque<EventId>,
        has_missed: bool,
        told: Vec<EventId>,
    }

    impl Stream {
        fn begin() -> Self {
            let (waiting, told) = (VecDeque::new(), Vec::new());
            Self { reader: Reader::from(Cursor::default()), waiting, has_missed: false, told }
        }

        fn is_told(&mut self, id: EventId) {
            if self.waiting.len() == WAITING_MAX {
                self.waiting.pop_front();
                self.has_missed = true;
            }
            self.waiting.push_back(id);
        }

        /// Takes one step of the stream; false if there is nothing to do.
        fn step(&mut self, store: &Store) -> bool {
            if !self.reader.is_live() {
                let page = store.after(self.reader.cursor(), PAGE);
                self.told.extend(self.reader.read(page).into_iter().map(|(event, _)| event.id));
                return true;
            }
            if std::mem::take(&mut self.has_missed) {
                self.reader.mark_behind();
                return true;
            }
            let Some(id) = self.waiting.pop_front() else { return false };
            if self.reader.receive(id) == Received::Next {
                self.told.push(id);
            }
            true
        }

        /// Loses the connection and reconnects with the last sent id.
        fn reconnect(&mut self) {
            let cursor = self.reader.cursor().to_string().parse().unwrap();
            self.reader = Reader::from(cursor);
            self.waiting.clear();
            self.has_missed = false;
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Write(u32, i64),
        Follow(usize),
        Read(usize),
        Reconnect(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1..=ORIGINS, 0_i64..50).prop_map(|(origin, at)| Step::Write(origin, at)),
            3 => (1_usize..9).prop_map(Step::Follow),
            4 => (0..READERS).prop_map(Step::Read),
            1 => (0..READERS).prop_map(Step::Reconnect),
        ]
    }

    /// A store, the task that follows it, and the streams.
    struct World {
        store: Store,
        followed: Cursor,
        streams: Vec<Stream>,
    }

    impl World {
        fn new() -> Self {
            let streams = (0..READERS).map(|_| Stream::begin()).collect();
            Self { store: Store::default(), followed: Cursor::default(), streams }
        }

        fn take(&mut self, step: Step) {
            match step {
                Step::Write(origin, at) => self.store.write(origin, at),
                Step::Follow(limit) => drop(self.follow(limit)),
                Step::Read(stream) => drop(self.streams[stream].step(&self.store)),
                Step::Reconnect(stream) => self.streams[stream].reconnect(),
            }
        }

        /// Broadcasts the next page; returns whether there is more.
        fn follow(&mut self, limit: usize) -> bool {
            let page = self.store.after(&self.followed, limit);
            self.followed = page.cursor;
            for stream in &mut self.streams {
                page.events.iter().for_each(|event| stream.is_told(event.id));
            }
            page.more
        }

        /// Runs until there is nothing to do.
        fn settle(&mut self) {
            while self.follow(2) {}
            for stream in &mut self.streams {
                while stream.step(&self.store) {}
            }
        }
    }

    proptest! {
        /// Holds for all interleavings of writes, the following task, streams and lost connections.
        #[test]
        fn every_stream_gets_every_event_once_and_those_of_an_origin_in_order(
            steps in vec(step(), 0..120),
        ) {
            let mut world = World::new();
            for step in steps {
                world.take(step);
            }
            world.settle();
            for stream in &world.streams {
                prop_assert_eq!(stream.told.len(), world.store.len());
                for (origin, written) in &world.store.0 {
                    let of_origin = stream.told.iter().filter(|id| id.origin.number() == *origin);
                    let ids = written.iter().map(|event| &event.id);
                    prop_assert!(of_origin.eq(ids), "{:?}", stream.told);
                }
            }
        }
    }

    #[test]
    fn an_event_after_a_gap_makes_the_reader_read_the_store() {
        let mut reader = Reader::from("7:3".parse().unwrap());
        reader.read(EventsPage {
            start: "7:3".parse().unwrap(),
            cursor: "7:3".parse().unwrap(),
            ..EventsPage::default()
        });
        assert!(reader.is_live());
        let hear = |reader: &mut Reader, id: &str| reader.receive(id.parse().unwrap());
        assert_eq!(hear(&mut reader, "7:3"), Received::Duplicate);
        assert_eq!(hear(&mut reader, "7:4"), Received::Next);
        assert_eq!(hear(&mut reader, "9:1"), Received::Next);
        assert_eq!(hear(&mut reader, "7:6"), Received::Gap);
        assert_eq!((reader.is_live(), reader.cursor().to_string()), (false, "7:4,9:1".to_owned()));
    }
}
