//! Runs the rides' commands.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::batch::{Batches, Share};
use super::cli::{Compress, RidesBatchCommand, RidesCommand, RidesGetCommand, RidesPostCommand};
use super::get::{Question, Questions};
use super::plan::RidesPlan;
use super::post::Posts;
use super::report::Run;
use super::ride::Verticals;
use super::tally::Tally;
use super::verify::{Before, verify};
use super::{read, report};
use crate::engine::FILES_BESIDES;
use crate::engine::control::Control;
use crate::engine::interrupt::interruptible;
use crate::engine::limits::raise_file_limit;
use crate::engine::pace::{Flow, Until};
use crate::report::page::Outcome;

/// Events of each connection of the first phase.
const FIRST_EVENTS: u64 = 1000;

/// Does what `command` says and writes the report to `out`.
pub(crate) fn run_to(command: &RidesCommand, out: &mut impl Write) -> Result<Outcome> {
    let plan = Arc::new(RidesPlan::new(command)?);
    let before = if command.verify() { Some(prepare(&plan)?) } else { None };
    let verticals = before.as_ref().map(|before| Arc::clone(&before.verticals));
    let started = SystemTime::now();
    let (mut run, tally) = interruptible(|control| match command {
        RidesCommand::Rides(post) => record(&plan, control, verticals.as_ref(), post),
        RidesCommand::RidesBatch(batch) => record_batches(&plan, control, verticals, batch),
        RidesCommand::RidesGet(get) => Ok((ask(&plan, control, get)?, Tally::default())),
    })?;
    let verified = before.map(|before| verify(&plan, &before, tally)).transpose();
    run.verification = verified.as_ref().ok().cloned().flatten();
    let outcome = report::write(&plan, started, run, out)?;
    // Said only now: what was measured is not lost with it.
    verified.context("the run was measured, but cannot be verified")?;
    Ok(outcome)
}

/// Finds out what the run will be compared with.
fn prepare(plan: &Arc<RidesPlan>) -> Result<Before> {
    read::ensure_fresh(plan)?;
    let verticals = read::verticals(plan).context("cannot read the verticals of the lifts")?;
    let stored = read::stored(plan).context("cannot read the ledger")?;
    Ok(Before { verticals: Arc::new(verticals), stored })
}

fn open_files(connections: u32) -> Result<()> {
    raise_file_limit(u64::from(connections) + FILES_BESIDES)
}

fn record(
    plan: &Arc<RidesPlan>,
    control: &Control,
    verticals: Option<&Arc<Verticals>>,
    command: &RidesPostCommand,
) -> Result<(Run, Tally)> {
    open_files(command.threads.max(command.first_threads))?;
    let first = if command.rate.is_some() { 0 } else { command.first_threads };
    let first_events = command.events.min(u64::from(first) * FIRST_EVENTS);
    let until = Until::Requests(command.events - first_events);
    let flow = |connections, until| Flow { connections, rate_per_s: command.rate, until };
    let flows = [
        ("first phase", flow(first, Until::Requests(first_events))),
        (
            if first == 0 { "rides" } else { "second phase" },
            flow(command.threads, command.duration.map_or(until, Until::Duration)),
        ),
    ];
    let mut run = Run::new(post_workload(command), 1);
    let mut tally = Tally::default();
    for (stage, (name, flow)) in (0..).zip(flows) {
        if flow.until == Until::Requests(0) || control.stopped() {
            continue;
        }
        let work = Posts {
            plan: Arc::clone(plan),
            control: control.clone(),
            verticals: verticals.cloned(),
            retries: command.retries,
            repeat_share: command.repeat_percent / 100.0,
        };
        let (measured, hands) = plan.engine(stage, flow, work).run(control, name)?;
        run.add(&[name], flow, &measured);
        for hand in hands {
            tally.merge(hand);
        }
    }
    if run.rows.len() > 1 {
        run.add_all(command.threads);
    }
    run.events = Some(tally.events);
    Ok((run, tally))
}

fn post_workload(command: &RidesPostCommand) -> String {
    match (command.rate, command.duration) {
        (Some(rate), Some(duration)) => {
            format!("open loop at {rate} events/s for {} s", duration.as_secs_f64())
        }
        (Some(rate), None) => format!("open loop at {rate} events/s, {} events", command.events),
        (None, _) => format!("closed loop, {} events", command.events),
    }
}

fn record_batches(
    plan: &Arc<RidesPlan>,
    control: &Control,
    verticals: Option<Arc<Verticals>>,
    command: &RidesBatchCommand,
) -> Result<(Run, Tally)> {
    open_files(command.connections)?;
    let share = Share::of(command.lines, command.repeat_percent);
    let flow = Flow {
        connections: command.connections,
        rate_per_s: None,
        until: Until::Requests(share.batches(command.events)),
    };
    let work = Batches {
        plan: Arc::clone(plan),
        control: control.clone(),
        verticals,
        share,
        compress: command.compress,
        left: command.events.into(),
    };
    let packed = match command.compress {
        Compress::None => "",
        Compress::Gzip => ", by gzip",
        Compress::Zstd => ", by zstd",
    };
    let workload =
        format!("closed loop, {} events, {} lines a batch{packed}", command.events, command.lines);
    let mut run = Run::new(workload, 1);
    let mut tally = Tally::default();
    let (measured, hands) = plan.engine(0, flow, work).run(control, "batches")?;
    run.add(&["batches"], flow, &measured);
    for hand in hands {
        tally.merge(hand);
    }
    run.events = Some(tally.events);
    Ok((run, tally))
}

fn ask(plan: &Arc<RidesPlan>, control: &Control, command: &RidesGetCommand) -> Result<Run> {
    open_files(command.clients.iter().copied().max().unwrap_or_default())?;
    if let (Some(rate), Some(duration)) = (command.rate, command.duration) {
        return ask_open(plan, control, command, (rate, duration));
    }
    let mut run = Run::new(format!("closed loop, {} samples of each", command.samples), 1);
    let until = Until::Requests(command.samples);
    let each = Question::ALL.iter().flat_map(|question| {
        command.clients.iter().map(move |&connections| (*question, connections))
    });
    for (stage, (question, connections)) in (0..).zip(each) {
        if control.stopped() {
            break;
        }
        let flow = Flow { connections, rate_per_s: None, until };
        ask_these(&mut run, plan, control, (stage, &[question]), flow)?;
    }
    Ok(run)
}

/// All questions mixed, at a rate.
fn ask_open(
    plan: &Arc<RidesPlan>,
    control: &Control,
    command: &RidesGetCommand,
    (rate, duration): (f64, Duration),
) -> Result<Run> {
    let workload = format!("open loop at {rate}/s for {} s", duration.as_secs_f64());
    let mut run = Run::new(workload, Question::ALL.len());
    let connections = command.clients.first().copied().unwrap_or(1);
    let until = Until::Duration(duration);
    let flow = Flow { connections, rate_per_s: Some(rate), until };
    ask_these(&mut run, plan, control, (0, &Question::ALL), flow)?;
    run.add_all(connections);
    Ok(run)
}

fn ask_these(
    run: &mut Run,
    plan: &Arc<RidesPlan>,
    control: &Control,
    (stage, asked): (u64, &[Question]),
    flow: Flow,
) -> Result<()> {
    let names: Vec<&'static str> = asked.iter().map(|question| question.name()).collect();
    let work = Questions { plan: Arc::clone(plan), asked: asked.to_vec() };
    let (measured, absent) = plan.engine(stage, flow, work).run(control, names[0])?;
    run.add(&names, flow, &measured);
    run.absent = Some(run.absent.unwrap_or_default() + absent.iter().sum::<u64>());
    Ok(())
}
