//! Runs the plan: creates the links, starts the threads, follows them, verifies, reports.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::runtime::Runtime;

use crate::board;
use crate::cli::{LoadCommand, RequestCommand};
use crate::control::{Control, Progress};
use crate::create::create_links;
use crate::interrupt::Interrupt;
use crate::ledger::Ledger;
use crate::limits::{cpu_time, raise_file_limit};
use crate::plan::{Lane, Plan, Until};
use crate::raw::RawWriter;
use crate::record::{Measured, float};
use crate::report::{self, Report};
use crate::rides;
use crate::verify::{Verification, verify};
use crate::worker::{Shared, Worked, work};

/// How often the progress bar moves.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// Files open besides the connections.
pub(crate) const FILES_BESIDES: u64 = 64;

/// Whether the run found what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Requests succeeded, and whatever was verified is right.
    Sound,
    /// `--verify` found something missing, wrong or unreadable, or no request at all succeeded.
    Unsound,
}

impl Outcome {
    /// The process's exit code: 0 or 1.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Sound => 0,
            Self::Unsound => 1,
        }
    }
}

/// One finished run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) measured: Measured,
    pub(crate) elapsed: Duration,
    /// CPU time of this process during the run; `None` where it cannot be read.
    pub(crate) cpu: Option<Duration>,
    pub(crate) interrupted: bool,
    pub(crate) verification: Option<Verification>,
}

/// Does what `command` says and writes the report to `out`.
///
/// Blocks until all is done. Threads and their runtimes are its own: call it from any thread that
/// may block. Ctrl-C stops the sending, awaits the answers under way and still reports; a second
/// one ends the process with code 130.
pub fn run_to(command: &LoadCommand, out: &mut impl Write) -> Result<Outcome> {
    match command {
        LoadCommand::Requests(command) => request(command, out),
        LoadCommand::Rides(command) => rides::run_to(command, out),
        LoadCommand::Board(command) => board::run_to(command, out),
    }
}

fn request(command: &RequestCommand, out: &mut impl Write) -> Result<Outcome> {
    let plan = Arc::new(Plan::new(command)?);
    raise_file_limit(u64::from(plan.connections) + FILES_BESIDES)?;
    let control = Control::default();
    let interrupt = Interrupt::watch(&control)?;
    create_links(&plan, &control).context("nothing was measured")?;
    let raw = plan.raw.as_deref().map(RawWriter::create).transpose()?;
    let started = std::time::SystemTime::now();
    let mut runs = Vec::new();
    for number in 0..plan.repeat {
        if control.stopped() {
            break;
        }
        runs.push(one_run(&plan, &control, number, raw.as_ref())?);
    }
    interrupt.end();
    if let Some(raw) = raw {
        raw.finish()?;
    }
    let report = Report::new(&plan, started, &runs);
    report::write(&plan, &report, out)?;
    Ok(if report.sound() { Outcome::Sound } else { Outcome::Unsound })
}

fn one_run(
    plan: &Arc<Plan>,
    control: &Control,
    number: u32,
    raw: Option<&RawWriter>,
) -> Result<Run> {
    let shared = Arc::new(Shared::new(Arc::clone(plan), control.clone(), number));
    let job = |id, runtime: Runtime| {
        let (shared, rows) = (Arc::clone(&shared), raw.map(RawWriter::rows));
        move || work(shared, id, &runtime, rows)
    };
    let name = format!("run {}/{}", number + 1, plan.repeat);
    let until: Vec<Until> = plan.lanes.iter().map(|lane| lane.flow.until).collect();
    let (worked, cpu) = on_threads(plan.threads, job, |ended| {
        follow(&shared.progress, &until, name, ended);
    })?;
    finish(plan, control, number, worked, cpu)
}

/// Runs the job that `job` makes for each thread on that thread, and `meanwhile` until its channel
/// closes because all have ended. With what each came to, and the CPU time of the process.
pub(crate) fn on_threads<T: Send + 'static, J: FnOnce() -> Result<T> + Send + 'static>(
    count: u32,
    mut job: impl FnMut(u32, Runtime) -> J,
    meanwhile: impl FnOnce(&Receiver<()>),
) -> Result<(Vec<T>, Option<Duration>)> {
    // Made here: a thread that failed to make its runtime would leave the others waiting at the start.
    let runtimes = (0..count)
        .map(|_| tokio::runtime::Builder::new_current_thread().enable_all().build())
        .collect::<Result<Vec<Runtime>, _>>()?;
    let cpu_before = cpu_time();
    let (ended, all_ended) = channel::<()>();
    let mut threads = Vec::with_capacity(runtimes.len());
    for (id, runtime) in (0..).zip(runtimes) {
        let (job, ended) = (job(id, runtime), ended.clone());
        let run = move || {
            let _ended = ended;
            job()
        };
        threads.push(std::thread::Builder::new().name(format!("load-{id}")).spawn(run)?);
    }
    drop(ended);
    meanwhile(&all_ended);
    let mut worked = Vec::with_capacity(threads.len());
    for thread in threads {
        worked.push(thread.join().map_err(|_| anyhow!("a worker thread panicked"))??);
    }
    let cpu = cpu_before.zip(cpu_time()).map(|(before, after)| after.saturating_sub(before));
    Ok((worked, cpu))
}

fn finish(
    plan: &Arc<Plan>,
    control: &Control,
    number: u32,
    worked: Vec<Worked>,
    cpu: Option<Duration>,
) -> Result<Run> {
    let interrupted = control.stopped();
    let elapsed = elapsed(plan, interrupted, &worked);
    let mut measured = Measured::new();
    let mut ledgers: Vec<Ledger> = Vec::with_capacity(worked.len());
    for one in worked {
        measured.merge(&one.measured);
        ledgers.push(one.ledger);
    }
    let verification =
        if plan.verify { Some(check(plan, number, &measured, &ledgers)?) } else { None };
    Ok(Run { measured, elapsed, cpu, interrupted, verification })
}

/// The time that rates refer to, of all lanes.
fn elapsed(plan: &Plan, interrupted: bool, worked: &[Worked]) -> Duration {
    let last_end = worked.iter().map(|one| one.last_end).max().unwrap_or_default();
    if interrupted {
        return last_end;
    }
    let last_success = worked.iter().map(|one| one.last_success).max().unwrap_or_default();
    let of = |lane: &Lane| lane.flow.elapsed(last_success, last_end);
    plan.lanes.iter().map(of).max().unwrap_or_default()
}

fn check(
    plan: &Arc<Plan>,
    number: u32,
    measured: &Measured,
    ledgers: &[Ledger],
) -> Result<Verification> {
    let mut found = if plan.put.is_some() {
        verify(plan, number, ledgers).context("cannot read the writes back")?
    } else {
        Verification::default()
    };
    found.reads_wrong = measured
        .get
        .errors
        .get(&crate::record::ErrorKind::WrongTarget)
        .copied()
        .unwrap_or_default();
    found.reads_checked = measured.get.succeeded + found.reads_wrong;
    Ok(found)
}

/// Moves the progress bar (hidden unless standard error is a terminal) until all threads have ended.
pub(crate) fn follow(
    progress: &[Progress],
    until: &[Until],
    name: String,
    all_ended: &Receiver<()>,
) {
    let total: u64 =
        until.iter().map(|until| if let Until::Requests(count) = until { *count } else { 0 }).sum();
    let duration = until.iter().find_map(|until| {
        if let Until::Duration(duration) = until { Some(*duration) } else { None }
    });
    let length =
        duration.map_or(total, |duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:40}] {percent:>3} % {msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(name);
    let began = Instant::now();
    let (mut seen_before, mut at_before) = (0, began);
    while all_ended.recv_timeout(PROGRESS_EVERY) == Err(RecvTimeoutError::Timeout) {
        let (good, bad) = progress
            .iter()
            .map(Progress::seen)
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let now = Instant::now();
        let rate = float(good - seen_before) / (now - at_before).as_secs_f64();
        (seen_before, at_before) = (good, now);
        let place = if duration.is_some() {
            u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
        } else {
            good + bad
        };
        bar.set_position(place.min(length));
        bar.set_message(format!("{good} ok, {bad} errors, {rate:.0}/s"));
    }
    bar.finish_and_clear();
}
