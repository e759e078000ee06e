//! Checkpoints the write-ahead log on a separate thread, and keeps its length bounded.
//!
//! A passive checkpoint blocks no connection, but cannot restart the log while the writer keeps writing. So the writer
//! waits for a restart checkpoint once the log is long. A reader of an old snapshot can block even that, so long reads
//! are paused before it; during one that does not end, such as a backup, the log may grow further, up to a length from
//! which writes are refused.
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

/// How long a truncation for which the writer waits may wait for readers. While long reads prevent it, it takes half a
/// percent of the writer's time.
const TRUNCATION_WAIT: Duration = Duration::from_millis(25);

/// How long long reads stay paused for a checkpoint for which the writer waits, if it writes nothing meanwhile.
const WRITER_WAIT: Duration = Duration::from_millis(100);

/// The time until a prevented truncation is tried again.
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
    running: Option<Kind>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Copies what no reader prevents.
    Passive,
    /// Pauses long reads, and copies as much as can be before a [`Self::Restart`].
    Prepare,
    /// Restarts the log; the writer waits.
    Restart,
    /// Truncates the log, if its file has grown.
    Truncate,
    /// Truncates the log after a [`Self::Truncate`] that the writer prevented; now it waits.
    AwaitedTruncate,
}

impl Kind {
    fn is_awaited(self) -> bool {
        matches!(self, Self::Restart | Self::AwaitedTruncate)
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
        let grown = length - self.requested_at;
        let due = if self.is_truncation_due {
            self.is_truncation_due = false;
            Some(Kind::AwaitedTruncate)
        } else if length >= limits.max {
            Some(Kind::Restart)
        } else if length < self.restart_at {
            (grown >= limits.passive).then_some(Kind::Passive)
        } else if self.requested_at < self.restart_at {
            Some(Kind::Prepare)
        } else {
            let is_idle = self.requested.is_none() && self.running.is_none();
            // The writer does not wait for long reads.
            let may_wait = self.running != Some(Kind::Prepare) && grown >= limits.restart / 4;
            (is_idle || may_wait).then_some(Kind::Restart)
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
            running: None,
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
                    self.put_off_restart(&mut state);
                }
            }
            Some(kind) => {
                state.requested = Some(kind);
                self.wake.notify_one();
            }
        }
        if self.length() >= self.limits.max {
            return Err(SharedError::from_text(
                "the write-ahead log has reached its maximum length, and a long read prevents its reuse",
            ));
        }
        Ok(())
    }

    /// A reader may have blocked the checkpoint; the writer does not wait for it at every group.
    fn put_off_restart(&self, state: &mut State) {
        state.restart_at = self.length() + self.limits.restart / 4;
    }

    /// Whether the writer will wait for a truncation.
    #[cfg(test)]
    pub(crate) fn is_truncation_due(&self) -> bool {
        self.state.lock().is_truncation_due
    }

    fn length(&self) -> u64 {
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
        // Kept until the checkpoint for which the writer waits.
        let mut pause = None;
        while !state.stopped {
            let kind = match state.requested.take() {
                Some(kind) => kind,
                None if Instant::now() >= truncation_at => Kind::Truncate,
                None => {
                    let pause_ends = pause.as_ref().map(|_| Instant::now() + WRITER_WAIT);
                    let until = pause_ends.map_or(truncation_at, |end| end.min(truncation_at));
                    if self.wake.wait_until(&mut state, until).timed_out() {
                        pause = None;
                    }
                    continue;
                }
            };
            state.running = Some(kind);
            let is_complete =
                MutexGuard::unlocked(&mut state, || self.checkpoint(connection, kind, &mut pause));
            state.running = None;
            match kind {
                Kind::Passive | Kind::Restart => {}
                Kind::Prepare if pause.is_some() => continue,
                Kind::Prepare => self.put_off_restart(&mut state),
                Kind::Truncate | Kind::AwaitedTruncate => {
                    let next = if is_complete { self.limits.age_max } else { TRUNCATION_RETRY };
                    truncation_at = Instant::now() + next;
                    // With long reads paused, probably the writer prevented it.
                    let is_due = kind == Kind::Truncate && !is_complete && pause.is_some();
                    state.is_truncation_due = is_due;
                    if is_due {
                        continue;
                    }
                }
            }
            if kind.is_awaited() {
                state.waits_ended += 1;
                self.done.notify_all();
            }
            if kind != Kind::Passive {
                pause = None;
            }
        }
        drop(state);
        drop(pause);
        // The writer has ended, and the remaining reads are short.
        self.run_mode(connection, "TRUNCATE", Duration::from_secs(1));
    }

    /// Returns whether no reader or writer prevented it from completing its work. A checkpoint for which the writer
    /// waits may wait for readers; another one would make the writer wait with it.
    fn checkpoint<'a>(
        &'a self,
        connection: &Connection,
        kind: Kind,
        pause: &mut Option<Pause<'a>>,
    ) -> bool {
        let before = self.length();
        let passive = || self.run_mode(connection, "PASSIVE", Duration::ZERO);
        let truncate = |patience| self.run_mode(connection, "TRUNCATE", patience);
        let is_complete = match kind {
            Kind::Passive => return passive(),
            Kind::Prepare => return self.pause_long_reads(pause) && passive(),
            Kind::Restart => self.run_mode(connection, "RESTART", READERS_WAIT),
            _ if !self.grown.swap(false, Ordering::Relaxed) => return true,
            Kind::Truncate => {
                // First without a lock. If a reader needs the log then, the lock is of use only to wait for it.
                self.pause_long_reads(pause) && passive() && truncate(Duration::ZERO)
            }
            Kind::AwaitedTruncate => {
                passive();
                truncate(TRUNCATION_WAIT)
            }
        };
        if matches!(kind, Kind::Truncate | Kind::AwaitedTruncate) {
            self.grown.fetch_or(!is_complete, Ordering::Relaxed);
        }
        if is_complete {
            // Not after a commit since, whose length is the right one.
            let _ = self.length.compare_exchange(before, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        is_complete
    }

    /// Pauses long reads, unless they are paused; returns false if one of them takes too long.
    fn pause_long_reads<'a>(&'a self, pause: &mut Option<Pause<'a>>) -> bool {
        if pause.is_none() {
            *pause = self.long_reads.pause();
        }
        pause.is_some()
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
        state.running = Some(Kind::Prepare);
        assert_eq!(state.due(70, &LIMITS), None);
        state.running = None;
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
        state.running = Some(Kind::Passive);
        assert_eq!(state.due(79, &LIMITS), None);
        assert_eq!(state.due(80, &LIMITS), Some(Kind::Restart));
    }

    #[test]
    fn the_writer_waits_for_no_pause_of_long_reads() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        assert_eq!(state.due(64, &LIMITS), Some(Kind::Prepare));
        state.running = Some(Kind::Prepare);
        assert_eq!(state.due(999, &LIMITS), None);
        assert_eq!(state.due(1_000, &LIMITS), Some(Kind::Restart));
    }
}
