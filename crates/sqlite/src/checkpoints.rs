//! Carries the write-ahead log into the database on a thread of its own, and keeps the log bounded.
//!
//! A passive checkpoint disturbs nobody but cannot start the log anew while the writer goes on, so a
//! log that has grown long gets one for which the writer waits. A reader of an old state can hold up
//! even that; then the log may grow further, up to a length from which writes are refused.

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

use crate::failure::Shared;

/// How long a checkpoint for which the writer waits may wait for readers.
const READERS_WAIT: Duration = Duration::from_millis(100);

/// Lengths of the log, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    /// From which on a passive checkpoint runs.
    pub(crate) passive: u64,
    /// From which on the writer waits for one that starts the log anew.
    pub(crate) restart: u64,
    /// From which on nothing is written.
    pub(crate) max: u64,
}

/// The way to the checkpointing thread.
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
    asked: Option<Kind>,
    running: bool,
    /// The log's length when a checkpoint was last asked for.
    asked_at: u64,
    /// From which length on the log is to start anew.
    restart_at: u64,
    /// Those for which the writer waits that have ended.
    restarts_ended: u64,
    stopped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Passive,
    Restart,
}

impl State {
    /// What the log needs now that it is so long.
    fn due(&mut self, length: u64, lengths: &Lengths) -> Option<Kind> {
        // It may have been started anew since.
        self.asked_at = self.asked_at.min(length);
        if length < lengths.restart {
            self.restart_at = lengths.restart;
        }
        let grown = length - self.asked_at;
        let due = if length >= lengths.max {
            Some(Kind::Restart)
        } else if length < self.restart_at {
            (grown >= lengths.passive).then_some(Kind::Passive)
        } else if self.asked_at < self.restart_at {
            // Before the one for which the writer waits, so that it finds little left to carry.
            Some(Kind::Passive)
        } else {
            let is_idle = self.asked.is_none() && !self.running;
            (is_idle || grown >= lengths.restart / 4).then_some(Kind::Restart)
        };
        if due.is_some() {
            self.asked_at = length;
        }
        due
    }
}

impl Checkpoints {
    /// A thread to be; [`Self::start`] starts it.
    pub(crate) fn new(lengths: Lengths) -> Arc<Self> {
        let state = State {
            asked: None,
            running: false,
            asked_at: 0,
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

    /// Starts the thread; `alive` goes with it.
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

    /// Notes the log's length after a commit.
    pub(crate) fn note_length(&self, bytes: u64) {
        self.length.store(bytes, Ordering::Relaxed);
    }

    /// Called by the writer before each group: asks for a checkpoint if one is due, waits for it if the
    /// log is long, and fails if the log may not grow any more.
    pub(crate) fn make_room(&self) -> Result<(), Shared> {
        let mut state = self.state.lock();
        match state.due(self.length(), &self.lengths) {
            None => {}
            Some(Kind::Passive) => {
                state.asked.get_or_insert(Kind::Passive);
                self.wake.notify_one();
            }
            Some(Kind::Restart) => {
                self.restart(&mut state);
                // A reader may have held it up; the writer does not wait for it at every group.
                state.restart_at = self.length() + self.lengths.restart / 4;
            }
        }
        if self.length() >= self.lengths.max {
            return Err(Shared::because(
                "the write-ahead log is at its greatest length, and a long read keeps it from starting anew",
            ));
        }
        Ok(())
    }

    fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    fn restart(&self, state: &mut MutexGuard<'_, State>) {
        let ended = state.restarts_ended;
        state.asked = Some(Kind::Restart);
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
            let Some(kind) = state.asked.take() else {
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
        // By now nobody writes, and what the readers still do they do at once.
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
                tracing::debug!(length_bytes = self.length(), "a reader held up a checkpoint");
            }
            Ok(_) => {}
            Err(error) => tracing::error!(%error, "a checkpoint failed"),
        }
    }
}

struct Progress {
    /// A reader or the writer was in the way.
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
    fn a_long_log_is_carried_before_the_writer_waits_for_it_to_start_anew() {
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
    fn after_a_long_read_the_log_is_as_short_as_before() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        state.restart_at = 500;
        // The reader has gone, and the log has started anew by itself.
        assert_eq!(state.due(1, &LENGTHS), None);
        assert_eq!(state.due(63, &LENGTHS), Some(Kind::Passive));
        assert_eq!(state.due(64, &LENGTHS), Some(Kind::Passive));
        assert_eq!(state.due(65, &LENGTHS), Some(Kind::Restart));
    }

    #[test]
    fn the_writer_waits_in_the_end_however_long_a_checkpoint_takes() {
        let checkpoints = ready();
        let mut state = checkpoints.state.lock();
        assert_eq!(state.due(64, &LENGTHS), Some(Kind::Passive));
        state.running = true;
        assert_eq!(state.due(79, &LENGTHS), None);
        assert_eq!(state.due(80, &LENGTHS), Some(Kind::Restart));
    }
}
