//! Runs `lodge load rides…`.

use std::io::Write;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, Result};

use super::batch::{Batches, Share};
use super::cli::{Compress, RidesBatchCommand, RidesCommand, RidesGetCommand, RidesPostCommand};
use super::get::{Questions, ReadKind};
use super::plan::{Before, RidesPlan};
use super::post::Posts;
use super::report::Run;
use super::tally::Tally;
use super::verify::verify;
use super::{read, report};
use crate::engine::control::Control;
use crate::engine::interrupt::interruptible;
use crate::engine::limits::allow_connections;
use crate::engine::pace::{Flow, Until};
use crate::engine::run::{Engine, Work};
use crate::report::page::RunOutcome;

/// Events of each connection of the first phase.
const FIRST_EVENTS: u64 = 1000;

/// Runs `command` and writes the report to `out`.
pub(crate) fn run_to(command: &RidesCommand, out: &mut impl Write) -> Result<RunOutcome> {
    let mut plan = RidesPlan::new(command)?;
    if command.verify() {
        plan.before = Some(prepare(&plan)?);
    }
    let plan = Arc::new(plan);
    let started = SystemTime::now();
    let (mut run, tally) = interruptible(|control| match command {
        RidesCommand::Rides(command) => post(&plan, control, command),
        RidesCommand::RidesBatch(command) => post_batches(&plan, control, command),
        RidesCommand::RidesGet(get) => Ok((ask(&plan, control, get)?, Tally::default())),
    })?;
    let verified = plan.before.as_ref().map(|before| verify(&plan, before, tally)).transpose();
    run.verification = verified.as_ref().ok().cloned().flatten();
    let outcome = report::write(&plan, started, run, out)?;
    // Returned only now, so that the measurements are reported in any case.
    verified.context("the run was measured but could not be verified")?;
    Ok(outcome)
}

/// Reads the state that the run will be compared with.
fn prepare(plan: &RidesPlan) -> Result<Before> {
    read::ensure_fresh(plan)?;
    let verticals = read::verticals(plan).context("cannot read the verticals of the lifts")?;
    let stored = read::stored(plan).context("cannot read the ledger")?;
    Ok(Before { verticals, stored })
}

/// Records rides in these phases, each with its own pace.
fn record<W: Work<Output = Tally>>(
    plan: &RidesPlan,
    control: &Control,
    workload: String,
    phases: &[(&'static str, Flow)],
    work: impl Fn() -> W,
) -> Result<(Run, Tally)> {
    let connections = phases.iter().map(|(_, flow)| flow.connections);
    allow_connections(connections.max().unwrap_or_default())?;
    let (mut run, mut tally) = (Run::new(workload, 1), Tally::default());
    for (stage, &(name, flow)) in (0..).zip(phases) {
        if flow.until == Until::Requests(0) || control.stopped() {
            continue;
        }
        tally += measure(&mut run, plan.engine(stage, flow, work()), control, &[name])?;
    }
    if let (2.., Some((_, last))) = (run.rows.len(), phases.last()) {
        run.add_all(last.connections);
    }
    run.events = Some(tally.events);
    Ok((run, tally))
}

fn post(
    plan: &Arc<RidesPlan>,
    control: &Control,
    command: &RidesPostCommand,
) -> Result<(Run, Tally)> {
    let first = if command.rate.is_some() { 0 } else { command.first_threads };
    let first_events = command.events.min(u64::from(first) * FIRST_EVENTS);
    let until = Until::Requests(command.events - first_events);
    let until = command.duration.map_or(until, Until::Duration);
    let flow = |connections, until| Flow { connections, rate_per_s: command.rate, until };
    let name = if first == 0 { "rides" } else { "second phase" };
    let phases = [
        ("first phase", flow(first, Until::Requests(first_events))),
        (name, flow(command.threads, until)),
    ];
    record(plan, control, post_workload(command), &phases, || Posts {
        plan: Arc::clone(plan),
        retries: command.retries,
        repeat_share: command.repeat_percent / 100.0,
    })
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

fn post_batches(
    plan: &Arc<RidesPlan>,
    control: &Control,
    command: &RidesBatchCommand,
) -> Result<(Run, Tally)> {
    let RidesBatchCommand { events, lines, connections, compress, .. } = *command;
    let share = Share::of(lines, command.repeat_percent);
    let until = Until::Requests(share.batches(events));
    let flow = Flow { connections, rate_per_s: None, until };
    let packed = match compress {
        Compress::None => "",
        Compress::Gzip => ", gzip",
        Compress::Zstd => ", zstd",
    };
    let workload = format!("closed loop, {events} events, {lines} lines per batch{packed}");
    record(plan, control, workload, &[("batches", flow)], || Batches {
        plan: Arc::clone(plan),
        share,
        compress,
        left: events.into(),
    })
}

/// Closed loop: one kind of read after another, with each number of connections. Open loop: all mixed.
fn ask(plan: &Arc<RidesPlan>, control: &Control, command: &RidesGetCommand) -> Result<Run> {
    allow_connections(command.clients.iter().copied().max().unwrap_or_default())?;
    let flow = |connections, until| Flow { connections, rate_per_s: command.rate, until };
    let (mut run, parts): (Run, Vec<(Vec<ReadKind>, Flow)>) =
        if let (Some(rate), Some(duration)) = (command.rate, command.duration) {
            let workload = format!("open loop at {rate}/s for {} s", duration.as_secs_f64());
            let flow = flow(command.clients[0], Until::Duration(duration));
            (Run::new(workload, ReadKind::ALL.len()), vec![(ReadKind::ALL.to_vec(), flow)])
        } else {
            let workload = format!("closed loop, {} requests of each kind", command.samples);
            let flow = |&connections| flow(connections, Until::Requests(command.samples));
            let each =
                |question| command.clients.iter().map(flow).map(move |flow| (vec![question], flow));
            (Run::new(workload, 1), ReadKind::ALL.into_iter().flat_map(each).collect())
        };
    for (stage, (asked, flow)) in (0..).zip(parts) {
        if control.stopped() {
            break;
        }
        let names: Vec<&'static str> = asked.iter().map(|question| question.name()).collect();
        let work = Questions { plan: Arc::clone(plan), asked };
        let absent = measure(&mut run, plan.engine(stage, flow, work), control, &names)?;
        run.absent = Some(run.absent.unwrap_or_default() + absent);
        if flow.rate_per_s.is_some() {
            run.add_all(flow.connections);
        }
    }
    Ok(run)
}

/// Runs `engine` and adds its measurements to `run`, a named row for each kind of iteration. Returns the sum
/// of the threads' results.
fn measure<W: Work<Output: AddAssign>>(
    run: &mut Run,
    engine: Engine<W>,
    control: &Control,
    names: &[&'static str],
) -> Result<W::Output> {
    let flow = engine.flows[0];
    let (measured, hands) = engine.run(control, names[0])?;
    run.add(names, flow, &measured);
    let mut all = W::Output::default();
    for hand in hands {
        all += hand;
    }
    Ok(all)
}
