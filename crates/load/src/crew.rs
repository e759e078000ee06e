//! Connections that do one kind of work at one pace, over some threads, and what they measured.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rand::rngs::SmallRng;
use tokio::runtime::Runtime;
use tokio::task::{JoinSet, LocalSet};

use crate::connection::{Connection, Scratch, scratch};
use crate::control::{Control, Progress, Start};
use crate::http1::Keep;
use crate::pace::{Flow, share, share_before};
use crate::plan::threads;
use crate::record::{ErrorKind, Record, Sample, Times};
use crate::run::{follow, on_threads};
use crate::turns::{self, Noted, Notes, Turns, rng};
use crate::wire::{Cost, Wire};

/// What connections do when it is their turn.
pub(crate) trait Work: Send + Sync + 'static {
    /// What a connection keeps from turn to turn.
    type Own: Default + 'static;
    /// What a thread brings back beside what was measured.
    type Hand: Default + Send + 'static;

    /// The kinds of turns, each with a record of its own.
    fn parts(&self) -> usize;

    /// Does one thing.
    async fn turn(
        &self,
        seat: &mut Seat<Self::Own>,
        hand: &RefCell<Self::Hand>,
        scratch: &Scratch,
    ) -> Turn;

    /// Whether this connection has no more turns, however many are left.
    fn is_done(&self, _seat: &Seat<Self::Own>) -> bool {
        false
    }

    /// A turn that was due and never taken; its kind.
    fn missed(&self, seat: &mut Seat<Self::Own>, hand: &RefCell<Self::Hand>) -> usize;
}

/// One connection, with what it needs for its turns.
#[derive(Debug)]
pub(crate) struct Seat<O> {
    /// From 0 on, over all threads.
    pub(crate) number: u64,
    /// When the turn was due.
    pub(crate) due: Instant,
    pub(crate) wire: Wire,
    pub(crate) rng: SmallRng,
    pub(crate) own: O,
}

/// Where connections lead to, and how they are kept.
#[derive(Debug, Clone)]
pub(crate) struct Seating {
    /// Taken in turn.
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) workers: Option<u32>,
    pub(crate) timeout: Duration,
    pub(crate) seed: u64,
}

/// What came of a turn.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) part: usize,
    /// When it began, if what came before was the client's own preparation; else from when it was due.
    pub(crate) began: Option<Instant>,
    pub(crate) done: Instant,
    pub(crate) cost: Cost,
    pub(crate) result: Result<(), ErrorKind>,
    /// What the system said about an error.
    pub(crate) detail: Option<String>,
}

/// What a crew came to.
#[derive(Debug)]
pub(crate) struct Crewed<H> {
    /// By kind of turn.
    pub(crate) records: Vec<Record>,
    /// Open loop: from the intended time to the sending, where a connection lay idle.
    pub(crate) lag: Times,
    /// Open loop: turns that waited for a free connection.
    pub(crate) queued: u64,
    pub(crate) hands: Vec<H>,
    pub(crate) elapsed: Duration,
    pub(crate) cpu: Option<Duration>,
    pub(crate) interrupted: bool,
}

/// Has `flow`'s connections do `work`. `name` is for the progress bar, `stage` tells this part of a run
/// from the others, so that it draws other rides.
pub(crate) fn crew<W: Work>(
    seating: Seating,
    control: &Control,
    (name, stage): (&str, u64),
    flow: Flow,
    work: W,
) -> Result<Crewed<W::Hand>> {
    let count = threads(seating.workers, flow.connections);
    let crew = Arc::new(Crew {
        seating,
        control: control.clone(),
        stage,
        flow,
        threads: count,
        start: Start::new(count),
        progress: (0..count).map(|_| Progress::default()).collect(),
        taken: Arc::default(),
        work,
    });
    let job = |id, runtime: Runtime| {
        let crew = Arc::clone(&crew);
        move || crew.work_on(id, &runtime)
    };
    let (benches, cpu) = on_threads(count, job, |ended| {
        follow(&crew.progress, &[flow.until], name.to_owned(), ended);
    })?;
    let most = |of: fn(&Noted) -> Duration| benches.iter().map(|bench| of(&bench.noted)).max();
    let last_success = most(|noted| noted.last_success).unwrap_or_default();
    let last_end = most(|noted| noted.last_end).unwrap_or_default();
    let interrupted = control.stopped();
    let mut crewed = Crewed {
        records: (0..crew.work.parts()).map(|_| Record::new()).collect(),
        lag: Times::new(),
        queued: 0,
        hands: Vec::with_capacity(benches.len()),
        elapsed: if interrupted { last_end } else { flow.elapsed(last_success, last_end) },
        cpu,
        interrupted,
    };
    for bench in benches {
        for (record, more) in crewed.records.iter_mut().zip(&bench.records) {
            record.merge(more);
        }
        crewed.lag.merge(&bench.noted.lag);
        crewed.queued += bench.noted.queued;
        crewed.hands.push(bench.hand);
    }
    Ok(crewed)
}

/// What the threads share.
#[derive(Debug)]
struct Crew<W> {
    seating: Seating,
    control: Control,
    stage: u64,
    flow: Flow,
    threads: u32,
    start: Start,
    progress: Vec<Progress>,
    taken: Arc<AtomicU64>,
    work: W,
}

/// What one thread brings back.
#[derive(Debug)]
struct Bench<H> {
    records: Vec<Record>,
    hand: H,
    noted: Noted,
}

impl<W: Work> Crew<W> {
    /// Runs thread `id` to its end.
    fn work_on(self: Arc<Self>, id: u32, runtime: &Runtime) -> Result<Bench<W::Hand>> {
        let local = LocalSet::new();
        let thread = runtime.block_on(local.run_until(Thread::run(self, id)))?;
        drop(local);
        let thread = Rc::into_inner(thread).context("a connection outlived its thread")?;
        let notes = Rc::into_inner(thread.notes).context("a connection outlived its thread")?;
        Ok(Bench {
            records: thread.records.into_inner(),
            hand: thread.hand.into_inner(),
            noted: notes.into_inner(),
        })
    }

    /// This thread's connections, dialled. One that cannot be dialled now is tried again, and counted,
    /// with its first turn.
    async fn dial_all(&self, id: u32) -> Vec<(u64, Connection)> {
        let mut dialling = JoinSet::new();
        let first = share_before(self.flow.connections, self.threads, id);
        let addresses = self.seating.addresses.iter().cycle();
        let addresses = addresses.skip(first as usize % self.seating.addresses.len().max(1));
        let mine = share(self.flow.connections, self.threads, id);
        for (number, &address) in (u64::from(first)..).zip(addresses.take(mine as usize)) {
            let mut connection = Connection::new(address, true, Keep::Body);
            let timeout = self.seating.timeout;
            dialling.spawn_local(async move {
                drop(tokio::time::timeout(timeout, connection.prepare()).await);
                (number, connection)
            });
        }
        dialling.join_all().await
    }

    /// Connection `number` of this stage.
    fn seat(&self, number: u64, connection: Connection) -> Seat<W::Own> {
        Seat {
            number,
            due: Instant::now(),
            wire: Wire::new(connection, self.seating.timeout),
            rng: rng(self.seating.seed, &[self.stage, number]),
            own: W::Own::default(),
        }
    }
}

/// One thread while it works.
struct Thread<W: Work> {
    crew: Arc<Crew<W>>,
    id: u32,
    start: Instant,
    scratch: Scratch,
    records: RefCell<Vec<Record>>,
    hand: RefCell<W::Hand>,
    notes: Rc<Notes>,
}

/// A seat on its thread.
struct Seated<W: Work> {
    thread: Rc<Thread<W>>,
    seat: Seat<W::Own>,
}

impl<W: Work> Turns for Seated<W> {
    fn is_done(&self) -> bool {
        self.thread.crew.work.is_done(&self.seat)
    }

    async fn take(&mut self, intended: Instant, _now: Instant) -> bool {
        let Self { thread, seat } = self;
        seat.due = intended;
        let turn = thread.crew.work.turn(seat, &thread.hand, &thread.scratch).await;
        let lost = turn.result == Err(ErrorKind::Connect);
        thread.note(intended, turn);
        !lost
    }

    fn miss(&mut self, intended: Instant, now: Instant) {
        let Self { thread, seat } = self;
        let part = thread.crew.work.missed(seat, &thread.hand);
        let (cost, result) = (Cost::default(), Err(ErrorKind::NotSent));
        thread.note(intended, Turn { part, began: None, done: now, cost, result, detail: None });
    }
}

impl<W: Work> Thread<W> {
    async fn run(crew: Arc<Crew<W>>, id: u32) -> Result<Rc<Self>> {
        let connections = crew.dial_all(id).await;
        let (start, _) = crew.start.begin();
        let pace = crew.flow.pace((id, crew.threads), start, &crew.taken, crew.seating.timeout);
        let thread = Rc::new(Self {
            id,
            start,
            scratch: scratch(),
            records: RefCell::new((0..crew.work.parts()).map(|_| Record::new()).collect()),
            hand: RefCell::default(),
            notes: Rc::new(Notes::new()),
            crew,
        });
        let mut tasks = JoinSet::new();
        let seated = connections.into_iter().map(|(number, connection)| Seated {
            thread: Rc::clone(&thread),
            seat: thread.crew.seat(number, connection),
        });
        turns::start(pace, &thread.crew.control, &thread.notes, seated, &mut tasks);
        while let Some(ended) = tasks.join_next().await {
            ended.context("a connection's task failed")?.context("the pacing timer failed")?;
        }
        Ok(thread)
    }

    fn note(&self, intended: Instant, turn: Turn) {
        let sample = Sample {
            done_at: turn.done - self.start,
            total: turn.done - turn.began.unwrap_or(intended),
            wait: turn.cost.wait,
            connect: turn.cost.connect,
            sent_bytes: turn.cost.sent_bytes,
            received_bytes: turn.cost.received_bytes,
            result: turn.result,
        };
        let record = &mut self.records.borrow_mut()[turn.part];
        record.add(&sample);
        if let (Err(kind), Some(detail)) = (turn.result, turn.detail) {
            record.details.entry(kind).or_insert(detail);
        }
        let progress = &self.crew.progress[self.id as usize];
        self.notes.ended(sample.done_at, turn.result.is_ok(), progress);
    }
}
