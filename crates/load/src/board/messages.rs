//! The messages of a run by number: what became of each, and how many streams have it since when.
//!
//! Threads that post and threads that read write here at the same time; each field is written on its own.
//! Memory grows with the messages, whatever number of streams there are.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::event::Place;
use crate::engine::outcome::WriteOutcome;

/// The most messages of a run; about 80 bytes each.
pub(crate) const MESSAGES_MAX: u64 = 5_000_000;

#[derive(Debug, Default)]
struct Slot {
    /// When it was due, in nanoseconds since the start.
    due_ns: AtomicU64,
    /// 0 while it was never sent, else 1 and what is known.
    outcome: AtomicU8,
    /// Where it stands, as its answer or the first stream said.
    place: OnceLock<Place>,
    /// Streams that have it, and when the last of them got it.
    streams: AtomicU32,
    last_ns: AtomicU64,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Messages {
    start: Instant,
    slots: Box<[Slot]>,
    /// How many numbers are given away.
    taken: AtomicU32,
}

impl Messages {
    /// Room for so many.
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

    /// Takes the next number, for a message that was due then; `None` if there is no room for it. From now
    /// on nobody knows whether it is stored, until somebody says so.
    pub(crate) fn take(&self, due: Instant) -> Option<u32> {
        let fits = |taken: u32| (taken as usize) < self.slots.len();
        let next = |taken| fits(taken).then(|| taken + 1);
        let number = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        let slot = self.slot(number)?;
        slot.due_ns.store(self.since_start_ns(due), Ordering::Relaxed);
        slot.outcome.store(code(WriteOutcome::Unknown), Ordering::Release);
        Some(number)
    }

    /// Says what became of it.
    pub(crate) fn settle(&self, number: u32, outcome: WriteOutcome) {
        if let Some(slot) = self.slot(number) {
            slot.outcome.store(code(outcome), Ordering::Release);
        }
    }

    /// What is known of it; `None` if it was never sent.
    pub(crate) fn outcome(&self, number: u32) -> Option<WriteOutcome> {
        let code = self.slot(number)?.outcome.load(Ordering::Acquire);
        [WriteOutcome::Refused, WriteOutcome::Unknown, WriteOutcome::Acknowledged]
            .into_iter()
            .find(|outcome| self::code(*outcome) == code)
    }

    /// Says where it stands; false if somebody said something else before.
    pub(crate) fn stands(&self, number: u32, place: Place) -> bool {
        self.slot(number).is_some_and(|slot| *slot.place.get_or_init(|| place) == place)
    }

    /// Where it stands, as was said first.
    pub(crate) fn place(&self, number: u32) -> Option<Place> {
        self.slot(number)?.place.get().copied()
    }

    /// One more stream has it; how long that took since it was due.
    pub(crate) fn arrived(&self, number: u32, now: Instant) -> Duration {
        let Some(slot) = self.slot(number) else { return Duration::ZERO };
        let now_ns = self.since_start_ns(now);
        slot.last_ns.fetch_max(now_ns, Ordering::Relaxed);
        slot.streams.fetch_add(1, Ordering::Release);
        Duration::from_nanos(now_ns.saturating_sub(slot.due_ns.load(Ordering::Relaxed)))
    }

    /// How many streams have it.
    pub(crate) fn streams(&self, number: u32) -> u32 {
        self.slot(number).map_or(0, |slot| slot.streams.load(Ordering::Acquire))
    }

    /// How long it took since it was due until the last of so many streams had it.
    pub(crate) fn until_last(&self, number: u32, streams: u32) -> Option<Duration> {
        let slot = self.slot(number)?;
        let is_everywhere = streams > 0 && slot.streams.load(Ordering::Acquire) >= streams;
        let last_ns = slot.last_ns.load(Ordering::Relaxed);
        let due_ns = slot.due_ns.load(Ordering::Relaxed);
        is_everywhere.then(|| Duration::from_nanos(last_ns.saturating_sub(due_ns)))
    }

    /// The numbers of those that were sent.
    pub(crate) fn sent(&self) -> std::ops::Range<u32> {
        0..self.taken.load(Ordering::Relaxed)
    }

    /// The numbers of those with that outcome.
    pub(crate) fn with(&self, outcome: WriteOutcome) -> impl Iterator<Item = u32> + '_ {
        self.sent().filter(move |number| self.outcome(*number) == Some(outcome))
    }
}

const fn code(outcome: WriteOutcome) -> u8 {
    outcome as u8 + 1
}

/// A set of messages, a bit each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers(Vec<u64>);

impl Numbers {
    /// Adds one; false if it is there.
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1_u64 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    /// How many are not in `other`, and the first of them.
    pub(crate) fn beyond(&self, other: &Self) -> (u64, Option<u32>) {
        let of_other = other.0.iter().copied().chain(std::iter::repeat(0));
        let words = || self.0.iter().zip(of_other.clone()).map(|(mine, theirs)| mine & !theirs);
        let count = words().map(|word| u64::from(word.count_ones())).sum();
        let first = words().zip(0_u32..).find(|(word, _)| *word != 0);
        (count, first.map(|(word, place)| place * 64 + word.trailing_zeros()))
    }
}

impl FromIterator<u32> for Numbers {
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
    fn the_last_of_all_streams_says_how_long_it_took() {
        let messages = Messages::new(1);
        let due = Instant::now();
        let number = messages.take(due).unwrap();
        assert_eq!(messages.take(due), None, "there is room for one");
        let after = |ms| due + Duration::from_millis(ms);
        assert_eq!(messages.arrived(number, after(30)), Duration::from_millis(30));
        assert_eq!(messages.until_last(number, 2), None);
        messages.arrived(number, after(20));
        assert_eq!(messages.until_last(number, 2), Some(Duration::from_millis(30)));
    }

    #[test]
    fn what_was_sent_is_unknown_until_it_is_settled() {
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
    fn two_who_say_other_places_are_found_out() {
        let messages = Messages::new(1);
        let place = Place { at: 1, origin: 7, seq: 42 };
        assert!(messages.stands(0, place) && messages.stands(0, place));
        assert!(!messages.stands(0, Place { at: 2, ..place }));
        assert!(!messages.stands(1, place), "there is none of that number");
    }

    #[test]
    fn what_is_in_one_set_alone_is_counted_and_named() {
        let all: Numbers = [0, 63, 64, 200].into_iter().collect();
        let some: Numbers = [0, 64].into_iter().collect();
        assert_eq!(all.beyond(&some), (2, Some(63)));
        assert_eq!(some.beyond(&all), (0, None));
        assert!(!all.clone().insert(200) && all.clone().insert(201));
    }
}
