//! Several origins in one store, as in a ring of databases.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use lodge_contract::{
    board::{message, new_actor},
    samples::BEGIN,
};
use lodge_domain::{
    accounts::Role,
    board::{
        Actor, BoardEvent, BoardLog, Cursor, EventId, EventLog, EventRange, Origin, Posted, Slug,
        Stamp,
    },
};
use lodge_sql::{App, SqlBoard};
use lodge_testbed::by_depth;
use proptest::{collection::vec, prelude::*, test_runner::TestCaseResult};
use rusqlite::Connection;

use super::{board, board_of, open, store_remote_event, written};
use crate::{Options, engine::Engine, origins};

/// A reader that follows a cursor and records the events.
struct Reader {
    cursor: Cursor,
    seen: Vec<BoardEvent>,
}

impl Reader {
    fn new() -> Self {
        Self { cursor: Cursor::default(), seen: Vec::new() }
    }

    /// Reads a page; returns whether there is more.
    async fn read(&mut self, board: &SqlBoard, limit: usize) -> bool {
        // Round trip through text, the form in which clients store cursors.
        let cursor = self.cursor.to_string().parse().unwrap();
        let page = board.events(Slug::lobby(), EventRange::After(cursor), limit).await.unwrap();
        self.seen.extend(page.events);
        self.cursor = page.cursor;
        page.more
    }

    /// Checks that each event arrived once, those of an origin in order; returns the events in the order of display.
    fn check(&self, all: &[EventId]) -> Result<Vec<EventId>, TestCaseError> {
        for event in &self.seen {
            let id = event.id;
            let of_origin = self.seen.iter().filter(|seen| seen.id.origin == id.origin);
            let before = of_origin.take_while(|seen| seen.id != id).count() as u64;
            prop_assert_eq!(before + 1, id.seq, "{:?}", id);
        }
        let mut shown = self.seen.clone();
        shown.sort_unstable_by_key(BoardEvent::sort_key);
        let shown: Vec<_> = shown.into_iter().map(|event| event.id).collect();
        let mut ids = shown.clone();
        ids.sort_unstable();
        prop_assert_eq!(&ids[..], all);
        Ok(shown)
    }
}

fn origin(number: u32) -> Origin {
    Origin::new(1_000 - number).unwrap()
}

/// Stores a message that an origin has written in another database.
fn store_message(connection: &Connection, place: (EventId, Stamp), by: &Actor) {
    let client_id = message(&Slug::lobby(), "x").client_id;
    store_remote_event(connection, place, &written("x"), Some(&client_id), by);
}

/// Each origin has a clock that is up to five seconds wrong. Its events arrive in order, interleaved with those of
/// other origins; readers read at any time, in pages of any length.
async fn converge(
    skews_ms: [i64; 3],
    writes: &[(usize, i64)],
    reads: &[(usize, usize)],
) -> TestCaseResult {
    let (engine, _folder) = open(&Options::default());
    let by = new_actor(Role::Member);
    let board = board(&engine);
    let (mut lasts, mut all) = ([None::<Stamp>; 3], Vec::new());
    let mut seqs = [0; 3];
    let mut readers = [Reader::new(), Reader::new(), Reader::new()];
    for number in 0..3 {
        let add = move |connection: &Connection| Ok(origins::add(connection, origin(number))?);
        engine.writer.write(App::Board, add).await.unwrap();
    }
    let mut reads = reads.iter().cycle();
    for (place, (which, clock_ms)) in writes.iter().enumerate() {
        let now = BEGIN + SignedDuration::from_millis(clock_ms + skews_ms[*which]);
        let at = Stamp::after(lasts[*which], now);
        (lasts[*which], seqs[*which]) = (Some(at), seqs[*which] + 1);
        let id = EventId { origin: origin(u32::try_from(*which).unwrap()), seq: seqs[*which] };
        all.push(id);
        let by = by.clone();
        let arrived = move |connection: &Connection| {
            store_message(connection, (id, at), &by);
            Ok(())
        };
        engine.writer.write(App::Board, arrived).await.unwrap();
        if place % 3 == 0
            && let Some((reader, limit)) = reads.next()
        {
            readers[*reader].read(&board, *limit).await;
        }
    }
    all.sort_unstable();
    let mut shown = Vec::new();
    for reader in &mut readers {
        while reader.read(&board, 4).await {}
        shown.push(reader.check(&all)?);
    }
    prop_assert!(shown.iter().all(|order| *order == shown[0]));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(by_depth(24, 240)))]
    #[test]
    fn all_readers_converge_to_one_order_and_no_cursor_skips_an_event(
        skews_ms in [-5_000_i64..5_000, -5_000_i64..5_000, -5_000_i64..5_000],
        writes in vec((0_usize..3, 0_i64..2_000), 0..40),
        reads in vec((0_usize..3, 1_usize..6), 1..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(converge(skews_ms, &writes, &reads))?;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_origins_in_one_store_are_serialized() {
    let (engine, _folder) = open(&Options::default());
    for number in 0..3 {
        let add = move |connection: &Connection| Ok(origins::add(connection, origin(number))?);
        engine.writer.write(App::Board, add).await.unwrap();
    }
    let mut writers = tokio::task::JoinSet::new();
    for (number, skew) in (0..).zip([-5, 0, 5]) {
        let (board, by) = (board_of(&engine, origin(number)), new_actor(Role::Member));
        writers.spawn(async move {
            let now: Timestamp = BEGIN + SignedDuration::from_secs(skew);
            for _ in 0..30 {
                let new = message(&Slug::lobby(), "x");
                let posted = board.post(new, by.clone(), now).await.unwrap();
                assert!(matches!(posted, Posted::New(_)));
            }
        });
    }
    let board = board_of(&engine, origin(0));
    let mut reader = Reader::new();
    while !writers.is_empty() {
        reader.read(&board, 7).await;
        while writers.try_join_next().is_some() {}
    }
    while reader.read(&board, 7).await {}
    let all: Vec<_> = (0..3)
        .rev()
        .flat_map(|n| (1..=30).map(move |seq| EventId { origin: origin(n), seq }))
        .collect();
    reader.check(&all).unwrap();
    // In one store no event is earlier than those stored before it, whatever its writer's clock says.
    assert!(reader.seen.is_sorted_by_key(BoardEvent::sort_key));
}

/// Adds open origins that each write a few events.
async fn many_origins(engine: &Arc<Engine>, origins: u32, each: u64) {
    let by = new_actor(Role::Member);
    let write = move |connection: &Connection| {
        for number in 0..origins {
            origins::add(connection, origin(number))?;
            for seq in 1..=each {
                let at = Stamp::after(None, BEGIN + SignedDuration::from_secs(seq.cast_signed()));
                store_message(connection, (EventId { origin: origin(number), seq }, at), &by);
            }
        }
        Ok(())
    };
    engine.writer.write(App::Board, write).await.unwrap();
}

#[tokio::test]
async fn a_reader_of_many_open_origins_reaches_the_end_or_gets_an_error() {
    let (engine, _folder) = open(&Options::default());
    let board = board(&engine);
    many_origins(&engine, 60, 3).await;
    let mut reader = Reader::new();
    for _ in 0..=60 * 3 / 7 {
        reader.read(&board, 7).await;
    }
    assert!(!reader.read(&board, 7).await, "the end is not reached");
    let all: Vec<_> = (0..60)
        .rev()
        .flat_map(|n| (1..=3).map(move |seq| EventId { origin: origin(n), seq }))
        .collect();
    reader.check(&all).unwrap();

    let (engine, _folder) = open(&Options::default());
    many_origins(&engine, 300, 1).await;
    let refused = board_of(&engine, engine.origin)
        .events(Slug::lobby(), EventRange::Tail, 500)
        .await
        .unwrap_err();
    assert_eq!(refused.to_string(), "cursor: names 300 origins, which do not fit into 1024 bytes");
}

#[tokio::test]
async fn a_restored_board_reuses_no_event_ids() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let by = new_actor(Role::Member);
    let post = async |board: &dyn BoardLog, text: &str| {
        let new = message(&Slug::lobby(), text);
        board.post(new, by.clone(), BEGIN).await.unwrap().event().id
    };
    let backup = first.path().join("backup.db");
    let engine = crate::Sqlite::open(first.path(), &Options::default()).unwrap();
    let board = engine.board_log();
    let kept = post(&*board, "kept").await;
    engine.backup(&backup).await.unwrap();
    let lost = post(&*board, "lost").await;
    let had = board.events(Slug::lobby(), EventRange::Tail, 10).await.unwrap().cursor;
    assert!(had.has(lost));
    engine.close().await.unwrap();

    let mut origins = vec![kept.origin];
    for _ in 0..2 {
        crate::restore(&backup, second.path()).unwrap();
        let engine = crate::Sqlite::open(second.path(), &Options::default()).unwrap();
        let board = engine.board_log();
        let new = post(&*board, "new").await;
        assert!(!origins.contains(&new.origin), "an origin was reused");
        origins.push(new.origin);
        // A reader that had read more than the backup has misses no event written after the restore.
        let page = board.events(Slug::lobby(), EventRange::After(had.clone()), 10).await.unwrap();
        assert_eq!(page.events.iter().map(|event| event.id).collect::<Vec<_>>(), [new]);
        assert!(page.cursor.has(new) && !page.cursor.has(lost));
        engine.close().await.unwrap();
        let engine = crate::Sqlite::open(second.path(), &Options::default()).unwrap();
        let again = post(&*engine.board_log(), "again").await;
        assert_eq!((again.origin, again.seq), (new.origin, 2), "a restart keeps the origin");
        engine.close().await.unwrap();
    }
}
