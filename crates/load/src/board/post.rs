//! Messages, posted until they are acknowledged or given up.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use super::event::{Place, Says, Wording};
use super::messages::Messages;
use super::plan::BoardPlan;
use crate::engine::control::Control;
use crate::engine::outcome::{ErrorKind, WriteOutcome, worth_retrying};
use crate::engine::run::{Seat, Turn, Work};

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

/// What came of a message, with all its tries.
struct Settled {
    result: Result<(), ErrorKind>,
    outcome: WriteOutcome,
    tries: u32,
    /// Answered with a message of before.
    is_repeat: bool,
    place: Option<Place>,
    detail: Option<String>,
}

impl Posts {
    /// Sends the request until it is settled, or patience ends.
    async fn send(&self, seat: &mut Seat<Own>, number: u32) -> Settled {
        let give_up = Instant::now() + self.plan.args.patience;
        let mut outcome = WriteOutcome::Refused;
        let mut tries = 0;
        loop {
            tries += 1;
            let asked = seat.wire.ask(Instant::now()).await;
            let (mut result, is_repeat) = match asked.status {
                Ok(201) => (Ok(()), false),
                Ok(200) => (Ok(()), true),
                Ok(status) => (Err(ErrorKind::Status(status)), false),
                Err(error) => (Err(error), false),
            };
            let mut place = None;
            if result.is_ok() {
                let event = self.wording.read(seat.wire.answered().body());
                place = event.filter(|event| event.says == Says::Sent(number));
                if place.is_none() {
                    result = Err(ErrorKind::Malformed);
                }
            }
            // A message that may have been stored once stays in doubt, whatever a later try comes to.
            outcome = outcome.max(asked.outcome(result));
            if worth_retrying(result)
                && Instant::now() < give_up
                && asked.pause(tries, u32::MAX, &mut seat.rng, &self.control).await
            {
                continue;
            }
            let (place, detail) = (place.map(|event| event.place), asked.detail);
            return Settled { result, outcome, tries, is_repeat, place, detail };
        }
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
        hand.new_as_repeat += u64::from(came.is_repeat && came.tries == 1);
        if came.place.is_some_and(|place| !self.messages.stands(number, place)) {
            hand.misplaced.push(number);
        }
        let (cost, result) = (seat.wire.take_cost(), came.result);
        Turn { part: 0, began: None, done, cost, result, detail: came.detail }
    }

    fn missed(&self, _seat: &mut Seat<Own>, hand: &RefCell<Posted>) -> usize {
        hand.borrow_mut().not_sent += 1;
        0
    }
}
