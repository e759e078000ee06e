//! The random number generator, passed in so that tests are reproducible.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jiff::Timestamp;
use uuid::Uuid;

/// A source of random bytes; the system's is fit for secrets.
pub trait Random: Send + Sync {
    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// The thread-local generator, seeded and reseeded by the operating system (`ChaCha12`).
#[derive(Debug, Clone, Copy, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        rand::fill(bytes);
    }
}

/// A generator that returns one byte for ever.
#[cfg(test)]
pub(crate) struct OneByte(pub(crate) u8);

#[cfg(test)]
impl Random for OneByte {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

/// Creates an unguessable id (RFC 9562, version 4).
pub fn random_id(random: &dyn Random) -> Uuid {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

/// Creates an id that sorts by its creation time (RFC 9562, version 7).
pub(crate) fn time_ordered_id(random: &dyn Random, at: Timestamp) -> Uuid {
    let mut bytes = [0; 10];
    random.fill(&mut bytes);
    let milliseconds = u64::try_from(at.as_millisecond()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &bytes).into_uuid()
}

/// Creates ids that sort by their creation times; those of one millisecond sort in the order of the calls (RFC 9562,
/// version 7 with a counter, section 6.2, method 1), unless calls for other milliseconds are in between.
#[derive(Debug, Default)]
pub(crate) struct TimeOrderedIds {
    /// The milliseconds of the last id, and below them its counter.
    last: AtomicU64,
}

impl TimeOrderedIds {
    const COUNTER_BITS: u32 = 12;
    const COUNTER_MAX: u64 = (1 << Self::COUNTER_BITS) - 1;

    /// Creates an id. After 4,096 ids of one millisecond their order is random.
    pub(crate) fn create(&self, random: &dyn Random, at: Timestamp) -> Uuid {
        let id = time_ordered_id(random, at).as_u128();
        let first = u64::try_from(at.as_millisecond()).unwrap_or(0) << Self::COUNTER_BITS;
        let full = first | Self::COUNTER_MAX;
        let after = |last: u64| {
            let is_of_this_millisecond = (first..=full).contains(&last);
            if is_of_this_millisecond { (last + 1).min(full) } else { first }
        };
        let last = self.last.fetch_update(Relaxed, Relaxed, |last| Some(after(last)));
        let counter = after(last.unwrap_or_else(|last| last)) & Self::COUNTER_MAX;
        // The counter takes the 12 random bits between the version and the variant.
        Uuid::from_u128(id & !(u128::from(Self::COUNTER_MAX) << 64) | u128::from(counter) << 64)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_of_one_millisecond_sort_in_the_order_of_their_creation() {
        let at = Timestamp::from_millisecond(1_700_000_000_000).unwrap();
        let ids = TimeOrderedIds::default();
        let created: Vec<_> = (0..5_000).map(|_| ids.create(&OsRandom, at)).collect();
        assert!(created[..4_096].is_sorted());
        assert_eq!(created.iter().collect::<HashSet<_>>().len(), 5_000);
        assert!(created.iter().all(|id| id.get_version_num() == 7));
        let next = Timestamp::from_millisecond(1_700_000_000_001).unwrap();
        let next = ids.create(&OsRandom, next);
        assert!(created.iter().all(|id| *id < next));
    }
}
