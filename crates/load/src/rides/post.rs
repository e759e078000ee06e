//! Records rides one by one.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use rand::RngExt;
use uuid::Uuid;

use super::plan::RidesPlan;
use super::ride::{Ids, Ride};
use super::tally::Tally;
use crate::engine::exchange::Settled;
use crate::engine::outcome::{ErrorKind, WriteOutcome};
use crate::engine::run::{Connection, Iteration, Work};
use crate::http::http1::Decoder;

/// The status of a recorded ride.
const RECORDED: u16 = 201;
/// The number of a connection's last events that it may repeat.
const RECENT_MAX: usize = 16;

/// Records one ride each iteration.
#[derive(Debug)]
pub(crate) struct Posts {
    pub(crate) plan: Arc<RidesPlan>,
    /// The largest number of retries of an event.
    pub(crate) retries: u32,
    /// The share of the acknowledged events that are repeated, 0 to 1.
    pub(crate) repeat_share: f64,
}

/// The state of a connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    ids: Ids,
    /// The last acknowledged events.
    recent: VecDeque<(Uuid, Ride)>,
}

/// The result of an event: whether it was answered as replayed.
type RideResult = Settled<bool>;

impl Posts {
    /// Sends the request until it is settled or given up.
    async fn send(&self, seat: &mut Connection<ConnectionState>) -> RideResult {
        let again = |tries| tries <= self.retries;
        let judge = |status, seen: &Decoder| match status {
            RECORDED => Ok(seen.replayed()),
            _ => Err(ErrorKind::Status(status)),
        };
        seat.settle(again, judge).await
    }

    fn note(&self, event: (Uuid, Ride), came: &RideResult, tally: &mut Tally) {
        tally.note(event, came.outcome, self.plan.verticals());
        tally.events.retries += u64::from(came.tries - 1);
        tally.events.new_as_replayed += u64::from(came.result == Ok(true) && came.tries == 1);
    }

    /// Repeats one of the connection's last events with probability `repeat_share`, and counts the result.
    async fn repeat(&self, seat: &mut Connection<ConnectionState>, hand: &RefCell<Tally>) {
        let count = seat.state.recent.len();
        if count == 0 || !seat.rng.random_bool(self.repeat_share) {
            return;
        }
        let (id, ride) = seat.state.recent[seat.rng.random_range(0..count)];
        self.plan.requests.post(id, &ride, &mut seat.wire.request);
        let came = self.send(seat).await;
        // Repeats are not measured.
        seat.wire.take_cost();
        hand.borrow_mut().events.count_repeat(came.result);
    }
}

impl Work for Posts {
    type State = ConnectionState;
    type Output = Tally;

    async fn iterate(
        &self,
        seat: &mut Connection<ConnectionState>,
        hand: &RefCell<Tally>,
    ) -> Iteration {
        let ride = self.plan.args.ranges.draw(&mut seat.rng);
        let id = seat.state.ids.mint();
        self.plan.requests.post(id, &ride, &mut seat.wire.request);
        let mut came = self.send(seat).await;
        let turn = Iteration::ended(0, seat, came.result.map(drop), came.detail.take());
        self.note((id, ride), &came, &mut hand.borrow_mut());
        if came.outcome == WriteOutcome::Acknowledged && self.repeat_share > 0.0 {
            if seat.state.recent.len() == RECENT_MAX {
                seat.state.recent.pop_front();
            }
            seat.state.recent.push_back((id, ride));
            self.repeat(seat, hand).await;
        }
        turn
    }

    fn missed(&self, _seat: &mut Connection<ConnectionState>, hand: &RefCell<Tally>) -> usize {
        hand.borrow_mut().events.outcomes.count(WriteOutcome::Refused);
        0
    }
}
