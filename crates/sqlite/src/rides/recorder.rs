//! Passes ride events to the writer. Events of many callers are combined into one job, so that each sum they change is
//! written once.

use std::{collections::VecDeque, slice, sync::Arc};

use lodge_domain::{
    Error, Result,
    rides::{KeyedBatch, Recorded, RideEvent},
};
use lodge_sql::{App, Returned};
use parking_lot::Mutex;
use rusqlite::Connection;

use super::{
    record,
    write_back::{WriteBack, work::SumChanges},
};
use crate::{
    failure::{Failure, NotAccepted, SharedError, from_sqlite},
    job::{Job, Request, catch_panic},
    replies::{Replies, Reply},
    writer::{Writer, answered},
};

/// Events that may wait for the writer; more are refused.
const EVENTS_MAX: usize = 65_536;

/// Events after which a job takes no further callers. A larger job would share more page writes, but delay the writes
/// of other apps longer.
const EVENTS_PER_JOB: usize = 4_096;

/// The queue of events, and the write-back buffer of their sums.
pub(crate) struct Recorder(Arc<Inner>);

struct Inner {
    waiting: Mutex<Waiting>,
    write_back: Arc<WriteBack>,
}

#[derive(Default)]
struct Waiting {
    callers: VecDeque<Caller>,
    events: usize,
    /// Jobs for them that have not been dropped: never fewer than callers, or some would wait for ever.
    jobs: usize,
}

/// A caller that waits for the outcome of its events.
struct Caller {
    batch: Option<KeyedBatch>,
    events: Vec<RideEvent>,
    reply: Reply<Vec<Recorded>>,
}

impl Recorder {
    /// Returns a recorder that uses this write-back buffer.
    pub(crate) fn new(write_back: Arc<WriteBack>) -> Self {
        Self(Arc::new(Inner { waiting: Mutex::default(), write_back }))
    }

    /// Returns the write-back buffer.
    pub(super) fn write_back(&self) -> &WriteBack {
        &self.0.write_back
    }

    /// Runs `work` with the write-back buffer in one of the writer's next groups.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        writer: &Writer,
        work: impl FnOnce(&Connection, &mut SumChanges<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let returned = Returned::default();
        let result = returned.clone();
        let (reply, answer) = Reply::channel();
        let write_back = Arc::clone(&self.0.write_back);
        let of_work = Arc::clone(&write_back);
        let work = move |connection: &_| {
            let mut with = SumChanges::new(connection, &of_work)?;
            result.set(work(connection, &mut with)?);
            with.stage();
            Ok(())
        };
        let work = Box::new(Request::new(Box::new(work), reply));
        writer.submit(App::Rides, Box::new(WithSums { work, write_back }))?;
        answered(answer).await?;
        returned.take()
    }

    /// Stores events in one of the writer's next groups.
    pub(crate) async fn record(
        &self,
        writer: &Writer,
        batch: Option<KeyedBatch>,
        events: Vec<RideEvent>,
    ) -> Result<Vec<Recorded>> {
        let (reply, answer) = Reply::channel();
        self.push(Caller { batch, events, reply })?;
        // A refused job is dropped, and removes one caller from the queue. That need not be this caller, whose events
        // another job may have taken.
        let refused = writer.submit(App::Rides, Box::new(CombinedJob::new(&self.0))).err();
        answer.await.unwrap_or_else(|_| {
            Err(refused.unwrap_or_else(|| Error::unavailable(NotAccepted::FullOrClosed("rides"))))
        })
    }

    /// Queues a caller. Each caller submits a job; the first job to run serves all queued callers, and the others find
    /// an empty queue.
    fn push(&self, caller: Caller) -> Result<()> {
        let mut waiting = self.0.waiting.lock();
        if waiting.events + caller.events.len() > EVENTS_MAX {
            return Err(Error::unavailable(NotAccepted::Full(App::Rides.name())));
        }
        waiting.events += caller.events.len();
        waiting.callers.push_back(caller);
        waiting.jobs += 1;
        Ok(())
    }
}

impl Waiting {
    /// Takes callers until they have [`EVENTS_PER_JOB`] events.
    fn take(&mut self) -> Vec<Caller> {
        let (mut callers, mut events) = (Vec::new(), 0);
        while events < EVENTS_PER_JOB
            && let Some(caller) = self.callers.pop_front()
        {
            events += caller.events.len();
            callers.push(caller);
        }
        self.events -= events;
        callers
    }
}

/// A job that serves the callers that are queued when it runs.
struct CombinedJob {
    inner: Arc<Inner>,
    callers: Vec<Caller>,
    /// The outcome of each caller's events.
    outcomes: Vec<Result<Vec<Recorded>>>,
    /// The fallback after a failure: each caller's events are stored under a savepoint of their own.
    separately: bool,
}

impl CombinedJob {
    fn new(inner: &Arc<Inner>) -> Self {
        Self {
            inner: Arc::clone(inner),
            callers: Vec::new(),
            outcomes: Vec::new(),
            separately: false,
        }
    }

    fn take(&mut self) {
        self.callers.append(&mut self.inner.waiting.lock().take());
    }

    fn record(&self, connection: &Connection, callers: &[Caller]) -> Result<Vec<Recorded>> {
        let sent = callers.iter().map(|caller| (caller.batch, &*caller.events));
        let record = || record::record(connection, &self.inner.write_back, sent);
        catch_panic("storing rides panicked", record)
    }

    fn record_all(&self, connection: &Connection) -> Result<Vec<Result<Vec<Recorded>>>> {
        let mut recorded = self.record(connection, &self.callers)?.into_iter();
        let of_each = |caller: &Caller| Ok(recorded.by_ref().take(caller.events.len()).collect());
        Ok(self.callers.iter().map(of_each).collect())
    }

    fn record_one(&self, connection: &Connection, caller: &Caller) -> Result<Vec<Recorded>> {
        let statement = |sql| connection.execute_batch(sql).map_err(from_sqlite);
        statement("SAVEPOINT caller")?;
        let recorded = self.record(connection, slice::from_ref(caller));
        let end = if recorded.is_ok() { "" } else { "ROLLBACK TO caller;" };
        statement(&format!("{end} RELEASE caller"))?;
        recorded
    }
}

impl Job for CombinedJob {
    fn is_abandoned(&self) -> bool {
        self.inner.waiting.lock().callers.is_empty()
    }

    fn run(&mut self, connection: &Connection) -> bool {
        if self.separately {
            let alone = |caller| self.record_one(connection, caller);
            self.outcomes = self.callers.iter().map(alone).collect();
            return !connection.is_autocommit();
        }
        self.take();
        let together = self.record_all(connection);
        let succeeded = together.is_ok();
        self.outcomes = together.unwrap_or_else(|error| vec![Err(error)]);
        succeeded
    }

    fn try_fallback(&mut self) -> bool {
        !std::mem::replace(&mut self.separately, true) && self.callers.len() > 1
    }

    fn answer(mut self: Box<Self>, lost: Option<&SharedError>, replies: &mut Replies) {
        if self.callers.is_empty() {
            // The group failed before this job ran; the callers it would have served get the error.
            self.take();
        }
        self.inner.write_back.settle(lost);
        let mut outcomes = std::mem::take(&mut self.outcomes).into_iter();
        for caller in std::mem::take(&mut self.callers) {
            let outcome = outcomes
                .next()
                .unwrap_or_else(|| Err(Error::internal("a batch of rides has no outcome")));
            let answer = match lost {
                Some(lost) => Err(Error::unavailable(lost.clone())),
                None => outcome,
            };
            replies.add(caller.reply, answer);
        }
    }
}

/// A job that changes buffered sums. The buffer is settled before the caller gets the reply.
struct WithSums {
    work: Box<dyn Job>,
    write_back: Arc<WriteBack>,
}

impl Job for WithSums {
    fn is_abandoned(&self) -> bool {
        self.work.is_abandoned()
    }

    fn run(&mut self, connection: &Connection) -> bool {
        self.work.run(connection)
    }

    fn answer(self: Box<Self>, lost: Option<&SharedError>, replies: &mut Replies) {
        self.write_back.settle(lost);
        self.work.answer(lost, replies);
    }
}

impl Drop for CombinedJob {
    /// If the job never ran, because the writer refused it or has ended, one caller is left without a job; it is
    /// dropped, which replies with an error.
    fn drop(&mut self) {
        let mut waiting = self.inner.waiting.lock();
        waiting.jobs -= 1;
        while waiting.callers.len() > waiting.jobs
            && let Some(caller) = waiting.callers.pop_back()
        {
            waiting.events -= caller.events.len();
        }
    }
}
