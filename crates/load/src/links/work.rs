//! One request each turn: reads, writes, or either at random.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::RngExt;
use rand::rngs::SmallRng;

use super::ledger::Ledger;
use super::plan::{Kind, Mix, Plan};
use super::raw::{RawRows, Row};
use super::set::{Pair, Write};
use crate::engine::outcome::{ErrorKind, WriteOutcome};
use crate::engine::record::Sample;
use crate::engine::run::{Seat, Turn, Work};

/// Requests of a run.
#[derive(Debug)]
pub(crate) struct Requests {
    pub(crate) plan: Arc<Plan>,
    /// Which of the repeated runs.
    pub(crate) run: u32,
    pub(crate) raw: Option<RawRows>,
    /// One moment by both clocks.
    pub(crate) epoch: (Instant, SystemTime),
}

/// What a thread keeps of its writes.
#[derive(Debug)]
pub(crate) struct Hand {
    thread: u32,
    /// Writes begun.
    begun: u64,
    pub(crate) ledger: Ledger,
    /// Writes that the server refused, or that were never sent.
    pub(crate) refused: u64,
    /// Writes of which nobody knows whether they were stored.
    pub(crate) unknown: u64,
    raw: Option<RawRows>,
}

impl Requests {
    /// Puts the bytes of a read into the connection's buffer.
    fn prepare_get(&self, seat: &mut Seat<Pair>) {
        let Some(get) = &self.plan.get else { return };
        let index = get.choice.draw(&mut seat.rng, get.set.count());
        let pair = &mut seat.own;
        get.set.pair(&self.plan.prefix, index, pair);
        seat.wire.head_only = get.head;
        get.template_of(index).render(&pair.short, &pair.long, &mut seat.wire.request);
    }

    /// The same with a write; its number.
    fn prepare_put(&self, seat: &mut Seat<Pair>, hand: &mut Hand) -> u64 {
        let Some(put) = &self.plan.put else { return 0 };
        // The one pair of `--same-pair` belongs to the first thread, whoever sends it.
        let (thread, number) = if put.same_pair { (0, 0) } else { (hand.thread, hand.begun) };
        hand.begun += 1;
        let pair = &mut seat.own;
        pair.for_writing(&self.plan.prefix, Write { run: self.run, thread, number });
        seat.wire.head_only = false;
        put.template.render(&pair.short, &pair.long, &mut seat.wire.request);
        number
    }

    fn judge(&self, kind: Kind, status: u16, seat: &Seat<Pair>) -> Result<(), ErrorKind> {
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
            && seat.wire.answered().location() != Some(seat.own.long.as_slice());
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

impl Hand {
    fn note_write(&mut self, write: u64, outcome: WriteOutcome, keep: bool) {
        match outcome {
            WriteOutcome::Refused => self.refused += 1,
            WriteOutcome::Unknown => self.unknown += 1,
            WriteOutcome::Acknowledged => {}
        }
        if keep {
            self.ledger.note(write, outcome);
        }
    }
}

impl Work for Requests {
    type Own = Pair;
    type Hand = Hand;

    fn parts(&self) -> usize {
        2
    }

    fn hand(&self, thread: u32) -> Hand {
        let (ledger, raw) = (Ledger::default(), self.raw.clone());
        Hand { thread, begun: 0, ledger, refused: 0, unknown: 0, raw }
    }

    async fn turn(&self, seat: &mut Seat<Pair>, hand: &RefCell<Hand>) -> Turn {
        let kind = self.choose(seat.flow, &mut seat.rng);
        let write = match kind {
            Kind::Get => {
                self.prepare_get(seat);
                0
            }
            Kind::Put => self.prepare_put(seat, &mut hand.borrow_mut()),
        };
        let asked = seat.wire.ask(seat.began).await;
        let done = Instant::now();
        let result = asked.status.and_then(|status| self.judge(kind, status, seat));
        if kind == Kind::Put {
            let outcome = asked.outcome(result);
            hand.borrow_mut().note_write(write, outcome, self.plan.args.verify);
        }
        let cost = seat.wire.take_cost();
        Turn { part: kind as usize, began: None, done, cost, result, detail: asked.detail }
    }

    fn missed(&self, seat: &mut Seat<Pair>, hand: &RefCell<Hand>) -> usize {
        let kind = self.choose(seat.flow, &mut seat.rng);
        hand.borrow_mut().refused += u64::from(kind == Kind::Put);
        kind as usize
    }

    fn ended(&self, seat: &Seat<Pair>, hand: &RefCell<Hand>, part: usize, sample: &Sample) {
        if let Some(rows) = &mut hand.borrow_mut().raw {
            let start = self.epoch.1 + (seat.due - self.epoch.0);
            rows.push(Row {
                start_us: us(start.duration_since(UNIX_EPOCH).unwrap_or_default()),
                late_us: us(seat.began - seat.due),
                connect_us: sample.connect.map_or(0, us),
                total_us: us(sample.total),
                wait_us: sample.wait.map_or(0, us),
                kind: if part == Kind::Put as usize { Kind::Put } else { Kind::Get },
                result: sample.result,
            });
        }
    }
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
