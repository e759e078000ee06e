//! The order in which the writer runs requests of several apps.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::channel,
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rusqlite::{
    Connection,
    hooks::{AuthAction, AuthContext, Authorization, TransactionOperation},
};
use tokio::sync::oneshot;

use super::{is_unavailable, thread_gate::ThreadGate};
use lodge_sql::App;

use crate::{
    checkpoints::{Checkpoints, LogLimits},
    failure::Failure,
    job::Request,
    replies::Reply,
    writer::{Limits, Writer},
};

const SLOW: Duration = Duration::from_millis(70);
const FAST: Duration = Duration::from_millis(1);

/// A writer whose clock advances only with its requests, and a record of what it did: the app of each request, and
/// `None` for a commit.
struct Timed {
    writer: Writer,
    now: Arc<Mutex<Instant>>,
    done: Arc<Mutex<Vec<Option<App>>>>,
}

impl Timed {
    fn start() -> Self {
        Self::start_on(Connection::open_in_memory().unwrap())
    }

    fn start_on(mut connection: Connection) -> Self {
        let (now, done) = (Arc::new(Mutex::new(Instant::now())), Arc::<Mutex<Vec<_>>>::default());
        connection.execute_batch("CREATE TABLE done (one INTEGER)").unwrap();
        let commits = Arc::clone(&done);
        let commit = move || {
            commits.lock().push(None);
            false
        };
        connection.commit_hook(Some(commit)).unwrap();
        let limits = Limits { queue: 1_000, group_time: Duration::from_millis(10) };
        let age_max = Duration::from_hours(1);
        let log = LogLimits { passive: 1 << 20, restart: 1 << 20, max: 1 << 20, age_max };
        let of_writer = Arc::clone(&now);
        let clock = Box::new(move || *of_writer.lock());
        let writer = Writer::start(connection, limits, Checkpoints::new(log), clock, ()).unwrap();
        Self { writer, now, done }
    }

    /// Sends a request that takes this time and calls `then` when it runs.
    fn ask(
        &self,
        app: App,
        takes: Duration,
        then: impl FnOnce() + Send + 'static,
    ) -> oneshot::Receiver<lodge_domain::Result<()>> {
        let (now, done) = (Arc::clone(&self.now), Arc::clone(&self.done));
        let work = move |connection: &Connection| -> Result<(), Failure> {
            connection.execute("INSERT INTO done VALUES (1)", [])?;
            *now.lock() += takes;
            done.lock().push(Some(app));
            then();
            Ok(())
        };
        let (reply, answer) = Reply::channel();
        self.writer.submit(app, Box::new(Request::new(Box::new(work), reply))).unwrap();
        answer
    }

    /// Runs the requests that `ask` sends, all of which are queued before the first runs.
    async fn run(&self, ask: impl FnOnce() -> Vec<oneshot::Receiver<lodge_domain::Result<()>>>) {
        let door = ThreadGate::default();
        let of_writer = door.clone();
        let held = self.ask(App::Accounts, Duration::ZERO, move || of_writer.wait());
        door.reached(1).await;
        let asked = ask();
        door.open();
        held.await.unwrap().unwrap();
        for answer in asked {
            answer.await.unwrap().unwrap();
        }
    }

    /// Returns how many requests of `app` ran before each of those of the other app.
    fn before_each(&self, app: App, of_other: App) -> Vec<usize> {
        let (mut ran, mut before) = (0, Vec::new());
        for done in self.done.lock().iter().flatten() {
            if *done == app {
                ran += 1;
            } else if *done == of_other {
                before.push(ran);
            }
        }
        before
    }
}

#[tokio::test]
async fn slow_requests_of_one_app_leave_another_app_equal_time() {
    let timed = Timed::start();
    timed
        .run(|| {
            let slow = (0..10).map(|_| timed.ask(App::Rides, SLOW, || {}));
            let fast = (0..700).map(|_| timed.ask(App::Links, FAST, || {}));
            slow.chain(fast).collect()
        })
        .await;
    let before = timed.before_each(App::Links, App::Rides);
    let between: Vec<_> = before.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(between.iter().all(|fast| (69..=71).contains(fast)), "{before:?}");
}

#[tokio::test]
async fn an_idle_app_waits_for_at_most_one_slow_request_of_another() {
    let timed = Arc::new(Timed::start());
    let (send, late) = channel();
    timed
        .run(|| {
            // The third slow request is running when the other app sends its requests.
            let of_third = Arc::clone(&timed);
            let third = move || {
                for _ in 0..45 {
                    send.send(of_third.ask(App::Links, FAST, || {})).unwrap();
                }
            };
            let slow = || timed.ask(App::Rides, SLOW, || {});
            vec![slow(), slow(), timed.ask(App::Rides, SLOW, third), slow(), slow(), slow()]
        })
        .await;
    for answer in late {
        answer.await.unwrap().unwrap();
    }
    let done = timed.done.lock();
    let slow = [Some(App::Rides), None].repeat(3);
    // Ten fast requests fill a group; the last five, which do not, do not wait for the next slow one.
    let group = |fast| [vec![Some(App::Links); fast], vec![None]].concat();
    assert_eq!(done[2..], [slow.clone(), group(10).repeat(4), group(5), slow].concat());
}

#[tokio::test]
async fn a_long_idle_app_cannot_monopolize_the_writer() {
    let timed = Timed::start();
    timed.run(|| (0..100).map(|_| timed.ask(App::Rides, SLOW, || {})).collect()).await;
    timed.done.lock().clear();
    timed
        .run(|| {
            let slow = [timed.ask(App::Rides, SLOW, || {})];
            let fast = (0..900).map(|_| timed.ask(App::Links, FAST, || {}));
            slow.into_iter().chain(fast).collect()
        })
        .await;
    let before = timed.before_each(App::Links, App::Rides);
    assert!(before.iter().all(|fast| *fast <= 201), "{before:?}");
}

#[tokio::test]
async fn a_group_that_cannot_begin_is_unavailable_and_the_next_is_served() {
    let mut connection = Connection::open_in_memory().unwrap();
    let denies = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&denies);
    let deny = move |context: AuthContext<'_>| match context.action {
        AuthAction::Transaction { operation: TransactionOperation::Begin }
            if asked.load(Ordering::SeqCst) =>
        {
            Authorization::Deny
        }
        _ => Authorization::Allow,
    };
    connection.authorizer(Some(deny)).unwrap();
    let timed = Timed::start_on(connection);
    let refused = timed.ask(App::Rides, FAST, || {}).await.unwrap();
    assert!(is_unavailable(&refused), "{refused:?}");
    denies.store(false, Ordering::SeqCst);
    timed.ask(App::Rides, FAST, || {}).await.unwrap().unwrap();
    assert_eq!(*timed.done.lock(), [Some(App::Rides), None]);
}
