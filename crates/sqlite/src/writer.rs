//! The one thread that writes. Requests wait in a bounded queue per app; the thread takes them into a group,
//! those first whose app's took the least time, runs each under a savepoint, commits the group with one
//! fsync, and answers each.

use std::{
    collections::VecDeque,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lodge_domain::{Error, Result};
use lodge_sql::App;
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use crate::{
    checkpoints::Checkpoints,
    failure::{Failure, NotTaken, Shared, from_sqlite},
    job::{Job, Request},
    replies::{Replies, Reply},
    turns::Turns,
};

/// After a group of so many requests the thread waits a moment for the next to become about as large:
/// less than the fsync that this saves.
const GATHER_FROM: usize = 8;
const GATHER_STEP: Duration = Duration::from_micros(50);
const GATHER_STEPS: usize = 3;

/// By which requests and groups are timed.
pub(crate) type Now = Box<dyn Fn() -> Instant + Send>;

/// The writer's bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Requests that wait for each app.
    pub(crate) queue: usize,
    /// How long a group goes on taking requests.
    pub(crate) group_time: Duration,
}

/// The way to the writing thread.
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
    /// Requests that the thread has taken out of `waiting` and not answered; they count as waiting.
    taken: [usize; App::COUNT],
    closed: bool,
}

impl State {
    fn give(&mut self, taken: &mut [VecDeque<Box<dyn Job>>; App::COUNT]) {
        for (taken, waiting) in taken.iter_mut().zip(&mut self.waiting) {
            taken.append(waiting);
        }
        self.taken = taken.each_ref().map(VecDeque::len);
    }
}

impl Writer {
    /// Starts the thread. It ends once it is closed and has answered everything; `alive` goes with it.
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
            let (taken, turns) = (Default::default(), Turns::new());
            Groups { connection, queues: of_thread, taken, turns, now, checkpoints }.run();
        })?;
        Ok(Self { queues })
    }

    /// Runs `work` in one of the next groups. `Ok` means that it is committed and on the disk. An `Err`
    /// of `work` undoes what it wrote, and nothing else.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        app: App,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = Reply::channel();
        self.submit(app, Box::new(Request::new(work, reply)))?;
        answer.await.unwrap_or_else(|_| Err(Error::unavailable(NotTaken::Closed("writer"))))
    }

    /// Has `job` run in one of the next groups, and answered when that is committed.
    pub(crate) fn submit(&self, app: App, job: Box<dyn Job>) -> Result<()> {
        self.queues.push(app, job)
    }

    /// How many requests of an app are not answered.
    #[cfg(test)]
    pub(crate) fn waiting(&self, app: App) -> usize {
        let state = self.queues.state.lock();
        state.waiting[app as usize].len() + state.taken[app as usize]
    }

    /// Takes no more requests; those that wait are still done.
    pub(crate) fn close(&self) {
        self.queues.close();
    }
}

impl Queues {
    fn push(&self, app: App, job: Box<dyn Job>) -> Result<()> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Error::unavailable(NotTaken::Closed("writer")));
        }
        if state.waiting[app as usize].len() + state.taken[app as usize] >= self.limits.queue {
            return Err(Error::unavailable(NotTaken::Full(app.name())));
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

/// Refuses further requests and drops those that wait, however the thread ends.
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

/// The writing thread's own.
struct Groups {
    connection: Connection,
    queues: Arc<Queues>,
    taken: [VecDeque<Box<dyn Job>>; App::COUNT],
    turns: Turns<{ App::COUNT }>,
    now: Now,
    checkpoints: Arc<Checkpoints>,
}

impl Groups {
    fn run(mut self) {
        let mut last = 0;
        while self.take() {
            self.gather(last);
            last = self.taken.iter().map(VecDeque::len).sum();
            if let Err(full) = self.checkpoints.make_room() {
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

    /// Takes more, after a moment in which those who were answered last may ask again: their next
    /// requests share an fsync instead of following it.
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
            self.queues.state.lock().give(&mut self.taken);
        }
    }

    /// Takes what waits, after waiting until something does; false once there is nothing and will be
    /// nothing.
    fn take(&mut self) -> bool {
        let mut state = self.queues.state.lock();
        loop {
            state.give(&mut self.taken);
            if state.taken.iter().any(|count| *count > 0) {
                return true;
            }
            if state.closed {
                return false;
            }
            self.queues.wake.wait(&mut state);
        }
    }

    /// Runs requests until the group's time is up or none is left, and commits. The jobs that ran share the
    /// outcome; if the group fails, those that did not run stay for the next.
    fn group(&mut self) -> (Vec<Box<dyn Job>>, Result<(), Shared>) {
        let mut done = Vec::with_capacity(self.taken.iter().map(VecDeque::len).sum());
        let (begun, group_time) = ((self.now)(), self.queues.limits.group_time);
        if let Err(error) = self.statement("BEGIN IMMEDIATE") {
            done.extend(self.taken.iter_mut().flat_map(|queue| queue.drain(..)));
            return (done, Err(shared(error)));
        }
        while (self.now)().duration_since(begun) < group_time
            && let Some(app) = self.turns.next(&self.taken)
        {
            // What probably takes long has a group of its own: others are answered before it.
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

    /// Runs one request under a savepoint; fails if that ended the whole group's transaction. The first needs
    /// none, for which the database would keep a copy of every page that it changes: it is undone with the transaction.
    fn run_one(&self, job: &mut dyn Job, is_first: bool) -> Result<(), Shared> {
        loop {
            if !is_first {
                self.statement("SAVEPOINT request").map_err(shared)?;
            }
            if job.run(&self.connection) {
                let release = if is_first { Ok(()) } else { self.statement("RELEASE request") };
                return release.map_err(shared);
            }
            self.undo(is_first)?;
            if !job.another_way() {
                return Ok(());
            }
        }
    }

    fn undo(&self, is_first: bool) -> Result<(), Shared> {
        // A full disk or a failed read makes SQLite end the transaction by itself.
        if self.connection.is_autocommit() {
            return Err(Shared::because("the database ended the transaction"));
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

    fn refuse_all(&mut self, why: &Shared) {
        answer(self.taken.iter_mut().flat_map(|queue| queue.drain(..)), Some(why));
    }
}

fn answer(jobs: impl IntoIterator<Item = Box<dyn Job>>, lost: Option<&Shared>) {
    let mut replies = Replies::default();
    for job in jobs {
        job.answer(lost, &mut replies);
    }
    replies.send();
}

fn shared(error: rusqlite::Error) -> Shared {
    Shared(Arc::new(from_sqlite(error)))
}
