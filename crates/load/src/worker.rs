//! One thread of a run: its connections, its pace, its own record.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::runtime::Runtime;
use tokio::task::{JoinSet, LocalSet};

use crate::connection::{Connection, Failure, Marks, Scratch, scratch};
use crate::control::{Control, Progress, Start};
use crate::http1::{Answer, Keep};
use crate::ledger::{Ledger, WriteOutcome};
use crate::links::{Pair, Write};
use crate::pace::{Next, Pace, share, share_before};
use crate::plan::{Lane, Mix, Plan};
use crate::raw::{RawRows, Row};
use crate::record::{ErrorKind, Kind, Measured, Sample};

/// How long a connection of a closed loop waits after it could not connect, instead of spinning.
const REDIAL_PAUSE: Duration = Duration::from_millis(10);

/// What the threads of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    pub(crate) control: Control,
    /// Which of the repeated runs.
    pub(crate) run: u32,
    pub(crate) start: Start,
    pub(crate) progress: Vec<Progress>,
    /// Requests taken, for each lane.
    pub(crate) taken: Vec<Arc<AtomicU64>>,
}

impl Shared {
    pub(crate) fn new(plan: Arc<Plan>, control: Control, run: u32) -> Self {
        Self {
            control,
            run,
            start: Start::new(plan.threads),
            progress: (0..plan.threads).map(|_| Progress::default()).collect(),
            taken: plan.lanes.iter().map(|_| Arc::default()).collect(),
            plan,
        }
    }
}

/// What one thread brings back.
#[derive(Debug)]
pub(crate) struct Worked {
    pub(crate) measured: Measured,
    pub(crate) ledger: Ledger,
    /// The last success, and the last end of any request, since the start.
    pub(crate) last_success: Duration,
    pub(crate) last_end: Duration,
}

/// Runs thread `id` to its end.
pub(crate) fn work(
    shared: Arc<Shared>,
    id: u32,
    runtime: &Runtime,
    raw: Option<RawRows>,
) -> Result<Worked> {
    let local = LocalSet::new();
    let worker = runtime.block_on(local.run_until(run(shared, id, raw)))?;
    drop(local);
    let worker = Rc::into_inner(worker).context("a connection outlived its thread")?;
    Ok(Worked {
        measured: worker.measured.into_inner(),
        ledger: worker.ledger.into_inner(),
        last_success: worker.last_success.get(),
        last_end: worker.last_end.get(),
    })
}

async fn run(shared: Arc<Shared>, id: u32, raw: Option<RawRows>) -> Result<Rc<Worker>> {
    let connections = dial_all(&shared.plan, id).await;
    let (start, start_unix_us) = shared.start.begin();
    let worker = Rc::new(Worker {
        id,
        start,
        start_unix_us,
        scratch: scratch(),
        measured: RefCell::new(Measured::new()),
        ledger: RefCell::default(),
        raw: RefCell::new(raw),
        writes: Cell::new(0),
        last_success: Cell::default(),
        last_end: Cell::default(),
        shared,
    });
    let mut tasks = JoinSet::new();
    for (lane, connections) in worker
        .shared
        .plan
        .lanes
        .iter()
        .zip(connections)
        .enumerate()
        .map(|(index, (lane, own))| ((index, *lane), own))
    {
        worker.start_lane(lane.0, lane.1, connections, &mut tasks);
    }
    while let Some(ended) = tasks.join_next().await {
        ended.context("a connection's task failed")?.context("the pacing timer failed")?;
    }
    Ok(worker)
}

/// This thread's connections of each lane, dialled where they are kept. One that cannot be dialled
/// now is tried again, and counted, with its first request.
async fn dial_all(plan: &Plan, id: u32) -> Vec<Vec<Connection>> {
    let mut lanes = Vec::with_capacity(plan.lanes.len());
    let kept = if plan.verify { Keep::Location } else { Keep::Nothing };
    for lane in &plan.lanes {
        let mut dialling = JoinSet::new();
        for _ in 0..share(lane.flow.connections, plan.threads, id) {
            let mut connection = Connection::new(plan.target.address, plan.keep, kept);
            let timeout = plan.timeout;
            dialling.spawn_local(async move {
                drop(tokio::time::timeout(timeout, connection.prepare()).await);
                connection
            });
        }
        lanes.push(dialling.join_all().await);
    }
    lanes
}

#[derive(Debug)]
struct Worker {
    shared: Arc<Shared>,
    id: u32,
    start: Instant,
    start_unix_us: u64,
    scratch: Scratch,
    measured: RefCell<Measured>,
    ledger: RefCell<Ledger>,
    raw: RefCell<Option<RawRows>>,
    /// Writes begun.
    writes: Cell<u64>,
    last_success: Cell<Duration>,
    last_end: Cell<Duration>,
}

/// A connection with what it needs for its requests.
struct Client {
    connection: Connection,
    rng: SmallRng,
    request: Vec<u8>,
    pair: Pair,
}

/// The request under way.
#[derive(Debug, Clone, Copy)]
struct Job {
    kind: Kind,
    /// Which write, for the ledger.
    write: u64,
    intended: Instant,
    began: Instant,
}

impl Worker {
    fn start_lane(
        self: &Rc<Self>,
        index: usize,
        lane: Lane,
        connections: Vec<Connection>,
        tasks: &mut JoinSet<io::Result<()>>,
    ) {
        if connections.is_empty() {
            return;
        }
        let plan = &self.shared.plan;
        let thread = (self.id, plan.threads);
        let taken = &self.shared.taken[index];
        let pace = Rc::new(lane.flow.pace(thread, self.start, taken, plan.timeout));
        let first = share_before(lane.flow.connections, plan.threads, self.id);
        for (number, connection) in (u64::from(first)..).zip(connections) {
            let numbers = [self.shared.run.into(), index as u64, number];
            let rng = SmallRng::seed_from_u64(numbers.iter().fold(plan.seed, |seed, part| {
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(part + 1)
            }));
            let client =
                Client { connection, rng, request: Vec::with_capacity(512), pair: Pair::default() };
            tasks.spawn_local(Rc::clone(self).drive(Rc::clone(&pace), lane.mix, client));
        }
        if matches!(*pace, Pace::Open(_)) {
            let worker = Rc::clone(self);
            tasks.spawn_local(async move {
                match &*pace {
                    Pace::Open(open) => open.pace(&worker.shared.control).await,
                    Pace::Closed(_) => Ok(()),
                }
            });
        }
    }

    /// One connection, from the first request to the last.
    async fn drive(self: Rc<Self>, pace: Rc<Pace>, mix: Mix, mut client: Client) -> io::Result<()> {
        let mut woken = false;
        loop {
            let now = Instant::now();
            let stopped = self.shared.control.stopped();
            let next = match &*pace {
                Pace::Closed(closed) => closed.take(now, stopped),
                Pace::Open(open) => open.take(now, woken, stopped, |intended| {
                    self.not_sent(mix, intended, now, &mut client);
                }),
            };
            match (next, &*pace) {
                (Next::Send { intended, queued }, _) => {
                    self.note_lag(&pace, now - intended, queued);
                    let connected = self.one(mix, intended, now, &mut client).await;
                    if !connected && matches!(*pace, Pace::Closed(_)) {
                        tokio::time::sleep(REDIAL_PAUSE).await;
                    }
                    woken = false;
                }
                (Next::Wait, Pace::Open(open)) => {
                    open.lie_idle().await;
                    woken = true;
                }
                (Next::Wait | Next::End, _) => return Ok(()),
            }
        }
    }

    fn note_lag(&self, pace: &Pace, late: Duration, queued: bool) {
        if matches!(pace, Pace::Open(_)) {
            let mut measured = self.measured.borrow_mut();
            if queued {
                measured.queued += 1;
            } else {
                measured.lag.record(late);
            }
        }
    }

    /// Makes one request and records it; false when there was no connection.
    async fn one(&self, mix: Mix, intended: Instant, began: Instant, client: &mut Client) -> bool {
        let plan = &*self.shared.plan;
        let job = self.prepare(mix, intended, began, client);
        let head_only = job.kind == Kind::Get && plan.get.as_ref().is_some_and(|get| get.head);
        client.connection.reset();
        let exchange = client.connection.exchange(&client.request, head_only, &self.scratch);
        let deadline = tokio::time::Instant::from_std(began + plan.timeout);
        let outcome = tokio::time::timeout_at(deadline, exchange).await;
        let done = Instant::now();
        let result = match outcome {
            Err(_) => {
                client.connection.abandon();
                Err(ErrorKind::Timeout)
            }
            Ok(Err(Failure::Connect(error))) => Err(self.explain(&job, ErrorKind::Connect, &error)),
            Ok(Err(Failure::Lost)) => Err(ErrorKind::Reset),
            Ok(Err(Failure::Malformed(error))) => {
                Err(self.explain(&job, ErrorKind::Malformed, &error))
            }
            Ok(Ok(answer)) => self.judge(&job, answer, client),
        };
        self.finish(&job, client.connection.marks, done, result);
        !matches!(result, Err(ErrorKind::Connect))
    }

    /// Chooses a request and puts its bytes into the client's buffer.
    fn prepare(&self, mix: Mix, intended: Instant, began: Instant, client: &mut Client) -> Job {
        let plan = &*self.shared.plan;
        let kind = choose(mix, &mut client.rng);
        let mut write = 0;
        match kind {
            Kind::Get => {
                if let Some(get) = &plan.get {
                    let index = get.choice.draw(&mut client.rng, get.set.count());
                    get.set.pair(&plan.prefix, index, &mut client.pair);
                    let (template, pair) = (get.template_of(index), &client.pair);
                    template.render(&pair.short, &pair.long, &mut client.request);
                }
            }
            Kind::Put => {
                if let Some(put) = &plan.put {
                    write = self.writes.get();
                    // The one pair of `--same-pair` belongs to the first thread, whoever sends it.
                    let (thread, number) = if put.same_pair { (0, 0) } else { (self.id, write) };
                    self.writes.set(write + 1);
                    write = number;
                    client
                        .pair
                        .for_writing(&plan.prefix, Write { run: self.shared.run, thread, number });
                    put.template.render(&client.pair.short, &client.pair.long, &mut client.request);
                }
            }
        }
        Job { kind, write, intended, began }
    }

    /// Keeps what was said the first time an error of this kind came.
    fn explain(&self, job: &Job, kind: ErrorKind, detail: &dyn std::fmt::Display) -> ErrorKind {
        self.measured
            .borrow_mut()
            .of(job.kind)
            .details
            .entry(kind)
            .or_insert_with(|| detail.to_string());
        kind
    }

    fn judge(&self, job: &Job, answer: Answer, client: &Client) -> Result<(), ErrorKind> {
        let plan = &*self.shared.plan;
        let expected = match job.kind {
            Kind::Get => plan.get.as_ref().is_some_and(|get| get.expect.contains(&answer.status)),
            Kind::Put => plan.put.as_ref().is_some_and(|put| put.expect.contains(&answer.status)),
        };
        if !expected {
            return Err(ErrorKind::Status(answer.status));
        }
        let wrong = plan.verify
            && job.kind == Kind::Get
            && client.connection.answered().location() != Some(client.pair.long.as_slice());
        if wrong { Err(ErrorKind::WrongTarget) } else { Ok(()) }
    }

    fn finish(&self, job: &Job, marks: Marks, done: Instant, result: Result<(), ErrorKind>) {
        let connect = marks.connected.map(|connected| connected - job.began);
        let ready = marks.connected.unwrap_or(job.began);
        let sample = Sample {
            done_at: done - self.start,
            total: done - job.intended,
            wait: marks.first_byte.map(|first| first - ready),
            connect,
            sent_bytes: marks.sent_bytes,
            received_bytes: marks.received_bytes,
            result,
        };
        self.measured.borrow_mut().of(job.kind).add(&sample);
        self.shared.progress[self.id as usize].count(result.is_ok());
        self.last_end.set(self.last_end.get().max(sample.done_at));
        if result.is_ok() {
            self.last_success.set(self.last_success.get().max(sample.done_at));
        }
        if job.kind == Kind::Put {
            self.note_write(job.write, WriteOutcome::of(result, marks.sent_bytes > 0));
        }
        if let Some(rows) = &mut *self.raw.borrow_mut() {
            rows.push(self.row(job, &sample));
        }
    }

    fn note_write(&self, write: u64, outcome: WriteOutcome) {
        match outcome {
            WriteOutcome::Refused => self.measured.borrow_mut().writes_refused += 1,
            WriteOutcome::Unknown => self.measured.borrow_mut().writes_unknown += 1,
            WriteOutcome::Acknowledged => {}
        }
        if self.shared.plan.verify {
            self.ledger.borrow_mut().note(write, outcome);
        }
    }

    /// A request whose deadline passed, or whose run was stopped, before a connection was free.
    fn not_sent(&self, mix: Mix, intended: Instant, now: Instant, client: &mut Client) {
        let kind = choose(mix, &mut client.rng);
        let job = Job { kind, write: 0, intended, began: now };
        let sample = Sample {
            done_at: now - self.start,
            total: now - intended,
            wait: None,
            connect: None,
            sent_bytes: 0,
            received_bytes: 0,
            result: Err(ErrorKind::NotSent),
        };
        self.measured.borrow_mut().of(kind).add(&sample);
        self.shared.progress[self.id as usize].count(false);
        self.last_end.set(self.last_end.get().max(sample.done_at));
        if kind == Kind::Put {
            self.measured.borrow_mut().writes_refused += 1;
        }
        if let Some(rows) = &mut *self.raw.borrow_mut() {
            rows.push(self.row(&job, &sample));
        }
    }

    fn row(&self, job: &Job, sample: &Sample) -> Row {
        Row {
            start_us: self.start_unix_us + us(job.intended - self.start),
            late_us: us(job.began - job.intended),
            connect_us: sample.connect.map_or(0, us),
            total_us: us(sample.total),
            wait_us: sample.wait.map_or(0, us),
            kind: job.kind,
            result: sample.result,
        }
    }
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn choose(mix: Mix, rng: &mut SmallRng) -> Kind {
    match mix {
        Mix::Only(kind) => kind,
        Mix::WriteShare(share) if rng.random_bool(share) => Kind::Put,
        Mix::WriteShare(_) => Kind::Get,
    }
}
