//! Messages, posted until they are acknowledged or given up.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use super::event::{Event, Place, Says, Wording};
use super::messages::Messages;
use super::plan::BoardPlan;
use crate::engine::control::Control;
use crate::engine::exchange::Settled;
use crate::engine::outcome::ErrorKind;
use crate::engine::run::{Seat, Turn, Work};
use crate::http::http1::Decoder;

/// Posts one message each turn.
#[derive(Debug)]
pub(crate) struct Posts {
    pub(crate) plan: Arc<BoardPlan>,
    pub(crate) control: Control,
    pub(crate) tokens: Arc<[String]>,
    pub(crate) messages: Arc<Messages>,
    pub(crate) wording: Wording,
}

/// What a thread brings back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Posted {
    /// Tries after the first.
    pub(crate) retries: u64,
    /// Answered at their first try as if they had been sent before.
    pub(crate) new_as_repeat: u64,
    /// Due, and never sent.
    pub(crate) not_sent: u64,
    /// Numbers of those whose answer names another place than a stream did.
    pub(crate) misplaced: Vec<u32>,
}

impl Posted {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.retries += other.retries;
        self.new_as_repeat += other.new_as_repeat;
        self.not_sent += other.not_sent;
        self.misplaced.extend_from_slice(&other.misplaced);
    }
}

/// What a connection keeps.
#[derive(Debug, Default)]
pub(crate) struct Own {
    posted: u64,
}

impl Posts {
    /// Sends the request until it is settled, or patience ends: where the message stands, and whether it is
    /// answered as one of before.
    async fn send(
        &self,
        Seat { wire, rng, .. }: &mut Seat<Own>,
        number: u32,
    ) -> Settled<(Place, bool)> {
        let give_up = Instant::now() + self.plan.args.patience;
        let judge = |status, seen: &Decoder| match status {
            200 | 201 => match self.wording.read(seen.body()) {
                Some(Event { place, says: Says::Sent(sent) }) if sent == number => {
                    Ok((place, status == 200))
                }
                _ => Err(ErrorKind::Malformed),
            },
            _ => Err(ErrorKind::Status(status)),
        };
        wire.settle(rng, &self.control, |_| Instant::now() < give_up, judge).await
    }
}

impl Work for Posts {
    type Own = Own;
    type Hand = Posted;

    fn hand(&self, _id: u32) -> Posted {
        Posted::default()
    }

    fn is_done(&self, seat: &Seat<Own>) -> bool {
        self.plan.args.messages.is_some_and(|each| seat.own.posted >= each)
    }

    async fn turn(&self, seat: &mut Seat<Own>, hand: &RefCell<Posted>) -> Turn {
        seat.own.posted += 1;
        let Some(number) = self.messages.take(seat.due) else {
            hand.borrow_mut().not_sent += 1;
            let (done, cost) = (Instant::now(), seat.wire.take_cost());
            let result = Err(ErrorKind::NotSent);
            return Turn { part: 0, began: None, done, cost, result, detail: None };
        };
        // Closed loop: a connection is an account. Open loop: accounts take turns.
        let user = if self.plan.args.messages.is_some() { seat.number } else { number.into() };
        let token = &self.tokens[usize::try_from(user).unwrap_or_default() % self.tokens.len()];
        let site = self.plan.site(seat.number);
        site.post(token, number, &self.wording, &mut seat.wire.request);
        let came = self.send(seat, number).await;
        let done = Instant::now();
        self.messages.settle(number, came.outcome);
        let mut hand = hand.borrow_mut();
        hand.retries += u64::from(came.tries - 1);
        if let Ok((place, is_repeat)) = came.result {
            hand.new_as_repeat += u64::from(is_repeat && came.tries == 1);
            if !self.messages.stands(number, place) {
                hand.misplaced.push(number);
            }
        }
        let (cost, result) = (seat.wire.take_cost(), came.result.map(drop));
        Turn { part: 0, began: None, done, cost, result, detail: came.detail }
    }

    fn missed(&self, _seat: &mut Seat<Own>, hand: &RefCell<Posted>) -> usize {
        hand.borrow_mut().not_sent += 1;
        0
    }
}
