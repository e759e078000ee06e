//! The threads that read, each with a connection of its own.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use lodge_domain::Result;
use lodge_sql::{App, Workers};
use rusqlite::Connection;

use crate::{connection, failure::Failure, folder::OpenError};

/// The way to the reading threads.
pub(crate) struct Readers {
    threads: Workers<Connection>,
    time_max: Option<Duration>,
}

/// What the pool is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Threads, at least one.
    pub(crate) threads: usize,
    /// Requests of each app that wait.
    pub(crate) queue: usize,
    /// Page cache of each thread, in bytes.
    pub(crate) page_cache_bytes: usize,
    /// How long a request may take on its thread, if that is bounded.
    pub(crate) time_max: Option<Duration>,
}

/// How often the time is looked at, in steps of `SQLite`'s machine.
const STEPS: i32 = 10_000;

impl Readers {
    /// Starts the threads on the database `file`. They end once they are closed and the queues are empty.
    pub(crate) fn start(file: &Path, size: Size) -> Result<Self, OpenError> {
        let open = |_| connection::reader(file, size.page_cache_bytes);
        let connections: rusqlite::Result<Vec<_>> = (0..size.threads.max(1)).map(open).collect();
        let connections =
            connections.map_err(|source| OpenError::Database { file: file.to_owned(), source })?;
        let threads = Workers::start("lodge-reader", connections, size.queue)
            .map_err(|source| OpenError::File { path: file.to_owned(), source })?;
        Ok(Self { threads, time_max: size.time_max })
    }

    /// Runs `work` on one of the threads. It sees everything whose commit was answered before.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        app: App,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let time_max = self.time_max;
        let in_time = move |connection: &mut Connection| {
            if let Some(time_max) = time_max {
                let deadline = Instant::now() + time_max;
                let is_late = move || Instant::now() >= deadline;
                connection.progress_handler(STEPS, Some(is_late)).map_err(Failure::from)?;
            }
            Ok(work(connection)?)
        };
        self.threads.run(app, in_time).await
    }

    /// Takes no more requests; those that wait are still done.
    pub(crate) fn close(&self) {
        self.threads.close();
    }

    /// Waits, blocking, until the threads have ended after [`Self::close`]; false if some have not by
    /// `deadline`.
    pub(crate) fn wait_ended(&self, deadline: Instant) -> bool {
        self.threads.wait_ended(deadline)
    }
}
