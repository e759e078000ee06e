//! The promises of the connection pools.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicU32, Ordering},
        mpsc::{Sender, channel},
    },
    time::Duration,
};

use lodge_domain::{Error, Result};
use lodge_engines::mariadb::{MariaDb, Options};
use lodge_sql::{App, Failure, ReadKind, Statement, Tx, Value};
use mysql::prelude::Queryable as _;
use tokio::task::JoinHandle;

use super::{admin, empty_database, text};
use crate::redis::within;

const ADD: Statement = text("INSERT INTO counters (id, number) VALUES (?, 0)");
const COUNT: Statement = text("UPDATE counters SET number = number + 1 WHERE id = ?");
const NUMBER: Statement = text("SELECT number FROM counters WHERE id = ?");
const CONNECTION: Statement = text("SELECT CONNECTION_ID()");
const ENDLESS: Statement = text("SELECT seq FROM seq_1_to_1000000000000 WHERE MD5(seq) = ''");

/// The pools on a database of their own, with the counters 1 and 2.
struct Pool {
    mariadb: MariaDb,
    options: Options,
}

impl Pool {
    async fn start(name: &str, change: impl FnOnce(Options) -> Options) -> Self {
        let options = change(empty_database(name));
        let counters = "CREATE TABLE counters (id BIGINT PRIMARY KEY, number BIGINT NOT NULL)";
        admin(&options, name).query_drop(counters).unwrap();
        let mariadb = MariaDb::connect(options.clone()).await.unwrap();
        let pool = Self { mariadb, options };
        pool.write(|tx| add(tx, 1)).await.unwrap();
        pool.write(|tx| add(tx, 2)).await.unwrap();
        pool
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.mariadb.database().write(App::Accounts, work).await
    }

    async fn number(&self, id: i64) -> Option<i64> {
        let read = move |tx: &mut dyn Tx| tx.one(&NUMBER, &[Value::Int(id)], |row| row.get(0));
        self.mariadb.database().read(App::Accounts, ReadKind::ByKey, read).await.unwrap()
    }

    /// Keeps the one writer busy until the sender is dropped.
    async fn occupy(&self) -> (Sender<()>, JoinHandle<Result<()>>) {
        let (go_on, wait) = channel::<()>();
        let (begun, has_begun) = channel();
        let mariadb = self.mariadb.clone();
        let work = move |_: &mut dyn Tx| {
            let _ = begun.send(());
            let _ = wait.recv();
            Ok(())
        };
        let running =
            tokio::spawn(async move { mariadb.database().write(App::Accounts, work).await });
        tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
        (go_on, running)
    }

    /// The number of the pools' connections on the server.
    fn connections(&self) -> usize {
        let of_pool = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = ?";
        let database = (&self.options.database,);
        admin(&self.options, "").exec_first(of_pool, database).unwrap().unwrap()
    }
}

fn add(tx: &mut dyn Tx, id: i64) -> Result<Option<i64>, Failure> {
    tx.insert(&ADD, &[Value::Int(id)])
}

fn count(tx: &mut dyn Tx, id: i64) -> Result<u64, Failure> {
    tx.execute(&COUNT, &[Value::Int(id)])
}

fn one_writer(options: Options) -> Options {
    Options { writers: 1, queue_per_app: 1, ..options }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_transactions_in_a_deadlock_one_runs_again_and_both_commit() {
    let pool = Pool::start("lodge_deadlock", |options| options).await;
    let (both, runs) = (Arc::new(Barrier::new(2)), Arc::new(AtomicU32::new(0)));
    let in_order = |first, second| {
        let (both, runs) = (Arc::clone(&both), Arc::clone(&runs));
        pool.write(move |tx| {
            count(tx, first)?;
            if runs.fetch_add(1, Ordering::SeqCst) < 2 {
                both.wait();
            }
            count(tx, second)
        })
    };
    let (one, two) = tokio::join!(in_order(1, 2), in_order(2, 1));
    assert_eq!((one.unwrap(), two.unwrap()), (1, 1));
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    assert_eq!((pool.number(1).await, pool.number(2).await), (Some(2), Some(2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_always_waits_for_a_lock_is_given_up() {
    let pool = Pool::start("lodge_locked", |options| options).await;
    let mut other = admin(&pool.options, "lodge_locked");
    other.query_drop("BEGIN").unwrap();
    other.query_drop("UPDATE counters SET number = 7 WHERE id = 1").unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let refused = pool.write(move |tx| {
        counted.fetch_add(1, Ordering::SeqCst);
        count(tx, 1)
    });
    assert!(matches!(refused.await, Err(Error::Unavailable { .. })));
    assert_eq!(runs.load(Ordering::SeqCst), 4);
    other.query_drop("ROLLBACK").unwrap();
    assert_eq!(pool.write(|tx| count(tx, 1)).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_transaction_is_rolled_back() {
    let pool = Pool::start("lodge_refused", one_writer).await;
    let refused = pool.write(|tx| {
        count(tx, 1)?;
        Err::<(), _>(Error::conflict("on purpose").into())
    });
    assert!(matches!(refused.await, Err(Error::Conflict(_))));
    // On the same connection.
    pool.write(|tx| count(tx, 2)).await.unwrap();
    assert_eq!((pool.number(1).await, pool.number(2).await), (Some(0), Some(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duplicate_key_undoes_only_the_insert() {
    let pool = Pool::start("lodge_taken", one_writer).await;
    let taken = pool.write(|tx| {
        count(tx, 1)?;
        add(tx, 2)
    });
    assert_eq!(taken.await.unwrap(), None);
    assert_eq!(pool.number(1).await, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_panics_is_rolled_back_and_the_next_one_runs() {
    let pool = Pool::start("lodge_panic", one_writer).await;
    let panicked = pool.write(|tx| -> Result<(), Failure> {
        count(tx, 1)?;
        panic!("on purpose")
    });
    assert!(matches!(panicked.await, Err(Error::Internal(_))));
    assert_eq!(pool.write(|tx| count(tx, 1)).await.unwrap(), 1);
    assert_eq!(pool.number(1).await, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_refuses_requests_and_runs_the_waiting_ones() {
    let pool = Pool::start("lodge_full", one_writer).await;
    let (go_on, running) = pool.occupy().await;
    let (waits, refused, finish) = tokio::join!(
        biased;
        pool.write(|tx| count(tx, 1)),
        pool.write(|tx| count(tx, 2)),
        async {
            drop(go_on);
            running.await.unwrap()
        },
    );
    assert!(matches!(refused, Err(Error::Unavailable { .. })));
    assert!(waits.is_ok() && finish.is_ok());
    assert_eq!((pool.number(1).await, pool.number(2).await), (Some(1), Some(0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_request_is_not_run() {
    let pool = Pool::start("lodge_abandoned", one_writer).await;
    let (go_on, running) = pool.occupy().await;
    let abandoned = tokio::time::timeout(Duration::ZERO, pool.write(|tx| count(tx, 1)));
    assert!(abandoned.await.is_err());
    drop(go_on);
    running.await.unwrap().unwrap();
    pool.write(|tx| count(tx, 2)).await.unwrap();
    assert_eq!((pool.number(1).await, pool.number(2).await), (Some(0), Some(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_read_delays_no_write_and_no_lookup() {
    let one_each = |options| Options { writers: 1, readers: 1, scanners: 1, ..options };
    let pool = Pool::start("lodge_long", one_each).await;
    let (go_on, wait) = channel::<()>();
    let mariadb = pool.mariadb.clone();
    let long = move |_: &mut dyn Tx| Ok(wait.recv().is_err());
    let reading =
        tokio::spawn(
            async move { mariadb.database().read(App::Accounts, ReadKind::Scan, long).await },
        );
    let others = async {
        pool.write(|tx| count(tx, 1)).await.unwrap();
        pool.number(1).await
    };
    let number = tokio::time::timeout(Duration::from_secs(10), others).await;
    assert_eq!(number.unwrap(), Some(1));
    drop(go_on);
    assert!(reading.await.unwrap().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_writes_is_refused() {
    let pool = Pool::start("lodge_reads", |options| options).await;
    let written =
        pool.mariadb.database().read(App::Accounts, ReadKind::ByKey, |tx| count(tx, 1)).await;
    assert!(matches!(written, Err(Error::Internal(_))));
    assert_eq!(pool.number(1).await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_is_ended() {
    let short = |options| Options { statement_wait: Duration::from_secs(1), ..options };
    let pool = Pool::start("lodge_endless", short).await;
    let endless = |tx: &mut dyn Tx| tx.exists(&ENDLESS, &[]);
    let ended = pool.mariadb.database().read(App::Accounts, ReadKind::Scan, endless).await;
    assert!(matches!(ended, Err(Error::Unavailable { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_connection_is_lost_runs_again() {
    let pool = Pool::start("lodge_lost", one_writer).await;
    let (tell, told) = channel();
    let (go_on, wait) = channel::<()>();
    let mariadb = pool.mariadb.clone();
    let work = move |tx: &mut dyn Tx| {
        count(tx, 1)?;
        let connection = tx.one(&CONNECTION, &[], |row| row.get::<i64>(0))?;
        let _ = tell.send(connection.unwrap());
        let _ = wait.recv();
        count(tx, 2)
    };
    let running = tokio::spawn(async move { mariadb.database().write(App::Accounts, work).await });
    let connection = tokio::task::spawn_blocking(move || told.recv().unwrap()).await.unwrap();
    admin(&pool.options, "").query_drop(format!("KILL {connection}")).unwrap();
    drop(go_on);
    assert_eq!(running.await.unwrap().unwrap(), 1);
    assert_eq!(
        (pool.number(1).await, pool.number(2).await),
        (Some(1), Some(1)),
        "its first run is rolled back"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_failures_nor_closing_leak_a_connection() {
    let pool = Pool::start("lodge_leaks", one_writer).await;
    for _ in 0..20 {
        let refused = pool.write(|_| Err::<(), _>(Error::conflict("on purpose").into()));
        assert!(refused.await.is_err());
        let panicked = pool.write(|_| -> Result<(), Failure> { panic!("on purpose") });
        assert!(panicked.await.is_err());
        let wrong = pool.write(|tx| tx.execute(&text("no statement"), &[]));
        assert!(wrong.await.is_err());
    }
    pool.write(|tx| count(tx, 1)).await.unwrap();
    pool.number(1).await;
    // The server needs a moment to close a connection.
    within(Duration::from_secs(10), async || pool.connections() == 2).await;
    let mariadb = pool.mariadb.clone();
    assert!(tokio::task::spawn_blocking(move || mariadb.close()).await.unwrap());
    within(Duration::from_secs(10), async || pool.connections() == 0).await;
    let late = pool.write(|tx| count(tx, 1)).await;
    assert!(matches!(late, Err(Error::Unavailable { .. })));
}
