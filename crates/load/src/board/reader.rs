//! One stream: what its events say, and whether they came as they should.

use std::time::{Duration, Instant};

use super::event::{Event, Place, Recent, Says, Wording};
use super::messages::{Messages, Numbers};
use super::order::{Came, Order};
use super::sse::Frame;
use crate::report::examples::Examples;

/// What was wrong with the events of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, derive_more::AddAssign, serde::Serialize)]
pub(crate) struct Faults {
    /// Came again on one connection.
    pub(crate) repeats: u64,
    /// Came again on a later connection than the one on which they came first.
    pub(crate) repeats_after_reconnect: u64,
    /// Came after a later one of their origin.
    pub(crate) out_of_order: u64,
    /// Messages at another place than in another stream, or in their answer.
    pub(crate) misplaced: u64,
    /// Messages with another text than they were sent with.
    pub(crate) garbled: u64,
    /// Events that cannot be read.
    pub(crate) unreadable: u64,
}

/// The reader of one stream, over all its connections.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) number: u32,
    order: Order,
    /// What the last event says to go on from; empty before the first.
    pub(crate) cursor: Vec<u8>,
    /// The run's messages that came.
    pub(crate) heard: Numbers,
    pub(crate) faults: Faults,
    pub(crate) examples: Examples<3>,
}

impl Reader {
    /// One that begins behind `start`.
    pub(crate) fn new(number: u32, start: &str) -> Self {
        Self {
            number,
            order: Order::from_cursor(start),
            cursor: Vec::new(),
            heard: Numbers::default(),
            faults: Faults::default(),
            examples: Examples::default(),
        }
    }

    /// Its connection is made anew.
    pub(crate) fn resume(&mut self) {
        self.order.resume();
    }

    /// Numbers of events that were passed over and did not come, and the first of them.
    pub(crate) fn gaps(&self) -> (u64, Option<String>) {
        let (count, first) = self.order.missing();
        (count, first.map(|(origin, seq)| format!("{origin}:{seq}")))
    }

    /// Takes an event that came at `now`. If it is one of the run's messages, and new: how long it took.
    pub(crate) fn take(
        &mut self,
        frame: Frame<'_>,
        now: Instant,
        (recent, wording, messages): (&mut Recent, &Wording, &Messages),
    ) -> Option<Duration> {
        // Who comes and goes, and signs of life, have no id.
        let (id, data) = (frame.id?, frame.data?);
        self.cursor.clear();
        self.cursor.extend_from_slice(id);
        let number = self.number;
        let Some(event) = recent.read(data, wording) else {
            self.faults.unreadable += 1;
            let text = String::from_utf8_lossy(&data[..data.len().min(80)]);
            self.examples.add(|| format!("stream {number} got what is no event: {text}"));
            return None;
        };
        self.place(event);
        match event.says {
            Says::Sent(message) => {
                if !messages.stands(message, event.place) {
                    self.misplaced(message, event.place, messages);
                }
                self.heard.insert(message).then(|| messages.arrived(message, now))
            }
            Says::Garbled => {
                self.faults.garbled += 1;
                let place = event.place;
                self.examples.add(|| format!("stream {number} got {place} with another text"));
                None
            }
            Says::Other => None,
        }
    }

    fn misplaced(&mut self, message: u32, place: Place, messages: &Messages) {
        let number = self.number;
        self.faults.misplaced += 1;
        self.examples.add(|| {
            let other = messages.place(message).map(|other| other.to_string());
            let other = other.unwrap_or_else(|| "nowhere".to_owned());
            format!(
                "stream {number} got message {message} as {place}, elsewhere it is {other} or of another time"
            )
        });
    }

    fn place(&mut self, Event { place, .. }: Event) {
        let (number, faults) = (self.number, &mut self.faults);
        let (count, how) = match self.order.take(place.origin, place.seq) {
            // What was passed over may still come.
            Came::Next | Came::Ahead => return,
            Came::Late => (&mut faults.out_of_order, "after a later one"),
            Came::Again { from_before: true } => {
                (&mut faults.repeats_after_reconnect, "again after a reconnect")
            }
            Came::Again { from_before: false } => (&mut faults.repeats, "twice"),
        };
        *count += 1;
        self.examples.add(|| format!("stream {number} got {place} {how}"));
    }
}
