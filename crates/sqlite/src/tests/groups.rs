//! The writer's groups.

use std::{sync::Arc, time::Duration};

use lodge_domain::{Error, Result};
use lodge_sql::App;
use rusqlite::Connection;
use tokio::task::JoinHandle;

use super::{
    REFUSED_BY_COMMIT, create, execute, is_there, is_unavailable, open, thread_gate::ThreadGate,
    waiting,
};
use crate::{Options, engine::Engine, failure::Failure};

/// A request that blocks the writer.
pub(super) struct BlockedWriter {
    door: ThreadGate,
    request: JoinHandle<Result<()>>,
}

impl BlockedWriter {
    /// Unblocks the writer, and waits until the request is answered.
    pub(super) async fn release(self) {
        self.door.open();
        self.request.await.unwrap().unwrap();
    }
}

/// Blocks the writer, so that requests sent meanwhile run in one group.
pub(super) async fn block_writer(engine: &Arc<Engine>) -> BlockedWriter {
    let door = ThreadGate::default();
    let inside = door.clone();
    let hold = move |_: &Connection| {
        inside.wait();
        Ok(())
    };
    let request = ask(engine, App::Links, work(hold));
    door.reached(1).await;
    BlockedWriter { door, request }
}

type Work = Box<dyn FnOnce(&Connection) -> Result<(), Failure> + Send>;

fn work(work: impl FnOnce(&Connection) -> Result<(), Failure> + Send + 'static) -> Work {
    Box::new(work)
}

fn note(name: &'static str) -> Work {
    work(move |connection| {
        connection.execute("INSERT INTO meta (name, value) VALUES (?1, x'')", [name])?;
        Ok(())
    })
}

async fn notes(engine: &Engine) -> Vec<String> {
    let read = |connection: &Connection| {
        let mut statement = connection.prepare(
            "SELECT name FROM meta WHERE name NOT IN ('secret', 'accounts_id') ORDER BY name",
        )?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    };
    engine.readers.read(App::Links, read).await.unwrap()
}

fn ask(engine: &Arc<Engine>, app: App, work: Work) -> JoinHandle<Result<()>> {
    let engine = Arc::clone(engine);
    tokio::spawn(async move { engine.writer.write(app, work).await })
}

/// Runs all of `works` in one group; returns each reply.
async fn in_one_group(engine: &Arc<Engine>, works: Vec<Work>) -> Vec<Result<()>> {
    let held = block_writer(engine).await;
    let mut asked = Vec::new();
    for work in works {
        asked.push(ask(engine, App::Links, work));
        waiting(engine, App::Links, 1 + asked.len()).await;
    }
    held.release().await;
    let mut answers = Vec::new();
    for asked in asked {
        answers.push(asked.await.unwrap());
    }
    answers
}

#[tokio::test]
async fn a_refused_request_rolls_back_only_its_own_writes() {
    let (engine, _folder) = open(&Options::default());
    let refused = work(|connection| {
        connection.execute("INSERT INTO meta (name, value) VALUES ('refused', x'')", [])?;
        Err(Error::conflict("no").into())
    });
    let broken = work(|connection| {
        Ok(connection.execute_batch("INSERT INTO meta VALUES ('broken', x''); nonsense")?)
    });
    let panics = work(|connection| {
        connection.execute("INSERT INTO meta (name, value) VALUES ('panicked', x'')", [])?;
        panic!("a defect")
    });
    let answers = in_one_group(
        &engine,
        vec![note("a"), refused, note("b"), broken, note("c"), panics, note("d")],
    )
    .await;
    assert!(matches!(
        answers[..],
        [
            Ok(()),
            Err(Error::Conflict(_)),
            Ok(()),
            Err(Error::Internal(_)),
            Ok(()),
            Err(Error::Internal(_)),
            Ok(())
        ]
    ));
    assert_eq!(notes(&engine).await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_failed_commit_is_unavailable_for_the_whole_group() {
    let (engine, _folder) = open(&Options::default());
    execute(&engine, REFUSED_BY_COMMIT).await.unwrap();
    let fails_at_commit =
        work(|connection| Ok(connection.execute_batch("INSERT INTO child VALUES (1)")?));
    let refused = work(|_| Err(Error::conflict("depends on a lost write").into()));
    let answers = in_one_group(&engine, vec![note("a"), fails_at_commit, refused, note("b")]).await;
    assert!(answers.iter().all(is_unavailable), "{answers:?}");
    assert_eq!(notes(&engine).await, [""; 0]);
    engine.writer.write(App::Links, note("next")).await.unwrap();
    assert_eq!(notes(&engine).await, ["next"]);
}

#[tokio::test]
async fn requests_that_a_failed_group_did_not_run_are_done_in_the_next() {
    let (engine, _folder) = open(&Options::default());
    let held = block_writer(&engine).await;
    // SQLite does this by itself when a read fails.
    let ends_the_transaction = work(|connection| {
        connection.execute_batch("ROLLBACK")?;
        Err(Error::internal("a failed read").into())
    });
    // Runs first, because its app has used less of the writer's time.
    let failed = ask(&engine, App::Accounts, ends_the_transaction);
    let other = ask(&engine, App::Links, note("of another app"));
    waiting(&engine, App::Links, 2).await;
    waiting(&engine, App::Accounts, 1).await;
    held.release().await;
    assert!(is_unavailable(&failed.await.unwrap()));
    other.await.unwrap().unwrap();
    assert_eq!(notes(&engine).await, ["of another app"]);
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_leaves_reads_alone() {
    let (engine, _folder) = open(&Options::default());
    let before = create(&engine).await.unwrap();
    let limit = |pages: &'static str| {
        work(move |connection| {
            let pages = if pages.is_empty() {
                connection.query_row("PRAGMA page_count", [], |row| row.get(0))?
            } else {
                pages.parse::<i64>().unwrap()
            };
            connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
            Ok(())
        })
    };
    engine.writer.write(App::Links, limit("")).await.unwrap();
    let mut last = None;
    loop {
        match create(&engine).await {
            Ok(short) => last = Some(short),
            Err(error) => {
                assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
                break;
            }
        }
    }
    assert!(is_there(&engine, &before).await);
    if let Some(last) = last {
        assert!(is_there(&engine, &last).await);
    }
    engine.writer.write(App::Links, limit("1000000")).await.unwrap();
    let after = create(&engine).await.unwrap();
    assert!(is_there(&engine, &after).await);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let (engine, _folder) = open(&Options { queue_per_app: 5, ..Options::default() });
    let held = block_writer(&engine).await;
    let asked = ["a", "b", "c", "d"].map(|name| ask(&engine, App::Links, note(name)));
    waiting(&engine, App::Links, 5).await;
    let refused = engine.writer.write(App::Links, note("e")).await;
    assert!(
        matches!(refused, Err(Error::Unavailable { retry_after, .. }) if retry_after == Duration::from_secs(1))
    );
    held.release().await;
    for asked in asked {
        asked.await.unwrap().unwrap();
    }
    assert_eq!(notes(&engine).await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_request_without_a_waiting_caller_is_not_run() {
    let (engine, _folder) = open(&Options::default());
    let held = block_writer(&engine).await;
    let gone = ask(&engine, App::Links, note("gone"));
    waiting(&engine, App::Links, 2).await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    held.release().await;
    engine.writer.write(App::Links, note("here")).await.unwrap();
    assert_eq!(notes(&engine).await, ["here"]);
}
