//! The messages of a run by number: the outcome of each, how many streams have it and since when.
//!
//! Posting and reading threads update the slots concurrently; the fields are independent of each other.
//! Memory grows with the number of messages, not of streams.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::event::Position;
use crate::engine::outcome::WriteOutcome;

/// The largest number of messages of a run; each takes about 80 bytes.
pub(crate) const MESSAGES_MAX: u64 = 5_000_000;

#[derive(Debug, Default)]
struct Slot {
    /// The due time, in nanoseconds since the start.
    due_ns: AtomicU64,
    /// 0: never sent; otherwise the outcome plus 1.
    outcome: AtomicU8,
    /// The position in the response or in the first stream, whichever came first.
    place: OnceLock<Position>,
    /// Streams that have the message, and when the last of them got it.
    streams: AtomicU32,
    last_ns: AtomicU64,
}

/// All messages of a run.
#[derive(Debug)]
pub(crate) struct Messages {
    start: Instant,
    slots: Box<[Slot]>,
    /// Numbers taken.
    taken: AtomicU32,
}

impl Messages {
    /// Creates slots for `room` messages.
    pub(crate) fn new(room: u32) -> Self {
        Self {
            start: Instant::now(),
            slots: (0..room).map(|_| Slot::default()).collect(),
            taken: AtomicU32::new(0),
        }
    }

    fn slot(&self, number: u32) -> Option<&Slot> {
        self.slots.get(number as usize)
    }

    fn since_start_ns(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.start);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Takes the next number, for a message that was due at `due`; `None` if all slots are taken. The
    /// message's outcome is unknown until `settle` is called.
    pub(crate) fn take(&self, due: Instant) -> Option<u32> {
        let fits = |taken: u32| (taken as usize) < self.slots.len();
        let next = |taken| fits(taken).then(|| taken + 1);
        let number = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        let slot = self.slot(number)?;
        slot.due_ns.store(self.since_start_ns(due), Ordering::Relaxed);
        slot.outcome.store(code(WriteOutcome::Unknown), Ordering::Release);
        Some(number)
    }

    /// Sets the outcome of a message.
    pub(crate) fn settle(&self, number: u32, outcome: WriteOutcome) {
        if let Some(slot) = self.slot(number) {
            slot.outcome.store(code(outcome), Ordering::Release);
        }
    }

    /// Returns the outcome of a message; `None` if it was never sent.
    pub(crate) fn outcome(&self, number: u32) -> Option<WriteOutcome> {
        let code = self.slot(number)?.outcome.load(Ordering::Acquire);
        [WriteOutcome::Refused, WriteOutcome::Unknown, WriteOutcome::Acknowledged]
            .into_iter()
            .find(|outcome| self::code(*outcome) == code)
    }

    /// Sets the position of a message; false if it was set to another position before.
    pub(crate) fn set_position(&self, number: u32, place: Position) -> bool {
        self.slot(number).is_some_and(|slot| *slot.place.get_or_init(|| place) == place)
    }

    /// Returns the position that was set first.
    pub(crate) fn place(&self, number: u32) -> Option<Position> {
        self.slot(number)?.place.get().copied()
    }

    /// Counts one more stream that has the message. Returns the time since the message was due.
    pub(crate) fn arrived(&self, number: u32, now: Instant) -> Duration {
        let Some(slot) = self.slot(number) else { return Duration::ZERO };
        let now_ns = self.since_start_ns(now);
        slot.last_ns.fetch_max(now_ns, Ordering::Relaxed);
        slot.streams.fetch_add(1, Ordering::Release);
        Duration::from_nanos(now_ns.saturating_sub(slot.due_ns.load(Ordering::Relaxed)))
    }

    /// Returns how many streams have the message.
    pub(crate) fn streams(&self, number: u32) -> u32 {
        self.slot(number).map_or(0, |slot| slot.streams.load(Ordering::Acquire))
    }

    /// Returns the time from when the message was due until the last of `streams` streams had it.
    pub(crate) fn until_last(&self, number: u32, streams: u32) -> Option<Duration> {
        let slot = self.slot(number)?;
        let is_everywhere = streams > 0 && slot.streams.load(Ordering::Acquire) >= streams;
        let last_ns = slot.last_ns.load(Ordering::Relaxed);
        let due_ns = slot.due_ns.load(Ordering::Relaxed);
        is_everywhere.then(|| Duration::from_nanos(last_ns.saturating_sub(due_ns)))
    }

    /// Returns the numbers of the messages that were sent.
    pub(crate) fn sent(&self) -> std::ops::Range<u32> {
        0..self.taken.load(Ordering::Relaxed)
    }

    /// Returns the numbers of the messages with this outcome.
    pub(crate) fn with(&self, outcome: WriteOutcome) -> impl Iterator<Item = u32> + '_ {
        self.sent().filter(move |number| self.outcome(*number) == Some(outcome))
    }
}

const fn code(outcome: WriteOutcome) -> u8 {
    outcome as u8 + 1
}

/// A bit set of message numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageSet(Vec<u64>);

impl MessageSet {
    /// Adds a number; false if it was already in the set.
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1_u64 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    /// Returns how many numbers are not in `other`, and the first of them.
    pub(crate) fn beyond(&self, other: &Self) -> (u64, Option<u32>) {
        let of_other = other.0.iter().copied().chain(std::iter::repeat(0));
        let words = || self.0.iter().zip(of_other.clone()).map(|(mine, theirs)| mine & !theirs);
        let count = words().map(|word| u64::from(word.count_ones())).sum();
        let first = words().zip(0_u32..).find(|(word, _)| *word != 0);
        (count, first.map(|(word, place)| place * 64 + word.trailing_zeros()))
    }
}

impl FromIterator<u32> for MessageSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut all = Self::default();
        for number in numbers {
            all.insert(number);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_the_last_stream_is_known_once_all_streams_have_the_message() {
        let messages = Messages::new(1);
        let due = Instant::now();
        let number = messages.take(due).unwrap();
        assert_eq!(messages.take(due), None, "all slots are taken");
        let after = |ms| due + Duration::from_millis(ms);
        assert_eq!(messages.arrived(number, after(30)), Duration::from_millis(30));
        assert_eq!(messages.until_last(number, 2), None);
        messages.arrived(number, after(20));
        assert_eq!(messages.until_last(number, 2), Some(Duration::from_millis(30)));
    }

    #[test]
    fn a_sent_message_is_unknown_until_it_is_settled() {
        let messages = Messages::new(3);
        assert_eq!(messages.outcome(0), None);
        for _ in 0..3 {
            messages.take(Instant::now());
        }
        messages.settle(0, WriteOutcome::Acknowledged);
        messages.settle(2, WriteOutcome::Refused);
        let of = |outcome| messages.with(outcome).collect::<Vec<_>>();
        assert_eq!(of(WriteOutcome::Acknowledged), [0]);
        assert_eq!(of(WriteOutcome::Unknown), [1]);
        assert_eq!(of(WriteOutcome::Refused), [2]);
    }

    #[test]
    fn two_different_positions_of_one_message_are_detected() {
        let messages = Messages::new(1);
        let place = Position { at: 1, origin: 7, seq: 42 };
        assert!(messages.set_position(0, place) && messages.set_position(0, place));
        assert!(!messages.set_position(0, Position { at: 2, ..place }));
        assert!(!messages.set_position(1, place), "no message has this number");
    }

    #[test]
    fn the_difference_of_two_sets_is_counted_and_its_first_number_found() {
        let all: MessageSet = [0, 63, 64, 200].into_iter().collect();
        let some: MessageSet = [0, 64].into_iter().collect();
        assert_eq!(all.beyond(&some), (2, Some(63)));
        assert_eq!(some.beyond(&all), (0, None));
        assert!(!all.clone().insert(200) && all.clone().insert(201));
    }
}
