//! One request each iteration: a read, a write, or either at random.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rand::RngExt;
use rand::rngs::SmallRng;

use super::ledger::Ledger;
use super::plan::{Kind, Mix, Plan};
use super::raw::{RawRows, Row};
use super::set::{Pair, Write};
use crate::engine::outcome::{ErrorKind, Outcomes, WriteOutcome};
use crate::engine::record::Sample;
use crate::engine::run::{Connection, Iteration, Work};

/// The workload of a run.
#[derive(Debug)]
pub(crate) struct Requests {
    pub(crate) plan: Arc<Plan>,
    /// The number of the repeated run, from 0.
    pub(crate) run: u32,
    pub(crate) raw: Option<RawRows>,
    /// The same instant on both clocks.
    pub(crate) epoch: (Instant, SystemTime),
}

/// The result of a thread: its writes.
#[derive(Debug, Default)]
pub(crate) struct Hand {
    /// Writes started.
    begun: u64,
    pub(crate) ledger: Ledger,
    pub(crate) writes: Outcomes,
    raw: Option<RawRows>,
}

impl Requests {
    /// Writes a read request into the connection's buffer.
    fn prepare_get(&self, seat: &mut Connection<Pair>) {
        let Some(get) = &self.plan.get else { return };
        let index = get.choice.draw(&mut seat.rng, get.set.count());
        let pair = &mut seat.state;
        get.set.pair(&self.plan.prefix, index, pair);
        seat.wire.head_only = get.head;
        get.template_of(index).render(&pair.short, &pair.long, &mut seat.wire.request);
    }

    /// Writes a write request into the connection's buffer. Returns the write's number.
    fn prepare_put(&self, seat: &mut Connection<Pair>, hand: &mut Hand) -> u64 {
        let Some(put) = &self.plan.put else { return 0 };
        // With `--same-pair` all threads write the link of the first thread.
        let (thread, number) = if put.same_pair { (0, 0) } else { (seat.thread, hand.begun) };
        hand.begun += 1;
        let pair = &mut seat.state;
        pair.for_writing(&self.plan.prefix, Write { run: self.run, thread, number });
        seat.wire.head_only = false;
        put.template.render(&pair.short, &pair.long, &mut seat.wire.request);
        number
    }

    fn judge(&self, kind: Kind, status: u16, seat: &Connection<Pair>) -> Result<(), ErrorKind> {
        let plan = &*self.plan;
        let is_expected = match kind {
            Kind::Get => plan.get.as_ref().is_some_and(|get| get.expect.contains(&status)),
            Kind::Put => plan.put.as_ref().is_some_and(|put| put.expect.contains(&status)),
        };
        if !is_expected {
            return Err(ErrorKind::Status(status));
        }
        let is_wrong = plan.args.verify
            && kind == Kind::Get
            && seat.wire.answered().location() != Some(seat.state.long.as_slice());
        if is_wrong { Err(ErrorKind::WrongTarget) } else { Ok(()) }
    }

    fn choose(&self, flow: usize, rng: &mut SmallRng) -> Kind {
        match self.plan.lanes[flow].mix {
            Mix::Only(kind) => kind,
            Mix::WriteShare(share) if rng.random_bool(share) => Kind::Put,
            Mix::WriteShare(_) => Kind::Get,
        }
    }
}

impl Work for Requests {
    type State = Pair;
    type Output = Hand;

    fn parts(&self) -> usize {
        2
    }

    async fn iterate(&self, seat: &mut Connection<Pair>, hand: &RefCell<Hand>) -> Iteration {
        let kind = self.choose(seat.flow, &mut seat.rng);
        let write = match kind {
            Kind::Get => {
                self.prepare_get(seat);
                0
            }
            Kind::Put => self.prepare_put(seat, &mut hand.borrow_mut()),
        };
        let asked = seat.wire.send(seat.began).await;
        let result = asked.status.and_then(|status| self.judge(kind, status, seat));
        let outcome = asked.outcome(result);
        let turn = Iteration::ended(kind as usize, seat, result, asked.detail);
        if kind == Kind::Put {
            let mut hand = hand.borrow_mut();
            hand.writes.count(outcome);
            if self.plan.args.verify {
                hand.ledger.note(write, outcome);
            }
        }
        turn
    }

    fn missed(&self, seat: &mut Connection<Pair>, hand: &RefCell<Hand>) -> usize {
        let kind = self.choose(seat.flow, &mut seat.rng);
        if kind == Kind::Put {
            hand.borrow_mut().writes.count(WriteOutcome::Refused);
        }
        kind as usize
    }

    fn ended(&self, seat: &Connection<Pair>, hand: &RefCell<Hand>, part: usize, sample: &Sample) {
        if let Some(raw) = &self.raw {
            let mut hand = hand.borrow_mut();
            let rows = hand.raw.get_or_insert_with(|| raw.clone());
            let start = self.epoch.1 + (seat.due - self.epoch.0);
            rows.push(Row {
                start: start.duration_since(UNIX_EPOCH).unwrap_or_default(),
                late: seat.began - seat.due,
                kind: if part == Kind::Put as usize { Kind::Put } else { Kind::Get },
                sample: *sample,
            });
        }
    }
}
