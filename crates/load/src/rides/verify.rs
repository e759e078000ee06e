//! Verifies that every acknowledged event was counted once, by sums, numbers of skiers and the ledger.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use super::plan::{Before, RidesPlan};
use super::read::{day_skiers, stored};
use super::ride::SkierDay;
use super::tally::{Sums, Tally, UnknownEvent};
use crate::engine::client::{Decision, Reply};
use crate::engine::control::Control;
use crate::engine::outcome::Outcomes;
use crate::report::examples::Examples;
use crate::report::figures::thousands;

/// Differences are read again after each of these pauses: the server's counts may lag.
const LOOK_AGAIN_AFTER: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(500), Duration::from_secs(1)];

/// The result of the verification.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Verification {
    /// Events that must be stored.
    pub(crate) acknowledged: u64,
    /// Events that were refused or not sent, and must not be stored.
    pub(crate) refused: u64,
    /// Skier days that the run touched.
    pub(crate) skier_days: u64,
    /// Of those: with another vertical.
    pub(crate) skier_days_wrong: u64,
    /// Of those: no usable response after several tries.
    pub(crate) skier_days_unreadable: u64,
    /// Resorts whose skiers were counted, and of those: with another number.
    pub(crate) resorts: u64,
    pub(crate) resorts_wrong: u64,
    /// `None` if the server has no ledger.
    pub(crate) ledger: Option<LedgerFound>,
    /// Events of unknown outcome that were sent again after the run, to learn it.
    pub(crate) asked_again: u64,
    /// Events whose outcome is still unknown after that.
    pub(crate) unknown: u64,
    /// Examples of wrong or unreadable results.
    pub(crate) examples: Examples<5>,
}

/// The ledger's count of rides stored during the run, and the range it must be in.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct LedgerFound {
    pub(crate) stored: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl LedgerFound {
    fn right(self) -> bool {
        (self.least..=self.most).contains(&self.stored)
    }
}

impl Verification {
    /// Returns whether the server counted exactly what it acknowledged, and no outcome is unknown.
    pub(crate) fn clean(&self) -> bool {
        self.right() && self.unknown == 0
    }

    /// Returns whether the server counted everything that it acknowledged, and beyond that at most the events
    /// of unknown outcome.
    pub(crate) fn right(&self) -> bool {
        self.skier_days_wrong + self.skier_days_unreadable + self.resorts_wrong == 0
            && self.ledger.is_none_or(LedgerFound::right)
    }

    /// Returns the last line of the report.
    pub(crate) fn verdict(&self) -> String {
        let [refused, unknown] = [self.refused, self.unknown].map(thousands);
        match self {
            _ if !self.right() => "VERIFICATION FAILED".to_owned(),
            Self { unknown: 1.., .. } => format!(
                "NOT VERIFIED: the outcome of {unknown} events is unknown; every acknowledged event was counted once"
            ),
            Self { acknowledged: 0, .. } => {
                "NOTHING TO VERIFY: no event was acknowledged".to_owned()
            }
            Self { refused: 1.., .. } => format!(
                "PASSED: every acknowledged event was counted once; {refused} events were refused or not sent"
            ),
            _ => "VERIFIED".to_owned(),
        }
    }
}

/// Verifies everything that the run touched, on a day that had no rides before it.
pub(crate) fn verify(plan: &RidesPlan, before: &Before, mut tally: Tally) -> Result<Verification> {
    let asked_again = tally.unknown_events.len() as u64;
    let doubtful = std::mem::take(&mut tally.unknown_events);
    look_again(doubtful, Vec::is_empty, |doubtful| resend_unknown(plan, doubtful, &mut tally))?;
    let mut found = Verification {
        acknowledged: tally.events.outcomes.acknowledged,
        refused: tally.events.outcomes.refused,
        asked_again,
        unknown: tally.events.outcomes.unknown,
        skier_days: tally.days.len() as u64,
        // First, because it waits until what is acknowledged is stored.
        ledger: check_ledger(plan, before, tally.events.outcomes)?,
        ..Verification::default()
    };
    let skiers = tally.skiers(plan.args.ranges.resorts);
    check_days(plan, tally, &mut found)?;
    check_skiers(plan, &skiers, &mut found)?;
    Ok(found)
}

/// Calls `look` after each pause until nothing differs. Returns the last differences.
fn look_again<T>(
    mut differing: T,
    none: fn(&T) -> bool,
    mut look: impl FnMut(T) -> Result<T>,
) -> Result<T> {
    for pause in LOOK_AGAIN_AFTER {
        if none(&differing) {
            break;
        }
        std::thread::sleep(pause);
        differing = look(differing)?;
    }
    Ok(differing)
}

/// Sends events of unknown outcome again with their ids, and settles them in `tally`. Returns the events that
/// are still unknown.
fn resend_unknown(
    plan: &RidesPlan,
    doubtful: Vec<UnknownEvent>,
    tally: &mut Tally,
) -> Result<Vec<UnknownEvent>> {
    let mut left = Vec::new();
    plan.client
        .send(
            &Control::default(),
            doubtful.into_iter(),
            |event, request| plan.requests.post(event.id, &event.ride, request),
            |event, reply, last| {
                match reply {
                    Reply::Answer { status: 200..=299, .. } => tally.resolve(event, true),
                    // The event is invalid, so it was refused before too.
                    Reply::Answer { status: 400, .. } => tally.resolve(event, false),
                    _ if last => left.push(*event),
                    _ => return Decision::Retry,
                }
                Decision::Settled
            },
        )
        .context("cannot send the events of unknown outcome again")?;
    Ok(left)
}

fn check_ledger(
    plan: &RidesPlan,
    before: &Before,
    events: Outcomes,
) -> Result<Option<LedgerFound>> {
    let Some(before) = before.stored else { return Ok(None) };
    let look = || -> Result<Option<LedgerFound>> {
        let after = stored(plan).context("cannot read the ledger")?;
        Ok(after.map(|after| LedgerFound {
            stored: after.saturating_sub(before),
            least: events.acknowledged,
            most: events.acknowledged + events.unknown,
        }))
    };
    look_again(look()?, |found| found.is_none_or(LedgerFound::right), |_| look())
}

fn check_days(plan: &RidesPlan, tally: Tally, found: &mut Verification) -> Result<()> {
    let read = "cannot read the skier days back";
    let first = differing(plan, tally.days.into_iter()).context(read)?;
    let differing = look_again(first, Vec::is_empty, |days| {
        differing(plan, days.into_iter().map(|day| (day.place, day.sums))).context(read)
    })?;
    for Differing { place, sums, vertical } in differing {
        let path = plan.requests.skier_day_path(place);
        let (least, most) = sums.bounds().into_inner();
        let due = if least == most { least.to_string() } else { format!("from {least} to {most}") };
        if let Some(vertical) = vertical {
            found.skier_days_wrong += 1;
            found.examples.add(|| format!("{path} is {vertical}, expected {due}"));
        } else {
            found.skier_days_unreadable += 1;
            found.examples.add(|| format!("{path} has no usable response, expected {due}"));
        }
    }
    Ok(())
}

fn check_skiers(
    plan: &RidesPlan,
    due: &HashMap<u32, (u64, u64)>,
    found: &mut Verification,
) -> Result<()> {
    let look = || -> Result<Vec<(u32, u64)>> {
        let skiers = day_skiers(plan).context("cannot count the skiers")?;
        let wrong = |(resort, skiers): &(u32, u64)| {
            let (least, most) = due.get(resort).copied().unwrap_or_default();
            !(least..=most).contains(skiers)
        };
        Ok((1..).zip(skiers).filter(wrong).collect())
    };
    let wrong = look_again(look()?, Vec::is_empty, |_| look())?;
    found.resorts = plan.args.ranges.resorts.into();
    found.resorts_wrong = wrong.len() as u64;
    for (resort, skiers) in wrong {
        let path = plan.requests.day_path(resort);
        let (least, most) = due.get(&resort).copied().unwrap_or_default();
        found.examples.add(|| format!("{path} is {skiers}, expected from {least} to {most}"));
    }
    Ok(())
}

/// A skier's day with an unexpected vertical; `None` if there was no usable response.
struct Differing {
    place: SkierDay,
    sums: Sums,
    vertical: Option<u64>,
}

/// Reads skiers' days. Returns those that differ from the sums.
fn differing(
    plan: &RidesPlan,
    days: impl Iterator<Item = (SkierDay, Sums)>,
) -> Result<Vec<Differing>> {
    let mut differing = Vec::new();
    plan.client.send(
        &Control::default(),
        days,
        |(place, _), request| {
            plan.requests.target.get(plan.requests.skier_day_path(*place), "", request);
        },
        |&(place, sums), reply, last| {
            let vertical = match reply {
                Reply::Answer { status: 404, .. } => Some(0),
                Reply::Answer { status: 200, body, .. } => serde_json::from_slice(body).ok(),
                _ => None,
            };
            if vertical.is_none() && !last {
                return Decision::Retry;
            }
            if !vertical.is_some_and(|vertical| sums.bounds().contains(&vertical)) {
                differing.push(Differing { place, sums, vertical });
            }
            Decision::Settled
        },
    )?;
    Ok(differing)
}
