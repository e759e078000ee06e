//! Brings events to the writer. Those of many callers become one piece of work, so that a sum that all of
//! them change is written once for all.

use std::{collections::VecDeque, slice, sync::Arc};

use lodge_domain::{
    Error, Result,
    rides::{NamedBatch, Recorded, RideEvent},
};
use lodge_sql::App;
use parking_lot::Mutex;
use rusqlite::Connection;

use super::{
    record,
    write_back::{WriteBack, work::Work},
};
use crate::{
    failure::{Failure, NotTaken, Shared, from_sqlite},
    job::{Job, Request, contained},
    replies::{Replies, Reply},
    writer::Writer,
};

/// Events that wait for the writer; past it they are refused.
const EVENTS_MAX: usize = 65_536;

/// Events after which a piece of work takes no further caller's. More of them would share more pages, and
/// let other apps' writes wait for longer.
const TOGETHER: usize = 4_096;

/// What waits, and what its work is done with.
pub(crate) struct Recorder(Arc<Inner>);

struct Inner {
    waiting: Mutex<Waiting>,
    write_back: Arc<WriteBack>,
}

#[derive(Default)]
struct Waiting {
    callers: VecDeque<Caller>,
    events: usize,
    /// Pieces of work that will come for them: never fewer than callers, or some would wait for ever.
    coming: usize,
}

/// Somebody who waits for an answer.
struct Caller {
    batch: Option<NamedBatch>,
    events: Vec<RideEvent>,
    reply: Reply<Vec<Recorded>>,
}

impl Recorder {
    /// A recorder that keeps these skiers' days.
    pub(crate) fn new(write_back: Arc<WriteBack>) -> Self {
        Self(Arc::new(Inner { waiting: Mutex::default(), write_back }))
    }

    /// Skiers' days.
    pub(super) fn write_back(&self) -> &WriteBack {
        &self.0.write_back
    }

    /// Does something in one of the writer's next groups with the skiers' days.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        writer: &Writer,
        work: impl FnOnce(&Connection, &mut Work<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = Reply::channel();
        let write_back = Arc::clone(&self.0.write_back);
        let of_work = Arc::clone(&write_back);
        let work = move |connection: &_| {
            let mut with = Work::new(connection, &of_work)?;
            let done = work(connection, &mut with)?;
            with.stage();
            Ok(done)
        };
        let work = Box::new(Request::new(work, reply));
        writer.submit(App::Rides, Box::new(WithSums { work, write_back }))?;
        answer.await.unwrap_or_else(|_| Err(Error::unavailable(NotTaken::Closed("writer"))))
    }

    /// Stores events in one of the writer's next groups.
    pub(crate) async fn record(
        &self,
        writer: &Writer,
        batch: Option<NamedBatch>,
        events: Vec<RideEvent>,
    ) -> Result<Vec<Recorded>> {
        let (reply, answer) = Reply::channel();
        self.push(Caller { batch, events, reply })?;
        // Refused, it is dropped, and with it one caller, who need not be this one: another's piece of work
        // may have taken this one's events.
        let refused = writer.submit(App::Rides, Box::new(Together::new(&self.0))).err();
        answer.await.unwrap_or_else(|_| {
            Err(refused.unwrap_or_else(|| Error::unavailable(NotTaken::FullOrClosed("rides"))))
        })
    }

    /// Each caller brings a piece of work; the first to run does that of all, and for the others there is
    /// nothing left.
    fn push(&self, caller: Caller) -> Result<()> {
        let mut waiting = self.0.waiting.lock();
        if waiting.events + caller.events.len() > EVENTS_MAX {
            return Err(Error::unavailable(NotTaken::Full(App::Rides.name())));
        }
        waiting.events += caller.events.len();
        waiting.callers.push_back(caller);
        waiting.coming += 1;
        Ok(())
    }
}

impl Waiting {
    /// Takes callers until they have brought enough.
    fn take(&mut self) -> Vec<Caller> {
        let (mut callers, mut events) = (Vec::new(), 0);
        while events < TOGETHER
            && let Some(caller) = self.callers.pop_front()
        {
            events += caller.events.len();
            callers.push(caller);
        }
        self.events -= events;
        callers
    }
}

/// The work of as many callers as wait when it runs.
struct Together {
    inner: Arc<Inner>,
    callers: Vec<Caller>,
    /// What came of each caller's events.
    outcomes: Vec<Result<Vec<Recorded>>>,
    /// They failed together: each caller's are stored, or not, without the others'.
    apart: bool,
}

impl Together {
    fn new(inner: &Arc<Inner>) -> Self {
        Self { inner: Arc::clone(inner), callers: Vec::new(), outcomes: Vec::new(), apart: false }
    }

    fn take(&mut self) {
        self.callers.append(&mut self.inner.waiting.lock().take());
    }

    fn record(&self, connection: &Connection, callers: &[Caller]) -> Result<Vec<Recorded>> {
        let sent = callers.iter().map(|caller| (caller.batch, &*caller.events));
        let record = || record::record(connection, &self.inner.write_back, sent);
        contained("storing rides panicked", record)
    }

    fn together(&self, connection: &Connection) -> Result<Vec<Result<Vec<Recorded>>>> {
        let mut recorded = self.record(connection, &self.callers)?.into_iter();
        let of_each = |caller: &Caller| Ok(recorded.by_ref().take(caller.events.len()).collect());
        Ok(self.callers.iter().map(of_each).collect())
    }

    fn alone(&self, connection: &Connection, caller: &Caller) -> Result<Vec<Recorded>> {
        let statement = |sql| connection.execute_batch(sql).map_err(from_sqlite);
        statement("SAVEPOINT caller")?;
        let recorded = self.record(connection, slice::from_ref(caller));
        let end = if recorded.is_ok() { "" } else { "ROLLBACK TO caller;" };
        statement(&format!("{end} RELEASE caller"))?;
        recorded
    }
}

impl Job for Together {
    fn is_abandoned(&self) -> bool {
        self.inner.waiting.lock().callers.is_empty()
    }

    fn run(&mut self, connection: &Connection) -> bool {
        if self.apart {
            let alone = |caller| self.alone(connection, caller);
            self.outcomes = self.callers.iter().map(alone).collect();
            return !connection.is_autocommit();
        }
        self.take();
        let together = self.together(connection);
        let succeeded = together.is_ok();
        self.outcomes = together.unwrap_or_else(|error| vec![Err(error)]);
        succeeded
    }

    fn another_way(&mut self) -> bool {
        !std::mem::replace(&mut self.apart, true) && self.callers.len() > 1
    }

    fn answer(mut self: Box<Self>, lost: Option<&Shared>, replies: &mut Replies) {
        if self.callers.is_empty() {
            // It was refused before it ran, and whoever it would have worked for with it.
            self.take();
        }
        self.inner.write_back.settle(lost);
        let mut outcomes = std::mem::take(&mut self.outcomes).into_iter();
        for caller in std::mem::take(&mut self.callers) {
            let outcome =
                outcomes.next().unwrap_or_else(|| Err(Error::internal("nothing came of rides")));
            let answer = match lost {
                Some(lost) => Err(Error::unavailable(lost.clone())),
                None => outcome,
            };
            replies.add(caller.reply, answer);
        }
    }
}

/// Work that changes skiers' days, which are to know whether it was committed before anybody else does.
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

    fn answer(self: Box<Self>, lost: Option<&Shared>, replies: &mut Replies) {
        self.write_back.settle(lost);
        self.work.answer(lost, replies);
    }
}

impl Drop for Together {
    /// If it never ran, because the writer would not take it or has ended, a caller is one too many, and is
    /// told so.
    fn drop(&mut self) {
        let mut waiting = self.inner.waiting.lock();
        waiting.coming -= 1;
        while waiting.callers.len() > waiting.coming
            && let Some(caller) = waiting.callers.pop_back()
        {
            waiting.events -= caller.events.len();
        }
    }
}
