//! The writer's groups.

use std::{sync::Arc, time::Duration};

use lodge_domain::{Error, Result};
use lodge_sql::App;
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use tokio::task::JoinHandle;

use super::{create, is_there, is_unavailable, open};
use crate::{Options, engine::Engine, failure::Failure};

/// Holds the writer, so that what is asked for meanwhile ends up in one group.
#[derive(Clone, Default)]
pub(super) struct Barrier(Arc<(Mutex<[bool; 2]>, Condvar)>);

impl Barrier {
    pub(super) fn set(&self, step: usize) {
        self.0.0.lock()[step] = true;
        self.0.1.notify_all();
    }

    pub(super) fn wait(&self, step: usize) {
        let mut steps = self.0.0.lock();
        while !steps[step] {
            assert!(!self.0.1.wait_for(&mut steps, Duration::from_secs(10)).timed_out());
        }
    }

    /// Waits without blocking the runtime.
    pub(super) async fn reached(&self, step: usize) {
        let barrier = self.clone();
        tokio::task::spawn_blocking(move || barrier.wait(step)).await.unwrap();
    }
}

/// Holds the writer until the returned barrier's second step.
pub(super) async fn held(engine: &Arc<Engine>) -> Barrier {
    let (barrier, of_writer) = (Barrier::default(), Arc::clone(engine));
    let inside = barrier.clone();
    tokio::spawn(async move {
        let hold = move |_: &Connection| {
            inside.set(0);
            inside.wait(1);
            Ok(())
        };
        of_writer.writer.write(App::Links, hold).await
    });
    barrier.reached(0).await;
    barrier
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
        let mut statement =
            connection.prepare("SELECT name FROM meta WHERE name <> 'secret' ORDER BY name")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    };
    engine.readers.read(App::Links, read).await.unwrap()
}

fn ask(engine: &Arc<Engine>, work: Work) -> JoinHandle<Result<()>> {
    let engine = Arc::clone(engine);
    tokio::spawn(async move { engine.writer.write(App::Links, work).await })
}

/// Runs all of `works` in one group, and says what each was answered.
async fn in_one_group(engine: &Arc<Engine>, works: Vec<Work>) -> Vec<Result<()>> {
    let barrier = held(engine).await;
    let mut asked = Vec::new();
    for work in works {
        let before = engine.writer.waiting(App::Links);
        asked.push(ask(engine, work));
        while engine.writer.waiting(App::Links) == before {
            tokio::task::yield_now().await;
        }
    }
    barrier.set(1);
    let mut answers = Vec::new();
    for asked in asked {
        answers.push(asked.await.unwrap());
    }
    answers
}

#[tokio::test]
async fn a_refused_request_undoes_only_its_own() {
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
    let tables = "CREATE TABLE parent (id INTEGER PRIMARY KEY); \
        CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);";
    ask(&engine, work(move |connection| Ok(connection.execute_batch(tables)?)))
        .await
        .unwrap()
        .unwrap();
    // SQLite looks at a deferred constraint when it commits.
    let fails_at_commit =
        work(|connection| Ok(connection.execute_batch("INSERT INTO child VALUES (1)")?));
    let refused = work(|_| Err(Error::conflict("because of what is lost").into()));
    let answers = in_one_group(&engine, vec![note("a"), fails_at_commit, refused, note("b")]).await;
    assert!(answers.iter().all(is_unavailable), "{answers:?}");
    assert_eq!(notes(&engine).await, [""; 0]);
    ask(&engine, note("next")).await.unwrap().unwrap();
    assert_eq!(notes(&engine).await, ["next"]);
}

#[tokio::test]
async fn what_a_failed_group_had_not_run_is_done_in_the_next() {
    let (engine, _folder) = open(&Options::default());
    let barrier = Barrier::default();
    let holding = barrier.clone();
    let first = ask(
        &engine,
        work(move |_| {
            holding.set(0);
            holding.wait(1);
            Ok(())
        }),
    );
    barrier.reached(0).await;
    // As SQLite does by itself when it cannot read.
    let ends_the_transaction = work(|connection| {
        connection.execute_batch("ROLLBACK")?;
        Err(Error::internal("a failed read").into())
    });
    // Goes first, because its app has had less of the writer's time.
    let of_failing = Arc::clone(&engine);
    let failed =
        tokio::spawn(
            async move { of_failing.writer.write(App::Accounts, ends_the_transaction).await },
        );
    let other = ask(&engine, note("of another app"));
    while engine.writer.waiting(App::Links) < 2 || engine.writer.waiting(App::Accounts) < 1 {
        tokio::task::yield_now().await;
    }
    barrier.set(1);
    first.await.unwrap().unwrap();
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
    ask(&engine, limit("")).await.unwrap().unwrap();
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
    ask(&engine, limit("1000000")).await.unwrap().unwrap();
    let after = create(&engine).await.unwrap();
    assert!(is_there(&engine, &after).await);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let (engine, _folder) = open(&Options { queue_per_app: 5, ..Options::default() });
    let barrier = Barrier::default();
    let holding = barrier.clone();
    let first = ask(
        &engine,
        work(move |_| {
            holding.set(0);
            holding.wait(1);
            Ok(())
        }),
    );
    barrier.reached(0).await;
    let asked: Vec<_> =
        ["a", "b", "c", "d"].into_iter().map(|name| ask(&engine, note(name))).collect();
    while engine.writer.waiting(App::Links) < 5 {
        tokio::task::yield_now().await;
    }
    let refused = engine.writer.write(App::Links, note("e")).await;
    assert!(
        matches!(refused, Err(Error::Unavailable { retry_after, .. }) if retry_after == Duration::from_secs(1))
    );
    barrier.set(1);
    first.await.unwrap().unwrap();
    for asked in asked {
        asked.await.unwrap().unwrap();
    }
    assert_eq!(notes(&engine).await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn what_nobody_waits_for_is_not_done() {
    let (engine, _folder) = open(&Options::default());
    let barrier = Barrier::default();
    let holding = barrier.clone();
    let first = ask(
        &engine,
        work(move |_| {
            holding.set(0);
            holding.wait(1);
            Ok(())
        }),
    );
    barrier.reached(0).await;
    let gone = ask(&engine, note("gone"));
    while engine.writer.waiting(App::Links) < 2 {
        tokio::task::yield_now().await;
    }
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    barrier.set(1);
    first.await.unwrap().unwrap();
    ask(&engine, note("here")).await.unwrap().unwrap();
    assert_eq!(notes(&engine).await, ["here"]);
}
