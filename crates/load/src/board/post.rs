//! Posts messages, retrying each until it is acknowledged or given up.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use super::event::{Content, Event, Position};
use super::listen::BoardRun;
use crate::engine::exchange::Settled;
use crate::engine::outcome::ErrorKind;
use crate::engine::run::{Connection, Iteration, Work};
use crate::http::http1::Decoder;
use crate::report::examples::Examples;

/// Posts one message each iteration.
#[derive(Debug)]
pub(crate) struct Posts {
    pub(crate) crowd: Arc<BoardRun>,
}

/// The totals of a thread.
#[derive(Debug, Clone, Default, derive_more::AddAssign)]
pub(crate) struct Posted {
    /// Tries after the first.
    pub(crate) retries: u64,
    /// Messages whose first try was answered as a repeat.
    pub(crate) new_as_repeat: u64,
    /// Messages that were due and never sent.
    pub(crate) not_sent: u64,
    /// Messages whose response has another position than a stream.
    pub(crate) misplaced: u64,
    pub(crate) examples: Examples<1>,
}

impl Posts {
    /// Sends the request until it is settled or `--patience` ends. Returns the message's position, and whether
    /// it was answered as a repeat.
    async fn send(&self, seat: &mut Connection<u64>, number: u32) -> Settled<(Position, bool)> {
        let give_up = Instant::now() + self.crowd.plan.args.patience;
        let judge = |status, seen: &Decoder| match status {
            200 | 201 => match self.crowd.wording.read(seen.body()) {
                Some(Event { place, says: Content::Sent(said) }) if said == number => {
                    Ok((place, status == 200))
                }
                _ => Err(ErrorKind::Malformed),
            },
            _ => Err(ErrorKind::Status(status)),
        };
        seat.settle(|_| Instant::now() < give_up, judge).await
    }
}

impl Work for Posts {
    /// Messages that the connection has posted.
    type State = u64;
    type Output = Posted;

    fn is_done(&self, seat: &Connection<u64>) -> bool {
        self.crowd.plan.args.messages.is_some_and(|each| seat.state >= each)
    }

    async fn iterate(&self, seat: &mut Connection<u64>, hand: &RefCell<Posted>) -> Iteration {
        seat.state += 1;
        let BoardRun { plan, tokens, messages, wording, .. } = &*self.crowd;
        let Some(number) = messages.take(seat.due) else {
            hand.borrow_mut().not_sent += 1;
            return Iteration::ended(0, seat, Err(ErrorKind::NotSent), None);
        };
        // Closed loop: a connection is an account. Open loop: accounts take turns.
        let user = if plan.args.messages.is_some() { seat.number } else { number.into() };
        let token = &tokens[usize::try_from(user).unwrap_or_default() % tokens.len()];
        let site = plan.site(seat.number);
        site.post(token, number, wording, &mut seat.wire.request);
        let came = self.send(seat, number).await;
        let turn = Iteration::ended(0, seat, came.result.map(drop), came.detail);
        messages.settle(number, came.outcome);
        let mut hand = hand.borrow_mut();
        hand.retries += u64::from(came.tries - 1);
        if let Ok((place, is_repeat)) = came.result {
            hand.new_as_repeat += u64::from(is_repeat && came.tries == 1);
            if !messages.set_position(number, place) {
                hand.misplaced += 1;
                hand.examples.add(|| {
                    format!("message {number} has another id in its response than in a stream")
                });
            }
        }
        turn
    }

    fn missed(&self, _seat: &mut Connection<u64>, hand: &RefCell<Posted>) -> usize {
        hand.borrow_mut().not_sent += 1;
        0
    }
}
