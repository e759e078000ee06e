//! Pools of reader threads, each with its own connection.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use lodge_domain::Result;
use lodge_sql::{App, Workers};
use rusqlite::Connection;

use crate::{connection, failure::Failure, folder::OpenError};

/// A pool of reader threads.
pub(crate) struct Readers {
    threads: Workers<Connection>,
    time_max: Option<Duration>,
}

/// The size and limits of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Threads; 0 counts as 1.
    pub(crate) threads: usize,
    /// Requests of each app that may wait.
    pub(crate) queue: usize,
    /// Page cache of each thread, in bytes.
    pub(crate) page_cache_bytes: usize,
    /// How long a request may run, not counting its wait; `None` for no limit.
    pub(crate) time_max: Option<Duration>,
}

/// Steps of `SQLite`'s virtual machine between two checks of the deadline.
const STEPS: i32 = 10_000;

impl Readers {
    /// Starts the threads on the database `file`. They end once the pool is closed and the queues are empty.
    pub(crate) fn start(file: &Path, size: Size) -> Result<Self, OpenError> {
        let open = |_| connection::reader(file, size.page_cache_bytes);
        let connections: rusqlite::Result<Vec<_>> = (0..size.threads.max(1)).map(open).collect();
        let connections =
            connections.map_err(|source| OpenError::Database { file: file.to_owned(), source })?;
        let threads = Workers::start("lodge-reader", connections, size.queue)
            .map_err(|source| OpenError::File { path: file.to_owned(), source })?;
        Ok(Self { threads, time_max: size.time_max })
    }

    /// Runs `work` on one of the threads. It sees every commit acknowledged before.
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

    /// Refuses new requests; queued ones are still done.
    pub(crate) fn close(&self) {
        self.threads.close();
    }

    /// Blocks until the threads have ended after [`Self::close`]; returns false if some have not by `deadline`.
    pub(crate) fn wait_ended(&self, deadline: Instant) -> bool {
        self.threads.wait_ended(deadline)
    }
}
