//! The random number generator, passed in so that tests are reproducible.

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
