//! Runs `lodge load board`.

use std::io::Write;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use tokio_util::sync::CancellationToken;

use super::cli::BoardArgs;
use super::event::MessageFormat;
use super::listen::{BoardRun, StreamResults, listen_during};
use super::messages::Messages;
use super::plan::BoardPlan;
use super::post::{Posted, Posts};
use super::report::Run;
use super::verify::verify;
use super::{report, setup};
use crate::engine::control::Control;
use crate::engine::interrupt::interruptible;
use crate::engine::limits::allow_connections;
use crate::engine::outcome::{Outcomes, WriteOutcome};
use crate::engine::run::Measured;
use crate::engine::times::{Times, float};
use crate::report::figures::{Figures, Latency, Pacing};
use crate::report::page::RunOutcome;
use crate::report::published::published;

/// The interval between checks whether all streams have caught up.
const CATCH_UP_EVERY: Duration = Duration::from_millis(10);
/// How much longer the streams stay open, to detect repeats.
const LINGER: Duration = Duration::from_millis(300);

/// Counts of messages by outcome.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub(crate) struct Counts {
    #[serde(flatten)]
    pub(crate) outcomes: Outcomes,
    /// Tries after the first.
    pub(crate) retries: u64,
    /// Messages whose first try was answered as a repeat.
    pub(crate) new_as_repeat: u64,
}

/// Runs the command and writes the report to `out`.
pub(crate) fn run_to(args: &BoardArgs, out: &mut impl Write) -> Result<RunOutcome> {
    let plan = Arc::new(BoardPlan::new(args)?);
    allow_connections(plan.streams + plan.flow.connections)?;
    let (started, run) = interruptible(|control| {
        let crowd = Arc::new(prepare(&plan, control).context("nothing was measured")?);
        let post = || Ok((SystemTime::now(), Posting::run(&crowd, control)?));
        let (heard, (started, posting)) = listen_during(&crowd, control, post)?;
        Ok((started, posting.report(&crowd, heard)))
    })?;
    report::write(&plan, started, run, out)
}

/// Prepares the run up to opening the streams.
fn prepare(plan: &Arc<BoardPlan>, control: &Control) -> Result<BoardRun> {
    let tokens = setup::tokens(plan, control)?;
    Ok(BoardRun {
        start: setup::start(plan, control, &tokens[0])?,
        plan: Arc::clone(plan),
        tokens,
        messages: Messages::new(plan.messages),
        wording: MessageFormat::new(),
        over: CancellationToken::new(),
        opened: AtomicU32::new(0),
        frames: AtomicU64::new(0),
        trouble: OnceLock::new(),
    })
}

/// The result of posting while all streams were open.
struct Posting {
    measured: Measured,
    posted: Posted,
    /// Events received by all streams meanwhile.
    frames: u64,
    caught_up: Duration,
}

impl Posting {
    fn run(crowd: &Arc<BoardRun>, control: &Control) -> Result<Self> {
        let seen = || crowd.frames.load(Ordering::Relaxed);
        let frames_before = seen();
        let work = Posts { crowd: Arc::clone(crowd) };
        let (measured, hands) = crowd.plan.engine(work).run(control, "messages")?;
        let frames = seen() - frames_before;
        let mut posted = Posted::default();
        for hand in hands {
            posted += hand;
        }
        let caught_up = catch_up(&crowd.messages, &crowd.plan, control);
        Ok(Self { measured, posted, frames, caught_up })
    }

    fn report(self, crowd: &BoardRun, heard: StreamResults) -> Run {
        let (Self { measured, posted, frames, caught_up }, messages) = (self, &crowd.messages);
        let elapsed_s = measured.elapsed.as_secs_f64();
        Run {
            interrupted: measured.interrupted,
            elapsed_s,
            posts: Figures::new(&measured.all(), measured.elapsed),
            each_stream_ms: Latency::of(&heard.each),
            until_last_ms: Latency::of(&until_last(messages, crowd.plan.streams)),
            messages: Counts::new(messages, &posted),
            frames,
            frames_per_s: if elapsed_s > 0.0 { float(frames) / elapsed_s } else { 0.0 },
            caught_up_s: caught_up.as_secs_f64(),
            ends: heard.ends,
            pacing: crowd.plan.flow.rate_per_s.map(|_| Pacing::of(&measured)),
            client_cpu_s: measured.cpu.map(|cpu| cpu.as_secs_f64()),
            verification: crowd.plan.args.verify.then(|| verify(messages, heard, posted)),
            published: published("board"),
        }
    }
}

impl Counts {
    fn new(messages: &Messages, posted: &Posted) -> Self {
        let mut outcomes = Outcomes { refused: posted.not_sent, ..Outcomes::default() };
        for outcome in messages.sent().filter_map(|number| messages.outcome(number)) {
            outcomes.count(outcome);
        }
        let Posted { retries, new_as_repeat, .. } = *posted;
        Self { outcomes, retries, new_as_repeat }
    }
}

/// Returns the times to the last stream of the acknowledged messages that all streams have.
fn until_last(messages: &Messages, streams: u32) -> Times {
    let mut times = Times::default();
    for number in messages.with(WriteOutcome::Acknowledged) {
        if let Some(took) = messages.until_last(number, streams) {
            times.record(took);
        }
    }
    times
}

/// Waits until every stream has every acknowledged message, and then `LINGER`. Returns how long the former
/// took. A message of unknown outcome is waited for if at least one stream has it.
fn catch_up(messages: &Messages, plan: &BoardPlan, control: &Control) -> Duration {
    if plan.streams == 0 {
        return Duration::ZERO;
    }
    let began = Instant::now();
    let is_everywhere = |number: &u32| {
        let having = messages.streams(*number);
        match messages.outcome(*number) {
            Some(WriteOutcome::Acknowledged) => having >= plan.streams,
            Some(WriteOutcome::Unknown) => having == 0 || having >= plan.streams,
            Some(WriteOutcome::Refused) | None => true,
        }
    };
    let mut waiting = messages.sent();
    let was_stopped = control.stopped();
    loop {
        waiting.start += u32::try_from(waiting.clone().take_while(is_everywhere).count())
            .unwrap_or(waiting.end - waiting.start);
        // The Ctrl-C that ended the posting does not end this wait; a later one does.
        let is_stopped = control.stopped() && !was_stopped;
        if waiting.is_empty() || began.elapsed() > plan.args.catch_up || is_stopped {
            break;
        }
        std::thread::sleep(CATCH_UP_EVERY);
    }
    let took = began.elapsed();
    std::thread::sleep(LINGER.min(plan.args.catch_up));
    took
}
