//! Threads of a run, each with its own runtime, and the progress bar.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::runtime::Runtime;

use super::control::Progress;
use super::limits::cpu_time;
use super::pace::{Flow, Until};
use super::times::float;

/// The interval between updates of the progress bar.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Returns the number of threads: `wanted`, by default half of the cores (1 to 8), at most one a connection.
pub(crate) fn threads(wanted: Option<u32>, connections: u32) -> u32 {
    let cores = std::thread::available_parallelism()
        .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
    wanted.unwrap_or((cores / 2).clamp(1, 8)).min(connections)
}

/// Runs the jobs that `job` makes on `count` threads named `name-N`, and `meanwhile` on this thread, whose
/// channel closes when all threads have ended. Returns each job's result and the process's CPU time.
pub(crate) fn on_threads<T: Send + 'static, J: FnOnce() -> Result<T> + Send + 'static>(
    name: &str,
    count: u32,
    mut job: impl FnMut(u32, Runtime) -> J,
    meanwhile: impl FnOnce(&Receiver<()>),
) -> Result<(Vec<T>, Option<Duration>)> {
    // Created here: a thread that failed to create its runtime would leave the others waiting at the barrier.
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
        threads.push(std::thread::Builder::new().name(format!("{name}-{id}")).spawn(run)?);
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

/// Updates the progress bar (hidden unless standard error is a terminal) until all threads have ended.
pub(super) fn follow(
    progress: &[Progress],
    flows: &[Flow],
    name: String,
    all_ended: &Receiver<()>,
) {
    let (total, duration) =
        flows.iter().fold((0, None), |(total, duration), flow| match flow.until {
            Until::Requests(count) => (total + count, duration),
            Until::Duration(time) => (total, Some(time)),
        });
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let length = duration.map_or(total, ms);
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
        let place = if duration.is_some() { ms(began.elapsed()) } else { good + bad };
        bar.set_position(place.min(length));
        bar.set_message(format!("{good} ok, {bad} errors, {rate:.0}/s"));
    }
    bar.finish_and_clear();
}
