//! Runs the plan: creates the links, sends the requests, verifies, reports.

use std::io::Write;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result};

use super::cli::RequestCommand;
use super::create::create_links;
use super::ledger::Ledger;
use super::plan::{Kind, Plan};
use super::raw::RawWriter;
use super::report::{self, Run};
use super::verify::{Verification, verify};
use super::work::Requests;
use crate::engine::client::Client;
use crate::engine::control::Control;
use crate::engine::interrupt::interruptible;
use crate::engine::limits::allow_connections;
use crate::engine::outcome::{ErrorKind, Outcomes};
use crate::engine::run::{Engine, Measured};
use crate::http::http1::Keep;
use crate::report::page::RunOutcome;

/// Runs `command` and writes the report to `out`.
pub(crate) fn run_to(command: &RequestCommand, out: &mut impl Write) -> Result<RunOutcome> {
    let plan = Arc::new(Plan::new(command)?);
    allow_connections(plan.args.connections)?;
    let (started, runs) = interruptible(|control| all_runs(&plan, control))?;
    report::write(&plan, started, &runs, out)
}

/// Makes all runs. Returns them with the start time of the first.
fn all_runs(plan: &Arc<Plan>, control: &Control) -> Result<(SystemTime, Vec<Run>)> {
    create_links(plan, control).context("nothing was measured")?;
    let raw = plan.args.raw.as_deref().map(RawWriter::create).transpose()?;
    let started = SystemTime::now();
    let mut runs = Vec::new();
    for number in 0..plan.args.repeat {
        if control.stopped() {
            break;
        }
        runs.push(one_run(plan, control, number, raw.as_ref())?);
    }
    if let Some(raw) = raw {
        raw.finish()?;
    }
    Ok((started, runs))
}

fn one_run(
    plan: &Arc<Plan>,
    control: &Control,
    number: u32,
    raw: Option<&RawWriter>,
) -> Result<Run> {
    let args = &plan.args;
    let engine = Engine {
        client: Client {
            kept: if args.verify { Keep::Location } else { Keep::Nothing },
            ..plan.client.clone()
        },
        threads: args.threads,
        seed: args.seed,
        stage: number.into(),
        flows: plan.lanes.iter().map(|lane| lane.flow).collect(),
        work: Requests {
            plan: Arc::clone(plan),
            run: number,
            raw: raw.map(RawWriter::rows),
            epoch: (Instant::now(), SystemTime::now()),
        },
    };
    let name = format!("run {}/{}", number + 1, args.repeat);
    let (measured, hands) = engine.run(control, name)?;
    let mut writes = Outcomes::default();
    for hand in &hands {
        writes += hand.writes;
    }
    let ledgers: Vec<Ledger> = hands.into_iter().map(|hand| hand.ledger).collect();
    let verification = args.verify.then(|| check(plan, number, &measured, &ledgers)).transpose()?;
    Ok(Run { measured, writes, verification })
}

fn check(
    plan: &Plan,
    number: u32,
    measured: &Measured,
    ledgers: &[Ledger],
) -> Result<Verification> {
    let mut found = if plan.put.is_some() {
        verify(plan, number, ledgers).context("cannot read the writes back")?
    } else {
        Verification::default()
    };
    let reads = &measured.records[Kind::Get as usize];
    found.reads_wrong = reads.errors.get(&ErrorKind::WrongTarget).copied().unwrap_or_default();
    found.reads_checked = reads.succeeded + found.reads_wrong;
    Ok(found)
}
