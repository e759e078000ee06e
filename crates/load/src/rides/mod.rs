//! Lift rides: recorded one by one, recorded many at a time, asked for.
//!
//! Every event has an id of its own, minted before it is sent and the same at each try, so that a server
//! can count it once however often it comes. What a run must find afterwards is kept as sums for each
//! skier's day: memory grows with those, not with the events.

mod batch;
mod cli;
mod get;
mod plan;
mod post;
mod read;
mod request;
mod resolve;
mod ride;
mod tally;
mod verify;

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

pub use cli::{
    Compress, RidesArgs, RidesBatchCommand, RidesCommand, RidesGetCommand, RidesPostCommand,
};
pub(crate) use get::Question;
pub(crate) use plan::RidesPlan;
pub(crate) use tally::{Events, Tally};
pub(crate) use verify::Verification;

use crate::control::Control;
use crate::crew::{Crewed, crew};
use crate::interrupt::Interrupt;
use crate::limits::raise_file_limit;
use crate::pace::Flow;
use crate::plan::Until;
use crate::record::{Record, Times};
use crate::report::rides::RidesReport;
use crate::run::{FILES_BESIDES, Outcome};
use batch::{Batches, Share};
use get::Questions;
use post::Posts;
use ride::Verticals;
use verify::{Before, verify};

/// Events of each connection of the first phase.
const FIRST_EVENTS: u64 = 1000;

/// What was done at one pace: a row of the report.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) connections: u32,
    pub(crate) record: Record,
    pub(crate) elapsed: Duration,
    /// Its record is in another stage's, too.
    pub(crate) again: bool,
}

/// How well the client kept its own schedule.
#[derive(Debug)]
pub(crate) struct Lag {
    pub(crate) lag: Times,
    pub(crate) queued: u64,
}

/// All that a command came to.
#[derive(Debug, Default)]
pub(crate) struct RidesRun {
    /// In words: what was sent, and how.
    pub(crate) workload: String,
    pub(crate) stages: Vec<Stage>,
    /// In an open loop.
    pub(crate) lag: Option<Lag>,
    /// Where rides were recorded.
    pub(crate) events: Option<Events>,
    /// Where they were asked for: answers that there is nothing.
    pub(crate) absent: Option<u64>,
    pub(crate) cpu: Option<Duration>,
    pub(crate) interrupted: bool,
    pub(crate) verification: Option<Verification>,
}

/// Does what `command` says and writes the report to `out`.
pub(crate) fn run_to(command: &RidesCommand, out: &mut impl Write) -> Result<Outcome> {
    let plan = Arc::new(RidesPlan::new(command)?);
    let before = if plan.verify { Some(prepare(&plan)?) } else { None };
    let verticals = before.as_ref().map(|before| Arc::clone(&before.verticals));
    let control = Control::default();
    let interrupt = Interrupt::watch(&control)?;
    let started = SystemTime::now();
    let (mut run, tally) = match command {
        RidesCommand::Rides(post) => record(&plan, &control, verticals.as_ref(), post)?,
        RidesCommand::RidesBatch(batch) => record_batches(&plan, &control, verticals, batch)?,
        RidesCommand::RidesGet(get) => (ask(&plan, &control, get)?, Tally::default()),
    };
    interrupt.end();
    let verified = before.map(|before| verify(&plan, &before, tally)).transpose();
    run.verification = verified.as_ref().ok().cloned().flatten();
    let report = RidesReport::new(&plan, started, &run);
    report.write(plan.json.as_deref(), out)?;
    // Said only now: what was measured is not lost with it.
    verified.context("the run was measured, but cannot be verified")?;
    Ok(if report.sound() { Outcome::Sound } else { Outcome::Unsound })
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

impl RidesRun {
    fn new(workload: String) -> Self {
        Self { workload, cpu: Some(Duration::ZERO), ..Self::default() }
    }

    /// Adds the figures of a crew, a row for each kind of its turns; its hands are given back.
    fn add<H>(
        &mut self,
        names: &[&'static str],
        connections: u32,
        open: bool,
        crewed: Crewed<H>,
    ) -> Vec<H> {
        let elapsed = crewed.elapsed;
        let stage = |(&name, record)| Stage { name, connections, record, elapsed, again: false };
        self.stages.extend(names.iter().zip(crewed.records).map(stage));
        if open {
            self.lag = Some(Lag { lag: crewed.lag, queued: crewed.queued });
        }
        self.cpu = self.cpu.zip(crewed.cpu).map(|(sum, more)| sum + more);
        self.interrupted |= crewed.interrupted;
        crewed.hands
    }

    /// Adds a row of all rows so far, which took `elapsed`.
    fn add_all(&mut self, connections: u32, elapsed: Duration) {
        let mut record = Record::new();
        for stage in &self.stages {
            record.merge(&stage.record);
        }
        self.stages.push(Stage { name: "all", connections, record, elapsed, again: true });
    }
}

fn record(
    plan: &Arc<RidesPlan>,
    control: &Control,
    verticals: Option<&Arc<Verticals>>,
    command: &RidesPostCommand,
) -> Result<(RidesRun, Tally)> {
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
    let mut run = RidesRun::new(post_workload(command));
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
        let crewed = crew(plan.seating(), control, (name, stage), flow, work)?;
        for hand in run.add(&[name], flow.connections, flow.rate_per_s.is_some(), crewed) {
            tally.merge(hand);
        }
    }
    if run.stages.len() > 1 {
        let elapsed = run.stages.iter().map(|stage| stage.elapsed).sum();
        run.add_all(command.threads, elapsed);
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
) -> Result<(RidesRun, Tally)> {
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
    let mut run = RidesRun::new(workload);
    let mut tally = Tally::default();
    let crewed = crew(plan.seating(), control, ("batches", 0), flow, work)?;
    for hand in run.add(&["batches"], flow.connections, false, crewed) {
        tally.merge(hand);
    }
    run.events = Some(tally.events);
    Ok((run, tally))
}

fn ask(plan: &Arc<RidesPlan>, control: &Control, command: &RidesGetCommand) -> Result<RidesRun> {
    open_files(command.clients.iter().copied().max().unwrap_or_default())?;
    if let (Some(rate), Some(duration)) = (command.rate, command.duration) {
        return ask_open(plan, control, command, (rate, duration));
    }
    let mut run = RidesRun::new(format!("closed loop, {} samples of each", command.samples));
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
) -> Result<RidesRun> {
    let workload = format!("open loop at {rate}/s for {} s", duration.as_secs_f64());
    let mut run = RidesRun::new(workload);
    let connections = command.clients.first().copied().unwrap_or(1);
    let until = Until::Duration(duration);
    let flow = Flow { connections, rate_per_s: Some(rate), until };
    ask_these(&mut run, plan, control, (0, &Question::ALL), flow)?;
    let elapsed = run.stages.first().map_or(duration, |stage| stage.elapsed);
    run.add_all(connections, elapsed);
    Ok(run)
}

fn ask_these(
    run: &mut RidesRun,
    plan: &Arc<RidesPlan>,
    control: &Control,
    (stage, asked): (u64, &[Question]),
    flow: Flow,
) -> Result<()> {
    let names: Vec<&'static str> = asked.iter().map(|question| question.name()).collect();
    let work = Questions { plan: Arc::clone(plan), asked: asked.to_vec() };
    let crewed = crew(plan.seating(), control, (names[0], stage), flow, work)?;
    let seen = run.add(&names, flow.connections, flow.rate_per_s.is_some(), crewed);
    let absent: u64 = seen.iter().map(|seen| seen.absent).sum();
    run.absent = Some(run.absent.unwrap_or_default() + absent);
    Ok(())
}
