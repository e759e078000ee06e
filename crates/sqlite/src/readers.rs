//! Pools of reader threads, each with its own connection.

use std::{
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lodge_domain::Result;
use lodge_sql::{App, Returned, Workers};
use rusqlite::Connection;

use crate::{
    connection,
    failure::Failure,
    folder::OpenError,
    job::{Work, leaving},
    long_reads::LongReads,
};

/// A pool of reader threads.
pub(crate) struct Readers {
    threads: Workers<Connection>,
    time_max: Duration,
    /// `None` if the reads of this pool are short.
    long_reads: Option<Arc<LongReads>>,
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
    /// How long a request may run, not counting its wait.
    pub(crate) time_max: Duration,
}

/// Steps of `SQLite`'s virtual machine between two checks of the deadline and of the caller, well below a
/// millisecond, unless each step reads long values.
const STEPS: i32 = 1_000;

/// How long a search or an export runs before it yields its core to other threads. Without that, Linux lets it run for
/// up to 4 ms while others wait.
const TURN: Duration = Duration::from_millis(1);

impl Readers {
    /// Starts the threads on the database `file`. They end once the pool is closed and the queues are empty.
    pub(crate) fn start(file: &Path, size: Size) -> Result<Self, OpenError> {
        Self::start_with(file, size, None)
    }

    /// Starts threads for searches and exports, whose reads a checkpoint may pause.
    pub(crate) fn start_long(
        file: &Path,
        size: Size,
        long_reads: &Arc<LongReads>,
    ) -> Result<Self, OpenError> {
        Self::start_with(file, size, Some(Arc::clone(long_reads)))
    }

    fn start_with(
        file: &Path,
        size: Size,
        long_reads: Option<Arc<LongReads>>,
    ) -> Result<Self, OpenError> {
        let open = |_| connection::reader(file, size.page_cache_bytes);
        let connections: rusqlite::Result<Vec<_>> = (0..size.threads.max(1)).map(open).collect();
        let connections =
            connections.map_err(|source| OpenError::Database { file: file.to_owned(), source })?;
        let threads = Workers::start("lodge-reader", connections, size.queue)
            .map_err(|source| OpenError::File { path: file.to_owned(), source })?;
        Ok(Self { threads, time_max: size.time_max, long_reads })
    }

    /// Runs `work` on one of the threads. It sees every commit acknowledged before. It is interrupted when it has run
    /// too long, which is [`lodge_domain::Error::Unavailable`], or when the returned future is dropped.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        app: App,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let returned = Returned::default();
        self.run(app, leaving(&returned, work)).await?;
        returned.take()
    }

    /// Runs `work` as [`Self::read`] does.
    pub(crate) async fn run(&self, app: App, work: Work) -> Result<()> {
        let time_max = self.time_max;
        let caller = Arc::new(());
        let waiting = Arc::downgrade(&caller);
        let long_reads = self.long_reads.clone();
        let bounded = move |connection: &mut Connection| {
            let running = long_reads.as_deref().map(LongReads::begin);
            let (yields, begun) = (running.is_some(), Instant::now());
            let (deadline, mut turn_end) = (begun + time_max, begun + TURN);
            let is_over = move || {
                let now = Instant::now();
                if yields && now >= turn_end {
                    thread::yield_now();
                    turn_end = Instant::now() + TURN;
                }
                waiting.strong_count() == 0 || now >= deadline
            };
            let limited = connection.progress_handler(STEPS, Some(is_over));
            limited.map_err(Failure::from)?;
            Ok(work(connection)?)
        };
        let answer = self.threads.run(app, bounded).await;
        drop(caller);
        answer
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
