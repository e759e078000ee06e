//! One thread of a run: its connections, its pace, its own record.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rand::RngExt;
use rand::rngs::SmallRng;
use tokio::runtime::Runtime;
use tokio::task::{JoinSet, LocalSet};

use crate::connection::{Connection, Failure, Marks, Scratch, scratch};
use crate::control::{Control, Progress, Start};
use crate::http1::{Answer, Keep};
use crate::ledger::{Ledger, WriteOutcome};
use crate::links::{Pair, Write};
use crate::pace::{share, share_before};
use crate::plan::{Lane, Mix, Plan};
use crate::raw::{RawRows, Row};
use crate::record::{ErrorKind, Kind, Measured, Sample};
use crate::turns::{self, Notes, Turns, rng};

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
    let noted =
        Rc::into_inner(worker.notes).context("a connection outlived its thread")?.into_inner();
    let mut measured = worker.measured.into_inner();
    (measured.lag, measured.queued) = (noted.lag, noted.queued);
    Ok(Worked {
        measured,
        ledger: worker.ledger.into_inner(),
        last_success: noted.last_success,
        last_end: noted.last_end,
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
        notes: Rc::new(Notes::new()),
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
    notes: Rc<Notes>,
}

/// A connection with what it needs for its requests.
struct Client {
    connection: Connection,
    rng: SmallRng,
    request: Vec<u8>,
    pair: Pair,
}

/// A client on its thread.
struct Seated {
    worker: Rc<Worker>,
    mix: Mix,
    client: Client,
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

impl Turns for Seated {
    async fn take(&mut self, intended: Instant, now: Instant) -> bool {
        self.worker.one(self.mix, intended, now, &mut self.client).await
    }

    fn miss(&mut self, intended: Instant, now: Instant) {
        self.worker.not_sent(self.mix, intended, now, &mut self.client);
    }
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
        let pace = lane.flow.pace(thread, self.start, taken, plan.timeout);
        let first = share_before(lane.flow.connections, plan.threads, self.id);
        let seated = (u64::from(first)..).zip(connections).map(|(number, connection)| {
            let rng = rng(plan.seed, &[self.shared.run.into(), index as u64, number]);
            let request = Vec::with_capacity(512);
            let client = Client { connection, rng, request, pair: Pair::default() };
            Seated { worker: Rc::clone(self), mix: lane.mix, client }
        });
        turns::start(pace, &self.shared.control, &self.notes, seated, tasks);
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
        let progress = &self.shared.progress[self.id as usize];
        self.notes.ended(sample.done_at, result.is_ok(), progress);
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
        self.notes.ended(sample.done_at, false, &self.shared.progress[self.id as usize]);
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
