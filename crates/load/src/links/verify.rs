//! Reads every acknowledged write back and compares its target.

use std::cell::RefCell;

use anyhow::Result;
use serde::Serialize;

use super::ledger::Ledger;
use super::plan::Plan;
use super::set::{Pair, Write};
use crate::engine::client::{Decision, Reply};
use crate::engine::control::Control;
use crate::engine::outcome::WriteOutcome;
use crate::report::examples::Examples;

/// The result of the verification.
#[derive(Debug, Clone, Default, derive_more::AddAssign, Serialize)]
pub(crate) struct Verification {
    /// Distinct links whose write was acknowledged.
    pub(crate) acknowledged: u64,
    /// Of those: stored with the right target.
    pub(crate) verified: u64,
    /// Of those: not stored.
    pub(crate) missing: u64,
    /// Of those: stored with another target.
    pub(crate) wrong: u64,
    /// Of those: no usable response after several tries.
    pub(crate) unreadable: u64,
    /// Writes that were not checked: past the ledger's bound.
    pub(crate) unchecked: u64,
    /// Distinct links whose write has an unknown outcome (timeout, lost connection, 5xx).
    pub(crate) unknown: u64,
    /// Of those: stored with the right target.
    pub(crate) unknown_stored: u64,
    /// Of those: stored with another target, which no outcome allows.
    pub(crate) unknown_wrong: u64,
    /// GETs whose `Location` was compared during the run.
    pub(crate) reads_checked: u64,
    /// Of those: with another target.
    pub(crate) reads_wrong: u64,
    /// Examples of shorts that are missing, wrong or unreadable.
    pub(crate) examples: Examples<10>,
}

impl Verification {
    /// Returns whether the server stored exactly what it acknowledged.
    pub(crate) fn clean(&self) -> bool {
        self.missing
            + self.wrong
            + self.unreadable
            + self.unchecked
            + self.unknown_wrong
            + self.reads_wrong
            == 0
    }
}

/// Reads back every write of run `run` in the ledgers, of which there is one per thread.
pub(crate) fn verify(plan: &Plan, run: u32, ledgers: &[Ledger]) -> Result<Verification> {
    let same_pair = plan.put.as_ref().is_some_and(|put| put.same_pair);
    let mut checks: Vec<(Write, WriteOutcome)> = Vec::new();
    for (thread, ledger) in (0..).zip(ledgers) {
        let thread = if same_pair { 0 } else { thread };
        checks.extend(
            ledger.to_check().map(|(number, outcome)| (Write { run, thread, number }, outcome)),
        );
    }
    if same_pair {
        // All threads wrote the same link: its outcome is the maximum over all threads.
        checks.sort_by_key(|(_, outcome)| std::cmp::Reverse(*outcome));
        checks.truncate(1);
    }
    let mut found = Verification {
        unchecked: ledgers.iter().map(|ledger| ledger.untracked).sum(),
        ..Verification::default()
    };
    for (_, outcome) in &checks {
        match outcome {
            WriteOutcome::Acknowledged => found.acknowledged += 1,
            WriteOutcome::Unknown => found.unknown += 1,
            WriteOutcome::Refused => {}
        }
    }
    let pair = RefCell::new(Pair::default());
    let (prefix, read_back) = (&plan.prefix, &plan.read_back);
    plan.client.send(
        &Control::default(),
        checks.into_iter(),
        |(write, _), request| {
            let pair = &mut *pair.borrow_mut();
            pair.for_writing(prefix, *write);
            read_back.template.render(&pair.short, &pair.long, request);
        },
        |(write, outcome), reply, last| {
            let pair = &mut *pair.borrow_mut();
            pair.for_writing(prefix, *write);
            let seen = match reply {
                Reply::Answer { status, location, .. } if read_back.expect.contains(&status) => {
                    if location == Some(&pair.long) {
                        ReadBack::Right
                    } else {
                        ReadBack::Wrong
                    }
                }
                Reply::Answer { status: 404 | 410, .. } => ReadBack::Absent,
                _ if last => ReadBack::Unreadable,
                _ => return Decision::Retry,
            };
            found.count(*outcome, seen, &pair.short);
            Decision::Settled
        },
    )?;
    Ok(found)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadBack {
    Right,
    Wrong,
    Absent,
    Unreadable,
}

impl Verification {
    fn count(&mut self, outcome: WriteOutcome, seen: ReadBack, short: &[u8]) {
        let is_acknowledged = outcome == WriteOutcome::Acknowledged;
        match (is_acknowledged, seen) {
            (true, ReadBack::Right) => self.verified += 1,
            (true, ReadBack::Wrong) => self.wrong += 1,
            (true, ReadBack::Absent) => self.missing += 1,
            (true, ReadBack::Unreadable) => self.unreadable += 1,
            (false, ReadBack::Right) => self.unknown_stored += 1,
            (false, ReadBack::Wrong) => self.unknown_wrong += 1,
            (false, ReadBack::Absent | ReadBack::Unreadable) => {}
        }
        if seen == ReadBack::Wrong || (is_acknowledged && seen != ReadBack::Right) {
            self.examples.add(|| String::from_utf8_lossy(short).into_owned());
        }
    }
}
