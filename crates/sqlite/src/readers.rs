//! The threads that read, each with a connection of its own.

use std::{
    collections::VecDeque,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lodge_domain::{Error, Result};
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use crate::{
    connection,
    failure::{Failure, NotTaken},
    folder::OpenError,
    job::{Job, Request},
    replies::{Replies, Reply},
};

/// The way to the reading threads.
pub(crate) struct Readers {
    queue: Arc<Queue>,
}

struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    length_max: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Box<dyn Job>>,
    closed: bool,
}

/// What the pool is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Threads, at least one.
    pub(crate) threads: usize,
    /// Requests that wait.
    pub(crate) queue: usize,
    /// Page cache of each thread, in bytes.
    pub(crate) page_cache_bytes: usize,
    /// How long a request may take on its thread, if that is bounded.
    pub(crate) time_max: Option<Duration>,
}

/// How often the time is looked at, in steps of `SQLite`'s machine.
const STEPS: i32 = 10_000;

impl Readers {
    /// Starts the threads on the database `file`. They end once they are closed and the queue is empty;
    /// the clones of `alive` go with them.
    pub(crate) fn start<A: Clone + Send + 'static>(
        file: &Path,
        size: Size,
        alive: &A,
    ) -> Result<Self, OpenError> {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            wake: Condvar::new(),
            length_max: size.queue,
        });
        let pool = Self { queue: Arc::clone(&queue) };
        for _ in 0..size.threads.max(1) {
            let mut connection = connection::reader(file, size.page_cache_bytes)
                .map_err(|source| OpenError::Database { file: file.to_owned(), source })?;
            let (queue, alive) = (Arc::clone(&queue), alive.clone());
            thread::Builder::new()
                .name("lodge-reader".to_owned())
                .spawn(move || {
                    answer_all(&queue, &mut connection, size.time_max);
                    // In this order, so that the connection is closed when the thread counts as ended.
                    drop((connection, alive));
                })
                .map_err(|source| OpenError::File { path: file.to_owned(), source })?;
        }
        Ok(pool)
    }

    /// Runs `work` on one of the threads. It sees everything whose commit was answered before.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = Reply::channel();
        self.queue.push(Box::new(Request::new(work, reply)))?;
        answer.await.unwrap_or_else(|_| Err(Error::unavailable(NotTaken::Closed("readers"))))
    }

    /// Takes no more requests; those that wait are still done.
    pub(crate) fn close(&self) {
        self.queue.state.lock().closed = true;
        self.queue.wake.notify_all();
    }
}

fn answer_all(queue: &Queue, connection: &mut Connection, time_max: Option<Duration>) {
    while let Some(mut job) = queue.take() {
        if job.is_abandoned() {
            continue;
        }
        let bounded = time_max.map_or(Ok(()), |time_max| {
            let deadline = Instant::now() + time_max;
            connection.progress_handler(STEPS, Some(move || Instant::now() >= deadline))
        });
        if let Err(error) = bounded {
            tracing::error!(%error, "a search has no bound");
        }
        job.run(connection);
        let mut replies = Replies::default();
        job.answer(None, &mut replies);
        replies.send();
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.close();
    }
}

impl Queue {
    fn push(&self, job: Box<dyn Job>) -> Result<()> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Error::unavailable(NotTaken::Closed("readers")));
        }
        if state.waiting.len() >= self.length_max {
            return Err(Error::unavailable(NotTaken::Full("readers")));
        }
        state.waiting.push_back(job);
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    fn take(&self) -> Option<Box<dyn Job>> {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            self.wake.wait(&mut state);
        }
    }
}
