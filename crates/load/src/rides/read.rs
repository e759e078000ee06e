//! Reads outside the measurement: the lifts, the ledger, the skiers of the day.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::plan::RidesPlan;
use super::request::{LEDGER_PATH, RESORTS_PATH};
use super::ride::Verticals;
use crate::engine::client::Answered;
use crate::engine::control::Control;

/// How long the server may take to store what it has acknowledged.
const SETTLE_MAX: Duration = Duration::from_mins(1);
/// The interval between reads of the ledger.
const SETTLE_EVERY: Duration = Duration::from_millis(100);

/// Reads each path; `None` for 404.
fn ask<T: DeserializeOwned>(plan: &RidesPlan, paths: &[String]) -> Result<Vec<Option<T>>> {
    let get = |number: usize, request: &mut Vec<u8>| {
        plan.requests.target.get(&paths[number], "", request);
    };
    let name = |number: usize| format!("GET {}", paths[number]);
    let answers = plan.client.answers(&Control::default(), paths.len(), get, name)?;
    let read = |(path, (status, body)): (&String, Answered)| match status {
        404 => Ok(None),
        200 => serde_json::from_slice(&body)
            .with_context(|| format!("GET {path} returned an unexpected body"))
            .map(Some),
        _ => bail!("GET {path} returned {status}"),
    };
    paths.iter().zip(answers).map(read).collect()
}

#[derive(Deserialize)]
struct Resorts {
    resorts: Vec<Resort>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resort {
    #[serde(rename = "resortID")]
    resort: u32,
    #[serde(default)]
    lifts: Vec<Lift>,
}

#[derive(Deserialize)]
struct Lift {
    #[serde(rename = "liftID")]
    lift: u32,
    vertical: u64,
}

/// Reads the vertical of each lift; without a table it follows from the lift's number.
pub(crate) fn verticals(plan: &RidesPlan) -> Result<Verticals> {
    let table = ask::<Resorts>(plan, &[RESORTS_PATH.to_owned()])?.into_iter().flatten();
    let resorts = table.flat_map(|table| table.resorts);
    Ok(Verticals::new(resorts.flat_map(|resort| {
        resort.lifts.into_iter().map(move |lift| ((resort.resort, lift.lift), lift.vertical))
    })))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DaySkiers {
    num_skiers: u64,
}

/// Reads the number of skiers of the day in each resort, from resort 1.
pub(crate) fn day_skiers(plan: &RidesPlan) -> Result<Vec<u64>> {
    let paths: Vec<String> =
        (1..=plan.args.ranges.resorts).map(|resort| plan.requests.day_path(resort)).collect();
    let skiers = ask::<DaySkiers>(plan, &paths)?.into_iter();
    // 404: the resort had no skiers.
    Ok(skiers.map(|day| day.map_or(0, |day| day.num_skiers)).collect())
}

/// Fails if the day has rides already: the expected results would be unknown.
pub(crate) fn ensure_fresh(plan: &RidesPlan) -> Result<()> {
    let used = (1..).zip(day_skiers(plan)?).find(|(_, skiers): &(u32, u64)| *skiers > 0);
    if let Some((resort, skiers)) = used {
        let (season, day) = (&plan.args.ranges.season, plan.args.ranges.day);
        bail!(
            "--verify needs a day without rides, but {skiers} skiers have rides on day {day} of season {season} in resort {resort}; choose another --season or --day"
        );
    }
    Ok(())
}

#[derive(Deserialize)]
struct Ledger {
    since_start: SinceStart,
    for_ever: ForEver,
}

#[derive(Deserialize)]
struct SinceStart {
    #[serde(default)]
    in_flight: u64,
    #[serde(default)]
    undecided: u64,
}

#[derive(Deserialize)]
struct ForEver {
    stored: u64,
}

/// Returns the ledger's total of stored rides, once none is in flight; `None` if the server has no ledger.
pub(crate) fn stored(plan: &RidesPlan) -> Result<Option<u64>> {
    let began = Instant::now();
    loop {
        let ledger = ask::<Ledger>(plan, &[LEDGER_PATH.to_owned()])?.pop().flatten();
        let Some(ledger) = ledger else { return Ok(None) };
        let SinceStart { in_flight, undecided } = ledger.since_start;
        let in_flight = in_flight + undecided;
        if in_flight == 0 {
            return Ok(Some(ledger.for_ever.stored));
        }
        ensure!(
            began.elapsed() < SETTLE_MAX,
            "{in_flight} rides are still not stored after {} s",
            SETTLE_MAX.as_secs()
        );
        std::thread::sleep(SETTLE_EVERY);
    }
}
