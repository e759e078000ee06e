//! Threads that serve connections.
//!
//! A connection stays on one thread: its requests are small, and with work stealing the wake-ups and locks would cost
//! more than the work that is shared.

use std::{
    io,
    num::NonZero,
    thread::{self, JoinHandle},
};

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::slices;

/// One thread per core, each with a current-thread runtime. Dropping it drops the tasks that still run and joins the
/// threads.
pub struct ConnectionThreads {
    handles: Vec<Handle>,
    turn: usize,
    // Dropped before the threads are joined.
    stop: Option<DropGuard>,
    threads: Vec<JoinHandle<()>>,
}

impl ConnectionThreads {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// Fails if the operating system refuses a thread or a runtime.
    pub fn start() -> io::Result<Self> {
        let stop = CancellationToken::new();
        let mut lanes = Self {
            handles: vec![],
            turn: 0,
            stop: Some(stop.clone().drop_guard()),
            threads: vec![],
        };
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        for number in 0..count {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            lanes.handles.push(runtime.handle().clone());
            let stopped = stop.clone().cancelled_owned();
            let run = move || {
                let shortened = slices::shorten();
                // Once is enough: the system refuses it for all threads.
                if let Err(error) = shortened
                    && number == 0
                {
                    tracing::warn!(%error, "connections may wait longer beside other work");
                }
                runtime.block_on(stopped);
            };
            let name = format!("lodge-lane-{number}");
            lanes.threads.push(thread::Builder::new().name(name).spawn(run)?);
        }
        Ok(lanes)
    }

    /// Uses only the current runtime, for a listener with little traffic.
    pub fn here() -> Self {
        Self { handles: vec![Handle::current()], turn: 0, stop: None, threads: vec![] }
    }

    /// Returns the next runtime, round-robin.
    pub(crate) fn next(&mut self) -> &Handle {
        self.turn = (self.turn + 1) % self.handles.len();
        &self.handles[self.turn]
    }
}

impl Drop for ConnectionThreads {
    fn drop(&mut self) {
        self.stop = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
