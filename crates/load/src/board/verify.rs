//! Verifies that every stream got every acknowledged message exactly once, in order and with the same id.
//!
//! Readers order messages by position. If all readers have the same messages, each at the same position, and
//! no two messages share a position, all readers show the same.

use std::collections::HashMap;

use super::listen::StreamResults;
use super::messages::{MessageSet, Messages};
use super::post::Posted;
use super::reader::{Faults, Reader};
use crate::engine::outcome::WriteOutcome;
use crate::report::examples::Examples;

/// The result of the verification. Counts are over all streams, except where they are of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Verification {
    pub(crate) streams: u32,
    /// Messages that every stream must have once.
    pub(crate) acknowledged: u64,
    /// Messages of unknown outcome: either every stream has them once, or no stream does.
    pub(crate) unknown: u64,
    /// Of those, messages that all streams have.
    pub(crate) unknown_stored: u64,
    /// Of those, messages that only some streams have.
    pub(crate) unknown_uneven: u64,
    /// Messages that were refused or never sent, but that a stream has.
    pub(crate) refused_stored: u64,
    /// Acknowledged messages that were not received.
    pub(crate) missing: u64,
    #[serde(flatten)]
    pub(crate) faults: Faults,
    /// Event numbers of an origin that were skipped and never received.
    pub(crate) gaps: u64,
    /// Messages that share their id with another message.
    pub(crate) shared_places: u64,
    pub(crate) examples: Examples<10>,
}

impl Verification {
    /// Returns whether a message was acknowledged and no fault was found.
    pub(crate) fn clean(&self) -> bool {
        self.acknowledged > 0 && self.faults().iter().all(|(_, count)| *count == 0)
    }

    /// Returns the last line of the report.
    pub(crate) fn verdict(&self) -> &'static str {
        match self {
            _ if self.clean() => "VERIFIED",
            Self { acknowledged: 0, .. } => "NOT VERIFIED: no message was acknowledged",
            _ => "NOT VERIFIED",
        }
    }

    /// Returns all kinds of faults with their counts.
    pub(crate) fn faults(&self) -> [(&'static str, u64); 11] {
        let faults = &self.faults;
        [
            ("missing", self.missing),
            ("repeated on one connection", faults.repeats),
            ("repeated after a reconnect", faults.repeats_after_reconnect),
            ("out of order", faults.out_of_order),
            ("skipped event numbers", self.gaps),
            ("with differing ids or times", faults.misplaced),
            ("messages that share an id", self.shared_places),
            ("with another text", faults.garbled),
            ("unreadable", faults.unreadable),
            ("of unknown outcome, in some streams only", self.unknown_uneven),
            ("refused but stored", self.refused_stored),
        ]
    }
}

/// Compares what the streams received with what was acknowledged.
pub(crate) fn verify(messages: &Messages, heard: StreamResults, posted: Posted) -> Verification {
    let streams = u32::try_from(heard.readers.len()).unwrap_or(u32::MAX);
    let mut found = Verification { streams, ..Verification::default() };
    let acknowledged: MessageSet = messages.with(WriteOutcome::Acknowledged).collect();
    for reader in heard.readers {
        check_stream(&mut found, messages, &acknowledged, reader);
    }
    check_outcomes(&mut found, messages, streams);
    check_places(&mut found, messages);
    found.faults.misplaced += posted.misplaced;
    found.examples.extend(posted.examples);
    found
}

fn check_stream(
    found: &mut Verification,
    messages: &Messages,
    acknowledged: &MessageSet,
    reader: Reader,
) {
    let stream = reader.number;
    let (missing, first) = acknowledged.beyond(&reader.received);
    found.missing += missing;
    if let Some(number) = first {
        let place = messages.place(number).map_or_else(String::new, |place| format!(" ({place})"));
        found.examples.add(|| {
            format!("stream {stream} never got {missing} messages, first message {number}{place}")
        });
    }
    let (gaps, first) = reader.gaps();
    found.gaps += gaps;
    if let Some(first) = first {
        found
            .examples
            .add(|| format!("stream {stream} misses {gaps} event numbers, first {first}"));
    }
    found.faults += reader.faults;
    found.examples.extend(reader.examples);
}

fn check_outcomes(found: &mut Verification, messages: &Messages, streams: u32) {
    for number in messages.sent() {
        let having = messages.streams(number);
        match messages.outcome(number) {
            Some(WriteOutcome::Acknowledged) => found.acknowledged += 1,
            Some(WriteOutcome::Unknown) => {
                found.unknown += 1;
                found.unknown_stored += u64::from(having == streams);
                if having > 0 && having < streams {
                    found.unknown_uneven += 1;
                    found.examples.add(|| {
                        format!("message {number} of unknown outcome is in {having} of {streams} streams")
                    });
                }
            }
            Some(WriteOutcome::Refused) | None if having > 0 => {
                found.refused_stored += 1;
                found.examples.add(|| format!("message {number} was refused but stored"));
            }
            Some(WriteOutcome::Refused) | None => {}
        }
    }
}

/// Finds messages that share an id: readers would show them in any order.
fn check_places(found: &mut Verification, messages: &Messages) {
    let mut known: HashMap<(u32, u64), u32> = HashMap::new();
    for number in messages.sent() {
        let Some(place) = messages.place(number) else { continue };
        if let Some(other) = known.insert((place.origin, place.seq), number) {
            found.shared_places += 1;
            found.examples.add(|| format!("messages {other} and {number} share the id {place}"));
        }
    }
}
