//! Runs a workload on connections spread over threads, and collects the measurements.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures_util::future::join_all;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::runtime::Runtime;
use tokio::task::{JoinSet, LocalSet};

use super::client::Client;
use super::control::{Control, Progress};
use super::outcome::ErrorKind;
use super::pace::{Flow, Next, Pace, share, share_before};
use super::record::{Record, Sample};
use super::threads::{follow, on_threads, threads};
use super::times::Times;
use super::wire::{Cost, HttpConnection, Scratch, scratch};

/// The pause of a closed-loop connection after a failed connect, instead of spinning.
const REDIAL_PAUSE: Duration = Duration::from_millis(10);

/// A workload: what a connection does in one iteration.
pub(crate) trait Work: Send + Sync + 'static {
    /// The state of a connection between iterations.
    type State: Default + 'static;
    /// The result of a thread beside the measurements.
    type Output: Default + Send + 'static;

    /// Returns the number of kinds of iterations; each kind has its own record.
    fn parts(&self) -> usize {
        1
    }

    /// Runs one iteration.
    async fn iterate(
        &self,
        seat: &mut Connection<Self::State>,
        hand: &RefCell<Self::Output>,
    ) -> Iteration;

    /// Returns whether this connection is finished, even if the run has iterations left.
    fn is_done(&self, _seat: &Connection<Self::State>) -> bool {
        false
    }

    /// Counts an iteration that was due but dropped, which happens only in an open loop. Returns its kind.
    fn missed(&self, _seat: &mut Connection<Self::State>, _hand: &RefCell<Self::Output>) -> usize {
        0
    }

    /// Called after an iteration of kind `part` has ended or was dropped.
    fn ended(
        &self,
        _seat: &Connection<Self::State>,
        _hand: &RefCell<Self::Output>,
        _part: usize,
        _: &Sample,
    ) {
    }
}

/// One connection and its state.
#[derive(Debug)]
pub(crate) struct Connection<O> {
    /// Its number over all threads, from 0.
    pub(crate) number: u64,
    /// Its thread's number, from 0.
    pub(crate) thread: u32,
    /// The index of its flow.
    pub(crate) flow: usize,
    /// When the iteration was due, and when the connection was free for it.
    pub(crate) due: Instant,
    pub(crate) began: Instant,
    pub(crate) wire: HttpConnection,
    pub(crate) rng: SmallRng,
    /// The stop signal.
    pub(crate) control: Control,
    pub(crate) state: O,
}

/// The result of an iteration.
#[derive(Debug)]
pub(crate) struct Iteration {
    pub(crate) part: usize,
    /// Start of the latency, if the client prepared the request first; `None`: the due time.
    pub(crate) began: Option<Instant>,
    pub(crate) done: Instant,
    pub(crate) cost: Cost,
    pub(crate) result: Result<(), ErrorKind>,
    /// The operating system's text for an error.
    pub(crate) detail: Option<String>,
}

impl Iteration {
    /// An iteration of kind `part` that ends now, with the cost since the previous one.
    pub(crate) fn ended<O>(
        part: usize,
        seat: &mut Connection<O>,
        result: Result<(), ErrorKind>,
        detail: Option<String>,
    ) -> Self {
        let (done, cost) = (Instant::now(), seat.wire.take_cost());
        Self { part, began: None, done, cost, result, detail }
    }
}

/// The measurements of a run.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// By kind of iteration.
    pub(crate) records: Vec<Record>,
    /// Open loop: from the intended time to the sending, where a connection was idle: the client's own
    /// lateness.
    pub(crate) lag: Times,
    /// Open loop: iterations that waited for a free connection.
    pub(crate) queued: u64,
    pub(crate) elapsed: Duration,
    /// CPU time of this process during the run; `None` where it cannot be read.
    pub(crate) cpu: Option<Duration>,
    pub(crate) interrupted: bool,
}

impl Measured {
    /// Empty measurements of `parts` kinds of iterations.
    pub(crate) fn new(parts: usize) -> Self {
        let (records, cpu) = (vec![Record::default(); parts], Some(Duration::ZERO));
        Self { records, cpu, ..Self::default() }
    }

    /// Adds another run: counts and times are summed.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (record, more) in self.records.iter_mut().zip(&other.records) {
            record.merge(more);
        }
        self.lag.merge(&other.lag);
        self.queued += other.queued;
        self.elapsed += other.elapsed;
        self.cpu = self.cpu.zip(other.cpu).map(|(sum, more)| sum + more);
        self.interrupted |= other.interrupted;
    }

    /// Returns all kinds of iterations merged into one record.
    pub(crate) fn all(&self) -> Record {
        let mut all = Record::default();
        for record in &self.records {
            all.merge(record);
        }
        all
    }
}

/// A workload with its target and pace.
#[derive(Debug)]
pub(crate) struct Engine<W> {
    pub(crate) client: Client,
    /// The number of threads; `None`: the default.
    pub(crate) threads: Option<u32>,
    pub(crate) seed: u64,
    /// Distinguishes runs with the same seed, so that their random choices differ.
    pub(crate) stage: u64,
    /// Groups of connections and their paces.
    pub(crate) flows: Vec<Flow>,
    pub(crate) work: W,
}

impl<W: Work> Engine<W> {
    /// Runs the workload. Returns the measurements and each thread's result. `name` labels the progress bar.
    pub(crate) fn run(
        self,
        control: &Control,
        name: impl Into<String>,
    ) -> Result<(Measured, Vec<W::Output>)> {
        let connections = self.flows.iter().map(|flow| flow.connections).sum();
        let count = threads(self.threads, connections);
        let shared = Arc::new(Shared {
            control: control.clone(),
            threads: count,
            ready: Barrier::new(count as usize),
            start: OnceLock::new(),
            progress: (0..count).map(|_| Progress::default()).collect(),
            taken: self.flows.iter().map(|_| Arc::default()).collect(),
            engine: self,
        });
        let job = |id, runtime: Runtime| {
            let shared = Arc::clone(&shared);
            move || shared.work_on(id, &runtime)
        };
        let flows = &shared.engine.flows;
        let (ended, cpu) = on_threads("load", count, job, |all_ended| {
            follow(&shared.progress, flows, name.into(), all_ended);
        })?;
        let mut measured = Measured::new(shared.engine.work.parts());
        let mut last_end = Duration::ZERO;
        let mut hands = Vec::with_capacity(ended.len());
        for (of_thread, hand) in ended {
            last_end = last_end.max(of_thread.elapsed);
            measured.merge(&of_thread);
            hands.push(hand);
        }
        let last_success = measured.records.iter().map(|record| record.last_success).max();
        let last_success = last_success.unwrap_or_default();
        let planned = flows.iter().map(|flow| flow.elapsed(last_success, last_end)).max();
        let interrupted = control.stopped();
        let elapsed = if interrupted { last_end } else { planned.unwrap_or_default() };
        Ok((Measured { elapsed, cpu, interrupted, ..measured }, hands))
    }
}

/// State shared by all threads.
#[derive(Debug)]
struct Shared<W> {
    engine: Engine<W>,
    control: Control,
    threads: u32,
    /// Waits for all threads.
    ready: Barrier,
    /// The common start of all threads.
    start: OnceLock<Instant>,
    progress: Vec<Progress>,
    /// Iterations taken, by flow.
    taken: Vec<Arc<AtomicU64>>,
}

impl<W: Work> Shared<W> {
    /// Runs thread `id` to its end. Returns its measurements; `elapsed` is the end of the last iteration.
    fn work_on(self: Arc<Self>, id: u32, runtime: &Runtime) -> Result<(Measured, W::Output)> {
        let local = LocalSet::new();
        let thread = runtime.block_on(local.run_until(Thread::run(self, id)))?;
        drop(local);
        let thread = Rc::into_inner(thread).context("a connection outlived its thread")?;
        Ok((thread.measured.into_inner(), thread.hand.into_inner()))
    }

    /// Returns this thread's connections of a flow with their numbers, dialled if they are kept alive. A
    /// connection that cannot be dialled now is dialled, and counted, in its first iteration.
    async fn dial(&self, id: u32, flow: Flow, scratch: &Rc<Scratch>) -> Vec<(u64, HttpConnection)> {
        let client = &self.engine.client;
        let first = share_before(flow.connections, self.threads, id);
        let mine = share(flow.connections, self.threads, id);
        let addresses =
            client.addresses.iter().cycle().skip(first as usize % client.addresses.len());
        let wires = (u64::from(first)..).zip(addresses).take(mine as usize);
        join_all(wires.map(async |(number, &address)| {
            let mut wire = HttpConnection::new(client, address, Rc::clone(scratch));
            wire.prepare().await;
            (number, wire)
        }))
        .await
    }
}

/// One running thread.
struct Thread<W: Work> {
    shared: Arc<Shared<W>>,
    id: u32,
    start: Instant,
    measured: RefCell<Measured>,
    hand: RefCell<W::Output>,
}

impl<W: Work> Thread<W> {
    async fn run(shared: Arc<Shared<W>>, id: u32) -> Result<Rc<Self>> {
        let scratch = Rc::new(scratch());
        let mut dialled = Vec::with_capacity(shared.engine.flows.len());
        for flow in &shared.engine.flows {
            dialled.push(shared.dial(id, *flow, &scratch).await);
        }
        shared.ready.wait();
        let start = *shared.start.get_or_init(Instant::now);
        let thread = Rc::new(Self {
            id,
            start,
            measured: RefCell::new(Measured::new(shared.engine.work.parts())),
            hand: RefCell::default(),
            shared,
        });
        let mut tasks = JoinSet::new();
        for (flow, wires) in dialled.into_iter().enumerate() {
            thread.start_flow(flow, wires, &mut tasks);
        }
        while let Some(ended) = tasks.join_next().await {
            ended.context("a connection's task failed")?.context("the pacing timer failed")?;
        }
        Ok(thread)
    }

    /// Starts the tasks of a flow's connections; in an open loop one more task paces them.
    fn start_flow(
        self: &Rc<Self>,
        flow: usize,
        wires: Vec<(u64, HttpConnection)>,
        tasks: &mut JoinSet<io::Result<()>>,
    ) {
        if wires.is_empty() {
            return;
        }
        let (shared, engine) = (&self.shared, &self.shared.engine);
        let threads = (self.id, shared.threads);
        let taken = &shared.taken[flow];
        let timeout = engine.client.timeout;
        let pace = Rc::new(engine.flows[flow].pace(threads, self.start, taken, timeout));
        for (number, wire) in wires {
            let seat = Connection {
                number,
                thread: self.id,
                flow,
                due: self.start,
                began: self.start,
                wire,
                rng: rng(engine.seed, &[engine.stage, flow as u64, number]),
                control: shared.control.clone(),
                state: W::State::default(),
            };
            tasks.spawn_local(Rc::clone(self).drive(Rc::clone(&pace), seat));
        }
        let control = shared.control.clone();
        tasks.spawn_local(async move {
            match &*pace {
                Pace::Open(open) => open.pace(&control).await,
                Pace::Closed(_) => Ok(()),
            }
        });
    }

    /// Runs one connection from its first iteration to its last.
    async fn drive(
        self: Rc<Self>,
        pace: Rc<Pace>,
        mut seat: Connection<W::State>,
    ) -> io::Result<()> {
        let Shared { control, engine: Engine { work, .. }, .. } = &*self.shared;
        let mut woken = false;
        while !work.is_done(&seat) {
            let (now, stopped) = (Instant::now(), control.stopped());
            let next = match &*pace {
                Pace::Closed(closed) => closed.take(now, stopped),
                Pace::Open(open) => open.take(now, woken, stopped, |due| {
                    (seat.due, seat.began) = (due, now);
                    self.miss(&mut seat);
                }),
            };
            match (next, &*pace) {
                (Next::Send { intended, queued }, pace) => {
                    let is_closed = matches!(pace, Pace::Closed(_));
                    if !is_closed {
                        self.began(now - intended, queued);
                    }
                    (seat.due, seat.began) = (intended, now);
                    let turn = work.iterate(&mut seat, &self.hand).await;
                    let is_lost = turn.result == Err(ErrorKind::Connect);
                    self.note(&seat, turn);
                    if is_lost && is_closed {
                        tokio::time::sleep(REDIAL_PAUSE).await;
                    }
                    woken = false;
                }
                (Next::Wait, Pace::Open(open)) => {
                    open.wait_idle().await;
                    woken = true;
                }
                (Next::Wait | Next::End, _) => return Ok(()),
            }
        }
        Ok(())
    }

    fn began(&self, late: Duration, queued: bool) {
        let mut measured = self.measured.borrow_mut();
        if queued {
            measured.queued += 1;
        } else {
            measured.lag.record(late);
        }
    }

    /// Records an iteration that was dropped: its deadline passed, or the run was stopped, before a connection
    /// was free.
    fn miss(&self, seat: &mut Connection<W::State>) {
        let part = self.shared.engine.work.missed(seat, &self.hand);
        let (cost, result) = (Cost::default(), Err(ErrorKind::NotSent));
        self.note(
            seat,
            Iteration { part, began: None, done: seat.began, cost, result, detail: None },
        );
    }

    fn note(&self, seat: &Connection<W::State>, turn: Iteration) {
        let sample = Sample {
            done_at: turn.done - self.start,
            total: turn.done - turn.began.unwrap_or(seat.due),
            cost: turn.cost,
            result: turn.result,
        };
        let mut measured = self.measured.borrow_mut();
        let record = &mut measured.records[turn.part];
        record.add(&sample);
        if let (Err(kind), Some(detail)) = (turn.result, turn.detail) {
            record.details.entry(kind).or_insert(detail);
        }
        measured.elapsed = measured.elapsed.max(sample.done_at);
        self.shared.progress[self.id as usize].count(turn.result.is_ok());
        self.shared.engine.work.ended(seat, &self.hand, turn.part, &sample);
    }
}

/// Returns the random generator of the connection that these numbers identify.
fn rng(seed: u64, numbers: &[u64]) -> SmallRng {
    SmallRng::seed_from_u64(
        numbers.iter().fold(seed, |seed, part| {
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(part + 1)
        }),
    )
}
