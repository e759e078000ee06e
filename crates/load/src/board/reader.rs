//! The reader of one stream, which checks its events.

use std::time::{Duration, Instant};

use super::event::{Content, Event, MessageFormat, Position, Recent};
use super::messages::{MessageSet, Messages};
use super::order::{Order, SeqStatus};
use super::sse::Frame;
use crate::report::examples::Examples;

/// Counts of faulty events in a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, derive_more::AddAssign, serde::Serialize)]
pub(crate) struct Faults {
    /// Events received twice on one connection.
    pub(crate) repeats: u64,
    /// Events received again after a reconnect.
    pub(crate) repeats_after_reconnect: u64,
    /// Events received after a later event of the same origin.
    pub(crate) out_of_order: u64,
    /// Messages with another id or time than in another stream or in their response.
    pub(crate) misplaced: u64,
    /// Messages with another text than was sent.
    pub(crate) garbled: u64,
    /// Events that cannot be parsed.
    pub(crate) unreadable: u64,
}

/// The reader of one stream, over all its connections.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) number: u32,
    order: Order,
    /// The id of the last event, from which the stream resumes; empty before the first event.
    pub(crate) cursor: Vec<u8>,
    /// The run's messages that were received.
    pub(crate) received: MessageSet,
    pub(crate) faults: Faults,
    pub(crate) examples: Examples<3>,
}

impl Reader {
    /// A reader that starts from the cursor `start`.
    pub(crate) fn new(number: u32, start: &str) -> Self {
        Self {
            number,
            order: Order::from_cursor(start),
            cursor: Vec::new(),
            received: MessageSet::default(),
            faults: Faults::default(),
            examples: Examples::default(),
        }
    }

    /// Notes that the stream reconnects.
    pub(crate) fn resume(&mut self) {
        self.order.resume();
    }

    /// Returns how many event numbers are missing, and the first missing id.
    pub(crate) fn gaps(&self) -> (u64, Option<String>) {
        let (count, first) = self.order.missing();
        (count, first.map(|(origin, seq)| format!("{origin}:{seq}")))
    }

    /// Checks an event that was received at `now`. Returns its latency if it is a new message of the run.
    pub(crate) fn take(
        &mut self,
        frame: Frame<'_>,
        now: Instant,
        (recent, wording, messages): (&mut Recent, &MessageFormat, &Messages),
    ) -> Option<Duration> {
        // Presence events and heartbeats have no id.
        let (id, data) = (frame.id?, frame.data?);
        self.cursor.clear();
        self.cursor.extend_from_slice(id);
        let number = self.number;
        let Some(event) = recent.read(data, wording) else {
            self.faults.unreadable += 1;
            let text = String::from_utf8_lossy(&data[..data.len().min(80)]);
            self.examples.add(|| format!("stream {number} got a malformed event: {text}"));
            return None;
        };
        self.place(event);
        match event.says {
            Content::Sent(message) => {
                if !messages.set_position(message, event.place) {
                    self.misplaced(message, event.place, messages);
                }
                self.received.insert(message).then(|| messages.arrived(message, now))
            }
            Content::Garbled => {
                self.faults.garbled += 1;
                let place = event.place;
                self.examples.add(|| format!("stream {number} got {place} with another text"));
                None
            }
            Content::Other => None,
        }
    }

    fn misplaced(&mut self, message: u32, place: Position, messages: &Messages) {
        let number = self.number;
        self.faults.misplaced += 1;
        self.examples.add(|| {
            let other = messages.place(message).map(|other| other.to_string());
            let other = other.unwrap_or_else(|| "unknown".to_owned());
            format!(
                "stream {number} got message {message} as {place}; elsewhere its id is {other} or its time differs"
            )
        });
    }

    fn place(&mut self, Event { place, .. }: Event) {
        let (number, faults) = (self.number, &mut self.faults);
        let (count, how) = match self.order.take(place.origin, place.seq) {
            // A skipped number may still arrive.
            SeqStatus::Next | SeqStatus::Ahead => return,
            SeqStatus::Late => (&mut faults.out_of_order, "after a later event"),
            SeqStatus::Again { from_before: true } => {
                (&mut faults.repeats_after_reconnect, "again after a reconnect")
            }
            SeqStatus::Again { from_before: false } => (&mut faults.repeats, "twice"),
        };
        *count += 1;
        self.examples.add(|| format!("stream {number} got {place} {how}"));
    }
}
