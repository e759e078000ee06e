//! The length and the content of the write-ahead log.

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use lodge_contract::{
    board::{message, new_actor},
    samples::{BEGIN, at},
};
use lodge_domain::{
    accounts::Role,
    board::{Action, BoardLog as _, Body, Slug},
};
use lodge_sql::App;
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use tokio::task::JoinSet;

use super::{board, create, execute, is_there, is_unavailable, open};
use crate::{Options, engine::Engine};

fn options() -> Options {
    Options {
        wal_checkpoint_bytes: 64 << 10,
        wal_restart_bytes: 256 << 10,
        wal_bytes_max: 1 << 20,
        ..Options::default()
    }
}

fn length(engine: &Engine) -> u64 {
    fs::metadata(engine.file.with_extension("db-wal")).unwrap().len()
}

/// Writes 16 KiB.
async fn write_much(engine: &Engine, number: u32) -> lodge_domain::Result<()> {
    let write = move |connection: &Connection| {
        let sql = "INSERT INTO meta (name, value) VALUES (?1, zeroblob(16384))";
        connection.prepare_cached(sql)?.execute([number.to_string()])?;
        Ok(())
    };
    engine.writer.write(App::Links, write).await
}

#[tokio::test]
async fn the_log_stays_short_under_steady_writes() {
    let (engine, _folder) = open(&options());
    for number in 0..400 {
        write_much(&engine, number).await.unwrap();
        // From 256 KiB it should restart. Writes go on while long reads are paused for that, however long the thread that
        // pauses them waits for a core.
        assert!(length(&engine) < options().wal_bytes_max, "{}", length(&engine));
    }
}

#[tokio::test]
async fn a_long_read_bounds_the_log_and_then_the_writes() {
    let (engine, _folder) = open(&options());
    let first = create(&engine).await.unwrap();
    let reader = Connection::open(&engine.file).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM meta", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let before = count(&reader);

    let mut written = 0;
    let refused = loop {
        let answer = write_much(&engine, written).await;
        if is_unavailable(&answer) {
            break answer;
        }
        answer.unwrap();
        written += 1;
        assert!(length(&engine) < (1 << 20) + (128 << 10), "{}", length(&engine));
    };
    assert!(length(&engine) >= 1 << 20, "refused too early: {}", length(&engine));
    assert!(is_unavailable(&refused));
    // Reads still work, the long one and others.
    assert_eq!(count(&reader), before);
    assert!(is_there(&engine, &first).await);

    reader.execute_batch("COMMIT").unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_unavailable(&write_much(&engine, 1_000_000).await) {
        assert!(Instant::now() < deadline, "writes are refused for ever");
    }
    write_much(&engine, 1_000_001).await.unwrap();
    assert!(length(&engine) <= 512 << 10, "{}", length(&engine));
    assert_eq!(count(&reader), before + i64::from(written) + 2);
}

/// Returns whether a text is in one of the database's files.
fn is_in_files(engine: &Engine, text: &str) -> bool {
    // In this order: a checkpoint copies from the log to the database.
    let files = [engine.file.with_extension("db-wal"), engine.file.clone()];
    files.iter().any(|file| {
        fs::read(file)
            .unwrap()
            .windows(text.len())
            .any(|part| part.eq_ignore_ascii_case(text.as_bytes()))
    })
}

/// Runs something until a text is in none of the files.
async fn until_erased(engine: &Engine, text: &str, mut meanwhile: impl AsyncFnMut()) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_in_files(engine, text) {
        assert!(Instant::now() < deadline, "{text} is still there");
        meanwhile().await;
    }
}

fn erasing_soon() -> Options {
    Options { wal_age_max: Duration::from_millis(20), ..Options::default() }
}

#[tokio::test]
async fn a_deleted_message_leaves_the_files() {
    let (engine, _folder) = open(&erasing_soon());
    let (board, by) = (board(&engine), new_actor(Role::Member));
    let sent = message(&Slug::lobby(), &format!("xylophonequagga {}", "wombat ".repeat(250)));
    let id = board.post(sent, by.clone(), BEGIN).await.unwrap().event().id;
    assert!(is_in_files(&engine, "xylophonequagga"));
    let edited = Action::Edit(Body::parse("jodhpurszucchini").unwrap());
    board.apply(Slug::lobby(), id, edited, by.clone(), at(1)).await.unwrap().unwrap();
    assert!(is_in_files(&engine, "jodhpurszucchini"));
    board.apply(Slug::lobby(), id, Action::Delete, by, at(2)).await.unwrap().unwrap();
    for text in ["xylophonequagga", "wombat", "jodhpurszucchini"] {
        until_erased(&engine, text, tokio::task::yield_now).await;
    }
}

#[tokio::test]
async fn deleted_content_leaves_the_files_under_steady_writes() {
    let (engine, _folder) = open(&erasing_soon());
    execute(&engine, "INSERT INTO meta VALUES ('a', CAST('xylophonequagga' AS BLOB))")
        .await
        .unwrap();
    execute(&engine, "DELETE FROM meta WHERE name = 'a'").await.unwrap();
    let (engine, mut number) = (&engine, 0);
    until_erased(engine, "xylophonequagga", async || {
        number += 1;
        write_much(engine, number).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_long_read_delays_the_truncation() {
    let (engine, _folder) = open(&erasing_soon());
    let reader = Connection::open(&engine.file).unwrap();
    execute(&engine, "INSERT INTO meta VALUES ('a', CAST('xylophonequagga' AS BLOB))")
        .await
        .unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM meta", [], |_| Ok(())).unwrap();
    execute(&engine, "DELETE FROM meta WHERE name = 'a'").await.unwrap();
    for number in 0..20 {
        write_much(&engine, number).await.unwrap();
    }
    assert!(is_in_files(&engine, "xylophonequagga"), "the reader may need it");
    reader.execute_batch("COMMIT").unwrap();
    until_erased(&engine, "xylophonequagga", tokio::task::yield_now).await;
}

#[tokio::test]
async fn a_truncation_that_a_writer_prevents_is_done_before_the_next_write() {
    let (engine, _folder) = open(&erasing_soon());
    execute(&engine, "INSERT INTO meta VALUES ('a', CAST('xylophonequagga' AS BLOB))")
        .await
        .unwrap();
    execute(&engine, "DELETE FROM meta WHERE name = 'a'").await.unwrap();
    let busy = Connection::open(&engine.file).unwrap();
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_in_files(&engine, "xylophonequagga") && !engine.checkpoints.is_truncation_due() {
        assert!(Instant::now() < deadline, "no truncation was tried");
        tokio::task::yield_now().await;
    }
    busy.execute_batch("COMMIT").unwrap();
    write_much(&engine, 1).await.unwrap();
    assert!(!is_in_files(&engine, "xylophonequagga"));
}

/// How long a search keeps its snapshot: longer than a checkpoint waits for readers.
const SNAPSHOT: Duration = Duration::from_millis(300);

/// The searches of each of two pools that have begun.
#[derive(Default)]
struct Begun(Mutex<[u64; 2]>, Condvar);

impl Begun {
    /// Keeps a snapshot until the neighbour has a newer one, unless a pause delays that.
    fn search(&self, pool: usize, connection: &Connection) -> Result<(), crate::failure::Failure> {
        let snapshot = connection.unchecked_transaction()?;
        snapshot.query_row("SELECT count(*) FROM meta", [], |_| Ok(()))?;
        let (neighbour, since) = (1 - pool, Instant::now());
        let mut begun = self.0.lock();
        begun[pool] += 1;
        self.1.notify_all();
        let before = begun[neighbour];
        self.1.wait_while_until(&mut begun, |_| true, since + SNAPSHOT);
        let end = since + 2 * SNAPSHOT;
        self.1.wait_while_until(&mut begun, |begun| begun[neighbour] == before, end);
        Ok(())
    }
}

/// Starts searches that overlap, so that there is always a snapshot. They end when the tasks are dropped.
async fn overlapping_searches(engine: &Arc<Engine>) -> JoinSet<()> {
    let begun = Arc::<Begun>::default();
    let mut tasks = JoinSet::new();
    for pool in 0..2 {
        let (engine, begun) = (Arc::clone(engine), Arc::clone(&begun));
        tasks.spawn(async move {
            loop {
                let begun = Arc::clone(&begun);
                let searches = [&engine.link_searches, &engine.board_searches][pool];
                let search = move |connection: &Connection| begun.search(pool, connection);
                searches.read(App::Links, search).await.unwrap();
            }
        });
    }
    while begun.0.lock().contains(&0) {
        tokio::task::yield_now().await;
    }
    tasks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_that_follow_one_another_do_not_prevent_a_truncation() {
    let (engine, _folder) = open(&erasing_soon());
    let mut searches = overlapping_searches(&engine).await;
    execute(&engine, "INSERT INTO meta VALUES ('a', CAST('xylophonequagga' AS BLOB))")
        .await
        .unwrap();
    execute(&engine, "DELETE FROM meta WHERE name = 'a'").await.unwrap();
    // A search that begins after all of the log was copied does not need it.
    let (engine, mut number) = (&*engine, 0);
    until_erased(engine, "xylophonequagga", async || {
        number += 1;
        write_much(engine, number).await.unwrap();
    })
    .await;
    assert!(searches.try_join_next().is_none(), "a search failed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_that_follow_one_another_do_not_keep_the_log_from_restarting() {
    let (engine, _folder) = open(&Options { wal_bytes_max: 1 << 30, ..options() });
    let mut searches = overlapping_searches(&engine).await;
    let (mut longest, deadline) = (0, Instant::now() + Duration::from_secs(20));
    for number in 0.. {
        write_much(&engine, number).await.unwrap();
        let length = engine.checkpoints.length();
        if length < longest {
            break;
        }
        longest = length;
        assert!(Instant::now() < deadline, "the log has {length} bytes");
    }
    assert!(searches.try_join_next().is_none(), "a search failed");
}
