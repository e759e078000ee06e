//! Rides recorded one by one.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use rand::RngExt;
use uuid::Uuid;

use super::plan::RidesPlan;
use super::ride::{Ids, Ride, Verticals};
use super::tally::{Repeat, Tally};
use crate::engine::control::Control;
use crate::engine::outcome::{ErrorKind, WriteOutcome, worth_retrying};
use crate::engine::run::{Seat, Turn, Work};

/// What a recorded ride is answered with.
const RECORDED: u16 = 201;
/// How many of its last events a connection may send once more.
const RECENT_MAX: usize = 16;

/// Records one ride each turn.
#[derive(Debug)]
pub(crate) struct Posts {
    pub(crate) plan: Arc<RidesPlan>,
    pub(crate) control: Control,
    /// Known when the run is to be verified.
    pub(crate) verticals: Option<Arc<Verticals>>,
    /// How often an event is sent again while it is not settled.
    pub(crate) retries: u32,
    /// The part of the acknowledged events that are sent once more, 0 to 1.
    pub(crate) repeat_share: f64,
}

/// What a connection keeps.
#[derive(Debug, Default)]
pub(crate) struct Own {
    ids: Ids,
    /// Its last acknowledged events.
    recent: VecDeque<(Uuid, Ride)>,
}

/// What came of an event, with all its tries.
struct Settled {
    result: Result<(), ErrorKind>,
    outcome: WriteOutcome,
    tries: u32,
    replayed: bool,
    detail: Option<String>,
}

impl Posts {
    /// Sends the request until it is settled, or given up.
    async fn send(&self, seat: &mut Seat<Own>) -> Settled {
        let mut outcome = WriteOutcome::Refused;
        let mut tries = 0;
        loop {
            tries += 1;
            let asked = seat.wire.ask(Instant::now()).await;
            let result = asked.expect(RECORDED);
            // An event that may have been stored once stays in doubt, whatever a later try comes to.
            outcome = outcome.max(asked.outcome(result));
            if worth_retrying(result)
                && asked.pause(tries, self.retries, &mut seat.rng, &self.control).await
            {
                continue;
            }
            let replayed = result.is_ok() && seat.wire.answered().replayed();
            return Settled { result, outcome, tries, replayed, detail: asked.detail };
        }
    }

    fn note(&self, event: (Uuid, Ride), came: &Settled, tally: &mut Tally) {
        tally.note(came.outcome);
        tally.events.retries += u64::from(came.tries - 1);
        tally.events.new_as_replayed += u64::from(came.replayed && came.tries == 1);
        if let Some(verticals) = &self.verticals {
            tally.sum(event, verticals.of(&event.1), came.outcome);
        }
    }

    /// Sends one of the connection's last events once more.
    async fn repeat(&self, seat: &mut Seat<Own>) -> Option<Repeat> {
        let count = seat.own.recent.len();
        if count == 0 || !seat.rng.random_bool(self.repeat_share) {
            return None;
        }
        let (id, ride) = seat.own.recent[seat.rng.random_range(0..count)];
        self.plan.requests.post(id, &ride, &mut seat.wire.request);
        let came = self.send(seat).await;
        // What it cost is in no figure.
        seat.wire.take_cost();
        Some(match came.result {
            Ok(()) if came.replayed => Repeat::Replayed,
            Ok(()) => Repeat::AsNew,
            Err(ErrorKind::Status(429 | 500..)) => Repeat::Unanswered,
            Err(ErrorKind::Status(_)) => Repeat::Refused,
            Err(_) => Repeat::Unanswered,
        })
    }
}

impl Work for Posts {
    type Own = Own;
    type Hand = Tally;

    fn hand(&self, _id: u32) -> Tally {
        Tally::default()
    }

    async fn turn(&self, seat: &mut Seat<Own>, hand: &RefCell<Tally>) -> Turn {
        let ride = self.plan.args.ranges.draw(&mut seat.rng);
        let id = seat.own.ids.mint();
        self.plan.requests.post(id, &ride, &mut seat.wire.request);
        let came = self.send(seat).await;
        let (done, cost) = (Instant::now(), seat.wire.take_cost());
        self.note((id, ride), &came, &mut hand.borrow_mut());
        if came.outcome == WriteOutcome::Acknowledged && self.repeat_share > 0.0 {
            if seat.own.recent.len() == RECENT_MAX {
                seat.own.recent.pop_front();
            }
            seat.own.recent.push_back((id, ride));
            if let Some(repeat) = self.repeat(seat).await {
                hand.borrow_mut().note_repeat(repeat);
            }
        }
        Turn { part: 0, began: None, done, cost, result: came.result, detail: came.detail }
    }

    fn missed(&self, _seat: &mut Seat<Own>, hand: &RefCell<Tally>) -> usize {
        hand.borrow_mut().note(WriteOutcome::Refused);
        0
    }
}
