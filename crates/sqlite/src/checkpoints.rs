//! Checkpoints the write-ahead log on a separate thread, and keeps its length bounded.
//!
//! A passive checkpoint blocks no connection, but cannot restart the log while the writer keeps writing. So the writer
//! waits for a restart checkpoint once the log is long. A reader of an old snapshot can block even that; the log may
//! then grow further, up to a length from which writes are refused.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::Connection;

use crate::failure::SharedError;

/// How long a restart checkpoint, for which the writer waits, may wait for readers.
const READERS_WAIT: Duration = Duration::from_millis(100);

/// Thresholds of the log's length, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    /// Growth after which a passive checkpoint runs.
    pub(crate) passive: u64,
    /// Length from which the writer waits for a restart checkpoint.
    pub(crate) restart: u64,
    /// Length from which writes are refused.
    pub(crate) max: u64,
}

/// The handle of the checkpoint thread.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    state: Mutex<State>,
    wake: Condvar,
    done: Condvar,
    /// The log's length after the last commit, in bytes.
    length: AtomicU64,
    lengths: Lengths,
}

#[derive(Debug)]
struct State {
    requested: Option<Kind>,
    running: bool,
    /// The log's length when a checkpoint was last requested.
    requested_at: u64,
    /// Length from which a restart checkpoint is due.
    restart_at: u64,
    /// Restart checkpoints that have ended.
    restarts_ended: u64,
    stopped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Passive,
    Restart,
}

impl State {
    /// Returns the checkpoint that is due at this length of the log.
    fn due(&mut self, length: u64, lengths: &Lengths) -> Option<Kind> {
        // The log may have restarted since.
        self.requested_at = self.requested_at.min(length);
        if length < lengths.restart {
            self.restart_at = lengths.restart;
        }
        let grown = length - self.requested_at;
        let due = if length >= lengths.max {
            Some(Kind::Restart)
        } else if length < self.restart_at {
            (grown >= lengths.passive).then_some(Kind::Passive)
        } else if self.requested_at < self.restart_at {
            // Runs before the restart checkpoint, so that little is left for that to copy.
            Some(Kind::Passive)
        } else {
            let is_idle = self.requested.is_none() && !self.running;
            (is_idle || grown >= lengths.restart / 4).then_some(Kind::Restart)
        };
        if due.is_some() {
            self.requested_at = length;
        }
        due
    }
}

impl Checkpoints {
    /// Returns the handle; [`Self::start`] starts the thread.
    pub(crate) fn new(lengths: Lengths) -> Arc<Self> {
        let state = State {
            requested: None,
            running: false,
            requested_at: 0,
            restart_at: lengths.restart,
            restarts_ended: 0,
            stopped: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            wake: Condvar::new(),
            done: Condvar::new(),
            length: AtomicU64::new(0),
            lengths,
        })
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
    }

    /// Called by the writer before each group: requests a checkpoint if one is due, waits for it if the log is long,
    /// and fails if the log has reached its maximum length.
    pub(crate) fn limit_log(&self) -> Result<(), SharedError> {
        let mut state = self.state.lock();
        match state.due(self.length(), &self.lengths) {
            None => {}
            Some(Kind::Passive) => {
                state.requested.get_or_insert(Kind::Passive);
                self.wake.notify_one();
            }
            Some(Kind::Restart) => {
                self.restart(&mut state);
                // A reader may have blocked the checkpoint; the writer does not wait for it at every group.
                state.restart_at = self.length() + self.lengths.restart / 4;
            }
        }
        if self.length() >= self.lengths.max {
            return Err(SharedError::from_text(
                "the write-ahead log has reached its maximum length, and a long read prevents its reuse",
            ));
        }
        Ok(())
    }

    fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    fn restart(&self, state: &mut MutexGuard<'_, State>) {
        let ended = state.restarts_ended;
        state.requested = Some(Kind::Restart);
        self.wake.notify_one();
        let deadline = Instant::now() + Duration::from_secs(5);
        while state.restarts_ended == ended && !state.stopped {
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
        loop {
            if state.stopped {
                break;
            }
            let Some(kind) = state.requested.take() else {
                self.wake.wait(&mut state);
                continue;
            };
            state.running = true;
            MutexGuard::unlocked(&mut state, || self.checkpoint(connection, kind));
            state.running = false;
            if kind == Kind::Restart {
                state.restarts_ended += 1;
                self.done.notify_all();
            }
        }
        drop(state);
        // The writer has ended, and the remaining reads are short.
        self.log_failure(
            connection
                .busy_timeout(Duration::from_secs(1))
                .and_then(|()| checkpoint(connection, "TRUNCATE")),
        );
    }

    fn checkpoint(&self, connection: &Connection, kind: Kind) {
        match kind {
            Kind::Passive => self.log_failure(checkpoint(connection, "PASSIVE")),
            Kind::Restart => {
                let ran = connection
                    .busy_timeout(READERS_WAIT)
                    .and_then(|()| checkpoint(connection, "RESTART"));
                if let Ok(Progress { busy: false, .. }) = ran {
                    self.note_length(0);
                }
                self.log_failure(ran);
            }
        }
    }

    fn log_failure(&self, ran: rusqlite::Result<Progress>) {
        match ran {
            Ok(Progress { busy: true }) => {
                tracing::debug!(length_bytes = self.length(), "a reader blocked a checkpoint");
            }
            Ok(_) => {}
            Err(error) => tracing::error!(%error, "a checkpoint failed"),
        }
    }
}

struct Progress {
    /// Whether a reader or the writer blocked it.
    busy: bool,
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Progress> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        Ok(Progress { busy: row.get::<_, i64>(0)? != 0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: Lengths = Lengths { passive: 4, restart: 64, max: 1_000 };

    fn ready() -> Arc<Checkpoints> {
        Checkpoints::new(LENGTHS)
    }

    #[test]
    fn a_long_log_is_checkpointed_before_the_writer_waits_for_a_restart() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        assert_eq!(state.due(63, &LENGTHS), Some(Kind::Passive));
        assert_eq!(state.due(64, &LENGTHS), Some(Kind::Passive));
        state.running = true;
        assert_eq!(state.due(70, &LENGTHS), None);
        state.running = false;
        assert_eq!(state.due(71, &LENGTHS), Some(Kind::Restart));
    }

    #[test]
    fn thresholds_are_normal_again_after_a_long_read() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        state.restart_at = 500;
        // The reader has ended, and the log has restarted by itself.
        assert_eq!(state.due(1, &LENGTHS), None);
        assert_eq!(state.due(63, &LENGTHS), Some(Kind::Passive));
        assert_eq!(state.due(64, &LENGTHS), Some(Kind::Passive));
        assert_eq!(state.due(65, &LENGTHS), Some(Kind::Restart));
    }

    #[test]
    fn the_writer_eventually_waits_for_a_slow_checkpoint() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        assert_eq!(state.due(64, &LENGTHS), Some(Kind::Passive));
        state.running = true;
        assert_eq!(state.due(79, &LENGTHS), None);
        assert_eq!(state.due(80, &LENGTHS), Some(Kind::Restart));
    }
}
