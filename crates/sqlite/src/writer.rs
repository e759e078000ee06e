//! The single writer thread. Requests wait in a bounded queue per app. The thread takes them into a group, those of the
//! app that has used the least time first, runs each under a savepoint, commits the group with one fsync, and replies
//! to each.

use std::{
    collections::VecDeque,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lodge_domain::{Error, Result};
use lodge_sql::{App, Returned};
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{
    checkpoints::Checkpoints,
    failure::{Failure, NotAccepted, SharedError, from_sqlite},
    fair_scheduler::FairScheduler,
    job::{Job, Request, Work, leaving},
    replies::{Replies, Reply},
};

/// After a group of at least this many requests, the thread waits briefly for the next group to become about as large.
/// The wait is shorter than the fsync that it saves.
const GATHER_FROM: usize = 8;
const GATHER_STEP: Duration = Duration::from_micros(50);
const GATHER_STEPS: usize = 3;

/// The clock that times requests and groups.
pub(crate) type Now = Box<dyn Fn() -> Instant + Send>;

/// The writer's limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Requests of each app that may be unanswered.
    pub(crate) queue: usize,
    /// How long a group runs requests before it commits.
    pub(crate) group_time: Duration,
}

/// The handle of the writer thread.
pub(crate) struct Writer {
    queues: Arc<Queues>,
}

struct Queues {
    state: Mutex<State>,
    wake: Condvar,
    limits: Limits,
}

#[derive(Default)]
struct State {
    waiting: [VecDeque<Box<dyn Job>>; App::COUNT],
    /// Requests that the thread has taken out of `waiting` and not answered; they count against the limit.
    taken: [usize; App::COUNT],
    closed: bool,
}

impl State {
    fn move_to(&mut self, taken: &mut [VecDeque<Box<dyn Job>>; App::COUNT]) {
        for (taken, waiting) in taken.iter_mut().zip(&mut self.waiting) {
            taken.append(waiting);
        }
        self.taken = taken.each_ref().map(VecDeque::len);
    }
}

impl Writer {
    /// Starts the thread. It ends once it is closed and has answered every request; `alive` is dropped then.
    pub(crate) fn start<A: Send + 'static>(
        connection: Connection,
        limits: Limits,
        checkpoints: Arc<Checkpoints>,
        now: Now,
        alive: A,
    ) -> std::io::Result<Self> {
        let queues = Arc::new(Queues { state: Mutex::default(), wake: Condvar::new(), limits });
        let of_thread = Arc::clone(&queues);
        thread::Builder::new().name("lodge-writer".to_owned()).spawn(move || {
            let _alive = alive;
            let _closes = CloseOnDrop(Arc::clone(&of_thread));
            let (taken, turns) = (Default::default(), FairScheduler::new());
            WriterThread { connection, queues: of_thread, taken, turns, now, checkpoints }.run();
        })?;
        Ok(Self { queues })
    }

    /// Runs `work` in one of the next groups. `Ok` means that it is committed and synced to disk. An `Err` of `work`
    /// rolls back its own writes only.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        app: App,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let returned = Returned::default();
        self.run(app, leaving(&returned, work)).await?;
        returned.take()
    }

    /// Runs `work` as [`Self::write`] does.
    pub(crate) async fn run(&self, app: App, work: Work) -> Result<()> {
        let (reply, answer) = Reply::channel();
        self.submit(app, Box::new(Request::new(work, reply)))?;
        answered(answer).await
    }

    /// Queues `job` for one of the next groups; it replies after the commit.
    pub(crate) fn submit(&self, app: App, job: Box<dyn Job>) -> Result<()> {
        self.queues.push(app, job)
    }

    /// Returns how many requests of an app are unanswered.
    #[cfg(test)]
    pub(crate) fn unanswered(&self, app: App) -> usize {
        let state = self.queues.state.lock();
        state.waiting[app as usize].len() + state.taken[app as usize]
    }

    /// Refuses new requests; queued ones are still done.
    pub(crate) fn close(&self) {
        self.queues.close();
    }
}

/// Waits for the reply to a request of the writer.
pub(crate) async fn answered(answer: oneshot::Receiver<Result<()>>) -> Result<()> {
    answer.await.unwrap_or_else(|_| Err(Error::unavailable(NotAccepted::Closed("writer"))))
}

impl Queues {
    fn push(&self, app: App, job: Box<dyn Job>) -> Result<()> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Error::unavailable(NotAccepted::Closed("writer")));
        }
        if state.waiting[app as usize].len() + state.taken[app as usize] >= self.limits.queue {
            return Err(Error::unavailable(NotAccepted::Full(app.name())));
        }
        state.waiting[app as usize].push_back(job);
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_all();
    }
}

/// Refuses further requests and drops queued ones when the thread ends, also by a panic.
struct CloseOnDrop(Arc<Queues>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
    }
}

/// The state of the writer thread.
struct WriterThread {
    connection: Connection,
    queues: Arc<Queues>,
    taken: [VecDeque<Box<dyn Job>>; App::COUNT],
    turns: FairScheduler<{ App::COUNT }>,
    now: Now,
    checkpoints: Arc<Checkpoints>,
}

impl WriterThread {
    fn run(mut self) {
        let mut last = 0;
        while self.take() {
            self.gather(last);
            last = self.taken.iter().map(VecDeque::len).sum();
            if let Err(full) = self.checkpoints.limit_log() {
                self.refuse_all(&full);
                continue;
            }
            let (done, outcome) = self.group();
            if let Err(error) = &outcome {
                tracing::error!(%error, requests = done.len(), "a group of writes was not committed");
            }
            answer(done, outcome.as_ref().err());
        }
    }

    /// Takes more requests after a short wait, in which the callers answered last may send their next request: it then
    /// shares this fsync instead of needing another.
    fn gather(&mut self, last: usize) {
        if last < GATHER_FROM {
            return;
        }
        let enough = last - last / 4;
        for _ in 0..GATHER_STEPS {
            if self.taken.iter().map(VecDeque::len).sum::<usize>() >= enough {
                return;
            }
            thread::sleep(GATHER_STEP);
            self.queues.state.lock().move_to(&mut self.taken);
        }
    }

    /// Waits for requests and takes all of them; returns false once the queues are closed and empty.
    fn take(&mut self) -> bool {
        let mut state = self.queues.state.lock();
        loop {
            state.move_to(&mut self.taken);
            if state.taken.iter().any(|count| *count > 0) {
                return true;
            }
            if state.closed {
                return false;
            }
            self.queues.wake.wait(&mut state);
        }
    }

    /// Runs requests until the group's time is up or none is left, and commits. The jobs that ran share the outcome; if
    /// the group fails, those that did not run stay for the next group.
    fn group(&mut self) -> (Vec<Box<dyn Job>>, Result<(), SharedError>) {
        let mut done = Vec::with_capacity(self.taken.iter().map(VecDeque::len).sum());
        if let Err(error) = self.statement("BEGIN IMMEDIATE") {
            done.extend(self.taken.iter_mut().flat_map(|queue| queue.drain(..)));
            return (done, Err(shared(error)));
        }
        // Not before, because the transaction may have waited for a checkpoint.
        let (begun, group_time) = ((self.now)(), self.queues.limits.group_time);
        while (self.now)().duration_since(begun) < group_time
            && let Some(app) = self.turns.next(&self.taken)
        {
            // A request that probably takes long runs in a group of its own, after the others have been answered.
            if !done.is_empty() && self.turns.last(app) >= group_time {
                break;
            }
            let Some(mut job) = self.taken[app].pop_front() else { break };
            if job.is_abandoned() {
                continue;
            }
            let start = (self.now)();
            let ran = self.run_one(&mut *job, done.is_empty());
            self.turns.charge(app, (self.now)().duration_since(start));
            done.push(job);
            if let Err(error) = ran {
                self.roll_back();
                return (done, Err(error));
            }
        }
        match self.statement("COMMIT") {
            Ok(()) => (done, Ok(())),
            Err(error) => {
                self.roll_back();
                (done, Err(shared(error)))
            }
        }
    }

    /// Runs one request under a savepoint; fails if the request ended the group's transaction. The first request is
    /// rolled back with the transaction instead, because a savepoint costs a copy of every page that changes.
    fn run_one(&self, job: &mut dyn Job, is_first: bool) -> Result<(), SharedError> {
        loop {
            if !is_first {
                self.statement("SAVEPOINT request").map_err(shared)?;
            }
            if job.run(&self.connection) {
                let release = if is_first { Ok(()) } else { self.statement("RELEASE request") };
                return release.map_err(shared);
            }
            self.undo(is_first)?;
            if !job.try_fallback() {
                return Ok(());
            }
        }
    }

    fn undo(&self, is_first: bool) -> Result<(), SharedError> {
        // SQLite rolls back the transaction by itself when the disk is full or a read fails.
        if self.connection.is_autocommit() {
            return Err(SharedError::from_text("the database rolled back the transaction"));
        }
        let undo = if is_first {
            ["ROLLBACK", "BEGIN IMMEDIATE"]
        } else {
            ["ROLLBACK TO request", "RELEASE request"]
        };
        undo.iter().try_for_each(|sql| self.statement(sql)).map_err(shared)
    }

    fn statement(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.statement("ROLLBACK")
        {
            tracing::error!(%error, "a failed group of writes could not be rolled back");
        }
    }

    fn refuse_all(&mut self, why: &SharedError) {
        answer(self.taken.iter_mut().flat_map(|queue| queue.drain(..)), Some(why));
    }
}

fn answer(jobs: impl IntoIterator<Item = Box<dyn Job>>, lost: Option<&SharedError>) {
    let mut replies = Replies::default();
    for job in jobs {
        job.answer(lost, &mut replies);
    }
    replies.send();
}

fn shared(error: rusqlite::Error) -> SharedError {
    SharedError(Arc::new(from_sqlite(error)))
}
