//! Checkpoints the write-ahead log on a separate thread, and keeps its length bounded.
//!
//! A passive checkpoint blocks no connection, but cannot restart the log while the writer keeps writing. So the writer
//! waits for a restart checkpoint once the log is long. A reader of an old snapshot can block a restart checkpoint, too.
//! So the thread pauses searches and exports first, while the writer goes on. A backup cannot be paused: during it the
//! log may grow further, up to a length from which writes are refused.
//!
//! A restarted log still has the bytes of earlier pages, such as deleted texts. So its file is truncated, too, within
//! [`wal_age_max`](crate::Options::wal_age_max) of each commit.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::Connection;

use crate::{
    failure::SharedError,
    long_reads::{LongReads, Pause},
};

/// How long a restart checkpoint, for which the writer waits, may wait for readers.
const READERS_WAIT: Duration = Duration::from_millis(100);

/// How long a truncation for which the writer waits may wait for readers.
const TRUNCATION_WAIT: Duration = Duration::from_millis(25);

/// How long a pause of long reads lasts at most while the thread waits for the writer.
const WRITER_WAIT: Duration = Duration::from_millis(500);

/// The time until the next attempt, after a truncation that was prevented.
const TRUNCATION_RETRY: Duration = Duration::from_secs(5);

/// Limits of the log: lengths in bytes, and its age.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogLimits {
    /// Growth after which a passive checkpoint runs.
    pub(crate) passive: u64,
    /// Length from which the writer waits for a restart checkpoint.
    pub(crate) restart: u64,
    /// Length from which writes are refused.
    pub(crate) max: u64,
    /// How long a commit stays in the file.
    pub(crate) age_max: Duration,
}

/// The handle of the checkpoint thread.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    state: Mutex<State>,
    wake: Condvar,
    done: Condvar,
    /// The log's length after the last commit, in bytes.
    length: AtomicU64,
    /// Whether there was a commit since the file was last truncated.
    grown: AtomicBool,
    long_reads: Arc<LongReads>,
    limits: LogLimits,
}

#[derive(Debug)]
struct State {
    requested: Option<Kind>,
    activity: Activity,
    /// The log's length when a checkpoint was last requested.
    requested_at: u64,
    /// Length from which a restart checkpoint is due.
    restart_at: u64,
    /// Whether a truncation was prevented, perhaps by the writer, which then waits for the next one.
    is_truncation_due: bool,
    /// Checkpoints for which the writer waits that have ended.
    waits_ended: u64,
    stopped: bool,
}

/// The activity of the checkpoint thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Idle,
    /// Waits for long reads to end. The writer does not wait meanwhile.
    Pausing,
    Checkpoint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Copies as much as readers allow.
    Passive,
    /// A passive checkpoint with long reads paused, before a [`Self::Restart`].
    Prepare,
    /// Restarts the log; the writer waits.
    Restart,
    /// Truncates the log, if its file has grown, with long reads paused.
    Truncate,
    /// Truncates the log; the writer waits, after a [`Self::Truncate`] that it may have prevented.
    AwaitedTruncate,
}

impl Kind {
    fn is_awaited(self) -> bool {
        matches!(self, Self::Restart | Self::AwaitedTruncate)
    }

    fn pauses_long_reads(self) -> bool {
        matches!(self, Self::Prepare | Self::Truncate)
    }
}

impl State {
    /// Returns the checkpoint that is due at this length of the log.
    fn due(&mut self, length: u64, limits: &LogLimits) -> Option<Kind> {
        // The log may have restarted since.
        self.requested_at = self.requested_at.min(length);
        if length < limits.restart {
            self.restart_at = limits.restart;
        }
        if self.activity == Activity::Pausing {
            return None;
        }
        let grown = length - self.requested_at;
        let restart_at = self.restart_at.min(limits.max);
        let due = if self.is_truncation_due {
            self.is_truncation_due = false;
            Some(Kind::AwaitedTruncate)
        } else if length < restart_at {
            (grown >= limits.passive).then_some(Kind::Passive)
        } else if self.requested_at < restart_at {
            Some(Kind::Prepare)
        } else {
            let is_idle = self.requested.is_none() && self.activity == Activity::Idle;
            (is_idle || grown >= limits.restart / 4).then_some(Kind::Restart)
        };
        if due.is_some() {
            self.requested_at = length;
        }
        due
    }
}

impl Checkpoints {
    /// Returns the handle; [`Self::start`] starts the thread.
    pub(crate) fn new(limits: LogLimits) -> Arc<Self> {
        let state = State {
            requested: None,
            activity: Activity::Idle,
            requested_at: 0,
            restart_at: limits.restart,
            is_truncation_due: false,
            waits_ended: 0,
            stopped: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            wake: Condvar::new(),
            done: Condvar::new(),
            length: AtomicU64::new(0),
            grown: AtomicBool::new(true),
            long_reads: Arc::default(),
            limits,
        })
    }

    /// The reads that checkpoints pause.
    pub(crate) fn long_reads(&self) -> &Arc<LongReads> {
        &self.long_reads
    }

    /// Starts the thread; `alive` is dropped when it ends.
    pub(crate) fn start<A: Send + 'static>(
        self: &Arc<Self>,
        connection: Connection,
        alive: A,
    ) -> std::io::Result<()> {
        let checkpoints = Arc::clone(self);
        thread::Builder::new().name("lodge-checkpoint".to_owned()).spawn(move || {
            // In this order, so that the connection is closed when the thread counts as ended.
            let (_alive, connection) = (alive, connection);
            checkpoints.run(&connection);
        })?;
        Ok(())
    }

    /// Records the log's length after a commit.
    pub(crate) fn note_length(&self, bytes: u64) {
        self.length.store(bytes, Ordering::Relaxed);
        self.grown.store(true, Ordering::Relaxed);
    }

    /// Called by the writer before each group: requests a checkpoint if one is due, waits for it if the log is long,
    /// and fails if the log has reached its maximum length.
    pub(crate) fn limit_log(&self) -> Result<(), SharedError> {
        let mut state = self.state.lock();
        match state.due(self.length(), &self.limits) {
            None => {}
            Some(kind) if kind.is_awaited() => {
                self.wait_for(kind, &mut state);
                if kind == Kind::Restart {
                    self.postpone_restart(&mut state);
                }
            }
            Some(kind) => {
                state.requested = Some(kind);
                self.wake.notify_one();
            }
        }
        if self.length() >= self.limits.max {
            return Err(SharedError::from_text(
                "the write-ahead log has reached its maximum length, and a reader prevents its reuse",
            ));
        }
        Ok(())
    }

    /// A reader may have blocked the checkpoint; the writer does not wait for it at every group.
    fn postpone_restart(&self, state: &mut State) {
        state.restart_at = self.length() + self.limits.restart / 4;
        // At its maximum length, the log is prepared again.
        state.requested_at = state.requested_at.min(self.limits.max.saturating_sub(1));
    }

    /// Whether the writer will wait for a truncation.
    #[cfg(test)]
    pub(crate) fn is_truncation_due(&self) -> bool {
        self.state.lock().is_truncation_due
    }

    /// Returns the log's length after the last commit, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    /// Has the thread run a checkpoint while the writer, which calls this, writes nothing.
    fn wait_for(&self, kind: Kind, state: &mut MutexGuard<'_, State>) {
        let ended = state.waits_ended;
        state.requested = Some(kind);
        self.wake.notify_one();
        let deadline = Instant::now() + Duration::from_secs(5);
        while state.waits_ended == ended && !state.stopped {
            if self.done.wait_until(state, deadline).timed_out() {
                return;
            }
        }
    }

    /// Ends the thread after a last checkpoint.
    pub(crate) fn stop(&self) {
        self.state.lock().stopped = true;
        self.wake.notify_all();
        self.done.notify_all();
    }

    fn run(&self, connection: &Connection) {
        let mut state = self.state.lock();
        let mut truncation_at = Instant::now() + self.limits.age_max;
        // A pause of long reads, and when it ends if the writer requests no checkpoint.
        let mut paused: Option<(Pause<'_>, Instant)> = None;
        while !state.stopped {
            let now = Instant::now();
            if !state.requested.is_some_and(Kind::is_awaited) {
                paused.take_if(|(_, end)| *end <= now);
            }
            let kind = match state.requested.take() {
                Some(kind) => kind,
                None if now >= truncation_at => Kind::Truncate,
                None => {
                    let pause_end = paused.as_ref().map_or(truncation_at, |(_, end)| *end);
                    self.wake.wait_until(&mut state, truncation_at.min(pause_end));
                    continue;
                }
            };
            if kind.pauses_long_reads() && paused.is_none() && self.is_needed(kind) {
                state.activity = Activity::Pausing;
                let pause = MutexGuard::unlocked(&mut state, || self.long_reads.pause());
                state.activity = Activity::Idle;
                paused = pause.map(|pause| (pause, Instant::now() + WRITER_WAIT));
                if paused.is_none() {
                    self.postpone(kind, &mut state, &mut truncation_at);
                    continue;
                }
                // The writer waits only if the log grows much while this checkpoint runs.
                state.requested_at = self.length();
            }
            state.activity = Activity::Checkpoint;
            let is_complete =
                MutexGuard::unlocked(&mut state, || self.checkpoint(connection, kind));
            state.activity = Activity::Idle;
            if matches!(kind, Kind::Truncate | Kind::AwaitedTruncate) {
                let next = if is_complete { self.limits.age_max } else { TRUNCATION_RETRY };
                truncation_at = Instant::now() + next;
                // If the writer waited for it, only a reader can have prevented it.
                state.is_truncation_due = !is_complete && kind == Kind::Truncate;
            }
            if kind.is_awaited() {
                state.waits_ended += 1;
                self.done.notify_all();
            }
            if kind.is_awaited() || (kind == Kind::Truncate && is_complete) {
                paused = None;
            } else if let Some((_, end)) = &mut paused
                && kind.pauses_long_reads()
            {
                *end = Instant::now() + WRITER_WAIT;
            }
        }
        drop(state);
        drop(paused);
        // The writer has ended, and the remaining reads are short.
        self.run_mode(connection, "TRUNCATE", Duration::from_secs(1));
    }

    /// Whether a checkpoint for which long reads are paused has anything to do: the log may have restarted since it was
    /// requested.
    fn is_needed(&self, kind: Kind) -> bool {
        match kind {
            Kind::Prepare => self.length() >= self.limits.restart,
            _ => self.grown.load(Ordering::Relaxed),
        }
    }

    /// Postpones a checkpoint after a long read took too long for a pause. The next pause may fail, too, and no search
    /// begins meanwhile, so it is tried later than after other failures.
    fn postpone(&self, kind: Kind, state: &mut State, truncation_at: &mut Instant) {
        match kind {
            Kind::Prepare => state.restart_at = self.length() + self.limits.restart,
            _ => *truncation_at = Instant::now() + 3 * TRUNCATION_RETRY,
        }
    }

    /// Returns whether no reader or writer prevented it from completing its work. A checkpoint for which the writer
    /// waits may wait for readers; any other would block the writer.
    fn checkpoint(&self, connection: &Connection, kind: Kind) -> bool {
        let before = self.length();
        let passive = || self.run_mode(connection, "PASSIVE", Duration::ZERO);
        let truncate = |patience| self.run_mode(connection, "TRUNCATE", patience);
        let is_complete = match kind {
            Kind::Passive | Kind::Prepare => return passive(),
            Kind::Restart => self.run_mode(connection, "RESTART", READERS_WAIT),
            _ if !self.grown.swap(false, Ordering::Relaxed) => return true,
            // First without a lock. If a reader needs the log then, the lock is of use only to wait for it.
            Kind::Truncate => passive() && truncate(Duration::ZERO),
            Kind::AwaitedTruncate => {
                passive();
                truncate(TRUNCATION_WAIT)
            }
        };
        if kind != Kind::Restart {
            self.grown.fetch_or(!is_complete, Ordering::Relaxed);
        }
        if is_complete {
            // Not after a commit since, whose length is the right one.
            let _ = self.length.compare_exchange(before, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        is_complete
    }

    /// Runs a checkpoint, which waits this long for locks; returns whether it copied all of the log.
    fn run_mode(&self, connection: &Connection, mode: &str, patience: Duration) -> bool {
        let ran = connection.busy_timeout(patience).and_then(|()| checkpoint(connection, mode));
        match ran {
            Ok(Progress { is_complete }) => {
                if !is_complete {
                    tracing::debug!(
                        mode,
                        length_bytes = self.length(),
                        "a checkpoint is incomplete"
                    );
                }
                is_complete
            }
            Err(error) => {
                tracing::error!(%error, mode, "a checkpoint failed");
                false
            }
        }
    }
}

struct Progress {
    /// Whether all of the log was copied, and no reader or writer prevented the rest.
    is_complete: bool,
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Progress> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        let (busy, log, copied): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Progress { is_complete: busy == 0 && copied >= log })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LogLimits =
        LogLimits { passive: 4, restart: 64, max: 1_000, age_max: Duration::from_secs(30) };

    fn ready() -> Arc<Checkpoints> {
        Checkpoints::new(LIMITS)
    }

    #[test]
    fn a_long_log_is_checkpointed_before_the_writer_waits_for_a_restart() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        assert_eq!(state.due(63, &LIMITS), Some(Kind::Passive));
        assert_eq!(state.due(64, &LIMITS), Some(Kind::Prepare));
        state.activity = Activity::Checkpoint;
        assert_eq!(state.due(70, &LIMITS), None);
        state.activity = Activity::Idle;
        assert_eq!(state.due(71, &LIMITS), Some(Kind::Restart));
    }

    #[test]
    fn the_writer_waits_once_for_a_truncation_that_was_prevented() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        state.is_truncation_due = true;
        assert_eq!(state.due(1, &LIMITS), Some(Kind::AwaitedTruncate));
        assert_eq!(state.due(1, &LIMITS), None);
    }

    #[test]
    fn thresholds_are_normal_again_after_a_long_read() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        state.restart_at = 500;
        // The reader has ended, and the log has restarted by itself.
        assert_eq!(state.due(1, &LIMITS), None);
        assert_eq!(state.due(63, &LIMITS), Some(Kind::Passive));
        assert_eq!(state.due(64, &LIMITS), Some(Kind::Prepare));
        assert_eq!(state.due(65, &LIMITS), Some(Kind::Restart));
    }

    #[test]
    fn the_writer_eventually_waits_for_a_slow_checkpoint() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        assert_eq!(state.due(64, &LIMITS), Some(Kind::Prepare));
        state.activity = Activity::Checkpoint;
        assert_eq!(state.due(79, &LIMITS), None);
        assert_eq!(state.due(80, &LIMITS), Some(Kind::Restart));
    }

    #[test]
    fn the_writer_does_not_wait_while_long_reads_are_paused() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        state.is_truncation_due = true;
        state.activity = Activity::Pausing;
        assert_eq!(state.due(64, &LIMITS), None);
        assert_eq!(state.due(1_000, &LIMITS), None);
        state.activity = Activity::Idle;
        assert_eq!(state.due(1_000, &LIMITS), Some(Kind::AwaitedTruncate));
    }

    #[test]
    fn a_log_of_maximum_length_is_prepared_for_each_restart() {
        let checkpoints = ready();
        checkpoints.note_length(1_000);
        let mut state = checkpoints.state.lock();
        for _ in 0..2 {
            assert_eq!(state.due(1_000, &LIMITS), Some(Kind::Prepare));
            assert_eq!(state.due(1_000, &LIMITS), Some(Kind::Restart));
            // As after a restart that a reader prevented.
            checkpoints.postpone_restart(&mut state);
        }
    }
}
