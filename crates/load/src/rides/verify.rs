//! Proves that every acknowledged event was counted once: sums, skiers and the ledger are compared.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use super::plan::{Before, RidesPlan};
use super::read::{day_skiers, stored};
use super::ride::Place;
use super::tally::{Doubtful, Sums, Tally};
use crate::engine::client::{Reply, Verdict};
use crate::engine::control::Control;
use crate::engine::outcome::Outcomes;
use crate::report::examples::Examples;
use crate::report::figures::thousands;

/// What differs is looked at once more after each of these: whoever counts may be a moment behind.
const LOOK_AGAIN_AFTER: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(500), Duration::from_secs(1)];

/// What was found.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Verification {
    /// Events that are to be found.
    pub(crate) acknowledged: u64,
    /// Those that were refused or not sent: nothing is found of them.
    pub(crate) refused: u64,
    /// Skiers' days that the run touched.
    pub(crate) skier_days: u64,
    /// Of those: with another vertical.
    pub(crate) skier_days_wrong: u64,
    /// Of those: no usable answer, after several tries.
    pub(crate) skier_days_unreadable: u64,
    /// Resorts whose skiers were counted, and of those: another number.
    pub(crate) resorts: u64,
    pub(crate) resorts_wrong: u64,
    /// `None` if the server keeps none.
    pub(crate) ledger: Option<LedgerFound>,
    /// Events of unknown outcome that were sent once more after the run, to learn it.
    pub(crate) asked_again: u64,
    /// Those whose outcome nobody knows nevertheless.
    pub(crate) unknown: u64,
    /// Some of what is wrong or unreadable, in words.
    pub(crate) examples: Examples<5>,
}

/// What the ledger says was stored during the run, and what it may say.
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
    /// Whether everything is as acknowledged, and nothing is left in doubt.
    pub(crate) fn clean(&self) -> bool {
        self.right() && self.unknown == 0
    }

    /// Whether what was acknowledged is counted, and no more than what is in doubt besides.
    pub(crate) fn right(&self) -> bool {
        self.skier_days_wrong + self.skier_days_unreadable + self.resorts_wrong == 0
            && self.ledger.is_none_or(LedgerFound::right)
    }

    /// In words.
    pub(crate) fn verdict(&self) -> String {
        let [refused, unknown] = [self.refused, self.unknown].map(thousands);
        match self {
            _ if !self.right() => "NOT AS ACKNOWLEDGED".to_owned(),
            Self { unknown: 1.., .. } => format!(
                "NOT VERIFIED: {unknown} events may be stored or not; what was acknowledged is counted once, and at most these besides"
            ),
            Self { acknowledged: 0, .. } => {
                "NOTHING TO VERIFY: no event was acknowledged".to_owned()
            }
            Self { refused: 1.., .. } => format!(
                "AS ACKNOWLEDGED: what was acknowledged is counted once; {refused} events were refused or not sent"
            ),
            _ => "VERIFIED".to_owned(),
        }
    }
}

/// Looks at everything that the run touched on a day that nobody had used before it.
pub(crate) fn verify(plan: &RidesPlan, before: &Before, mut tally: Tally) -> Result<Verification> {
    let asked_again = tally.doubtful.len() as u64;
    let doubtful = std::mem::take(&mut tally.doubtful);
    look_again(doubtful, Vec::is_empty, |doubtful| ask_again(plan, doubtful, &mut tally))?;
    let mut found = Verification {
        acknowledged: tally.events.outcomes.acknowledged,
        refused: tally.events.outcomes.refused,
        asked_again,
        unknown: tally.events.outcomes.unknown,
        skier_days: tally.days.len() as u64,
        // Waits until what is acknowledged is stored, so it comes before what is counted.
        ledger: check_ledger(plan, before, tally.events.outcomes)?,
        ..Verification::default()
    };
    let skiers = tally.skiers(plan.args.ranges.resorts);
    check_days(plan, tally, &mut found)?;
    check_skiers(plan, &skiers, &mut found)?;
    Ok(found)
}

/// Asks `look` for what differs after a while, and again while something does.
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

/// Sends these events of unknown outcome once more, under their ids, and tells `tally` what they came to; those that stay in doubt.
fn ask_again(
    plan: &RidesPlan,
    doubtful: Vec<Doubtful>,
    tally: &mut Tally,
) -> Result<Vec<Doubtful>> {
    let mut left = Vec::new();
    plan.client
        .send(
            &Control::default(),
            doubtful.into_iter(),
            |event, request| plan.requests.post(event.id, &event.ride, request),
            |event, reply, last| {
                match reply {
                    Reply::Answer { status: 200..=299, .. } => tally.resolve(event, true),
                    // What is wrong with it now was so before.
                    Reply::Answer { status: 400, .. } => tally.resolve(event, false),
                    _ if last => left.push(*event),
                    _ => return Verdict::Again,
                }
                Verdict::Settled
            },
        )
        .context("cannot ask for the outcome of events once more")?;
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
    let read = "cannot read the skiers' days back";
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
            found.examples.add(|| format!("{path} is {vertical}, and must be {due}"));
        } else {
            found.skier_days_unreadable += 1;
            found.examples.add(|| format!("{path} has no usable answer, and must be {due}"));
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
        found.examples.add(|| format!("{path} is {skiers}, and must be from {least} to {most}"));
    }
    Ok(())
}

/// A skier's day that is not as it must be; its vertical, if there was an answer.
struct Differing {
    place: Place,
    sums: Sums,
    vertical: Option<u64>,
}

/// Reads skiers' days; those that differ.
fn differing(
    plan: &RidesPlan,
    days: impl Iterator<Item = (Place, Sums)>,
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
                return Verdict::Again;
            }
            if !vertical.is_some_and(|vertical| sums.bounds().contains(&vertical)) {
                differing.push(Differing { place, sums, vertical });
            }
            Verdict::Settled
        },
    )?;
    Ok(differing)
}
