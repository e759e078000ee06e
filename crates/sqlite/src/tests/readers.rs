//! The reader threads.

use std::{sync::Arc, task::Poll, time::Duration};

use futures_util::poll;
use lodge_contract::samples::fresh_owner;
use lodge_domain::{
    Error,
    board::{BoardMembers, Channels, EventLog, EventRange, Slug},
    links::LinkQuery,
};
use lodge_sql::App;
use rusqlite::Connection;
use tokio::{sync::oneshot, time::timeout};

use super::{board, create, is_there, is_unavailable, open, thread_gate::ThreadGate};
use crate::{
    Options,
    engine::{BOARD_READERS, Engine},
    failure::Failure,
    readers::{Readers, Size},
};

const THREADS: usize = 3;
const QUEUE: usize = 5;

/// Blocks all reader threads.
async fn hold_all(engine: &Arc<Engine>) -> ThreadGate {
    hold(engine, THREADS, |engine| &engine.readers).await
}

/// Blocks this many threads of a pool.
async fn hold(
    engine: &Arc<Engine>,
    threads: usize,
    of: impl Fn(&Engine) -> &Readers + Copy + Send + 'static,
) -> ThreadGate {
    let door = ThreadGate::default();
    for _ in 0..threads {
        let (door, engine) = (door.clone(), Arc::clone(engine));
        tokio::spawn(async move { of(&engine).read(App::Links, waiting_at(door)).await });
    }
    door.reached(threads).await;
    door
}

fn waiting_at(
    door: ThreadGate,
) -> impl FnOnce(&Connection) -> Result<(), Failure> + Send + 'static {
    move |_| {
        door.wait();
        Ok(())
    }
}

#[expect(clippy::unnecessary_wraps, reason = "work for readers returns a result")]
fn nothing(_: &Connection) -> Result<(), Failure> {
    Ok(())
}

/// A fault of the seed system: failed requests kept their connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_never_use_up_the_reader_threads() {
    let options = Options { reader_threads: THREADS, reader_queue: QUEUE, ..Options::default() };
    let (engine, _folder) = open(&options);
    for round in 0..20 {
        for number in 0..THREADS {
            let failed = if (round + number) % 2 == 0 {
                engine.readers.read::<()>(App::Links, |_| Err(Error::internal("no").into())).await
            } else {
                engine.readers.read::<()>(App::Links, |_| panic!("a defect of one request")).await
            };
            assert!(matches!(failed, Err(Error::Internal(_))));
        }
        let door = hold_all(&engine).await;
        for _ in 0..THREADS {
            // Cancelled.
            let mut cancelled = Box::pin(engine.readers.read(App::Links, nothing));
            assert!(matches!(poll!(&mut cancelled), Poll::Pending));
            drop(cancelled);
        }
        // Times out.
        assert!(
            timeout(Duration::from_millis(1), engine.readers.read(App::Links, nothing))
                .await
                .is_err()
        );
        door.open();
        engine.readers.read(App::Links, nothing).await.unwrap();
    }
    // All threads and all places in the queue are available.
    let door = hold_all(&engine).await;
    let mut waiting: Vec<_> =
        (0..QUEUE).map(|_| Box::pin(engine.readers.read(App::Links, nothing))).collect();
    for one in &mut waiting {
        assert!(matches!(poll!(one), Poll::Pending));
    }
    assert!(is_unavailable(&engine.readers.read(App::Links, nothing).await), "the queue is full");
    door.open();
    for one in waiting {
        one.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn busy_board_readers_do_not_delay_redirects() {
    let options = Options { reader_threads: 1, reader_queue: QUEUE, ..Options::default() };
    let (engine, _folder) = open(&options);
    let short = create(&engine).await.unwrap();
    let board = board(&engine);
    let door = hold(&engine, BOARD_READERS, |engine| &engine.board).await;
    let asked = || board.events(Slug::lobby(), EventRange::Tail, 1);
    let mut waiting: Vec<_> = (0..QUEUE).map(|_| asked()).collect();
    for one in &mut waiting {
        assert!(matches!(poll!(one), Poll::Pending));
    }
    assert!(is_unavailable(&asked().await), "the queue is full");
    assert!(is_unavailable(&Channels::list(&board).await));
    assert!(is_unavailable(&board.banned().await));
    for _ in 0..2 * QUEUE {
        assert!(is_there(&engine, &short).await);
    }
    door.open();
    for one in waiting {
        one.await.unwrap();
    }
}

/// A query without end.
const ENDLESS: &str =
    "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";

/// A pool of one thread, whose reads may take so long.
fn one_thread(engine: &Engine, time_max: Duration) -> Readers {
    let size = Size { threads: 1, queue: QUEUE, page_cache_bytes: 64 << 10, time_max };
    Readers::start(&engine.file, size).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_and_exports_do_not_delay_lists() {
    let (engine, _folder) = open(&Options::default());
    let held = [
        hold(&engine, 1, |engine| &engine.link_searches).await,
        hold(&engine, 1, |engine| &engine.exports).await,
    ];
    let links = crate::Sqlite(Arc::clone(&engine)).links();
    let list = |search: Option<&str>, prefix: Option<&str>| {
        let [search, prefix] = [search, prefix].map(|text| text.map(str::to_owned));
        let owner = fresh_owner();
        links.list(LinkQuery { owner, after: None, tag: None, prefix, search, limit: 1 })
    };
    let mut slow = [list(Some("word"), None), list(None, Some("prefix")), links.page(None, 1)];
    for read in &mut slow {
        assert!(poll!(read).is_pending());
    }
    assert_eq!(list(None, None).await.unwrap(), []);
    held.iter().for_each(ThreadGate::open);
    for read in slow {
        assert_eq!(read.await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_ends_when_its_caller_leaves() {
    let (engine, _folder) = open(&Options::default());
    let readers = one_thread(&engine, Duration::from_hours(1));
    let (tell, has_begun) = oneshot::channel();
    let endless = move |connection: &Connection| {
        tell.send(()).unwrap();
        Ok(connection.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?)
    };
    let mut left = Box::pin(readers.read(App::Links, endless));
    assert!(poll!(&mut left).is_pending());
    has_begun.await.unwrap();
    drop(left);
    let next = timeout(Duration::from_secs(10), readers.read(App::Links, nothing)).await;
    next.expect("the thread is free").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_past_its_time_is_refused_and_leaves_no_transaction() {
    let (engine, _folder) = open(&Options::default());
    let readers = one_thread(&engine, Duration::from_millis(20));
    let endless = |connection: &Connection| {
        let snapshot = connection.unchecked_transaction()?;
        Ok(snapshot.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?)
    };
    assert!(is_unavailable(&readers.read(App::Links, endless).await));
    let is_free = |connection: &Connection| Ok(connection.is_autocommit());
    assert!(readers.read(App::Links, is_free).await.unwrap());
}
