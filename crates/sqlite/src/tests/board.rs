//! Contents of the board's tables after edits and deletions.

use lodge_contract::{
    board::{message, new_actor},
    samples::{BEGIN, at},
};
use lodge_domain::{
    accounts::{PictureId, Role},
    board::{
        Action, BoardLog, BoardMembers, Body, Cursor, NewMessage, PersonId, ReadPosition,
        ReadPositions, Slug,
    },
};
use lodge_sql::{
    App, SqlReadPositions,
    board::{MENTIONS_PER_DELETE, channel, forget_mentions, next},
};
use rusqlite::Connection;

use super::{board, open, store_remote_event, written};
use crate::{Options, engine::Engine, tx::SqliteTx};

/// Counts rows that still have a text, picture, mention or reaction.
const WRITTEN: &str = "SELECT (SELECT count(*) FROM board_messages WHERE picture IS NOT NULL) \
    + (SELECT count(*) FROM board_events WHERE body IS NOT NULL OR picture IS NOT NULL) \
    + (SELECT count(*) FROM board_mentions) + (SELECT count(*) FROM board_reactions)";

/// Whether the search index has a word in any of its blocks; the words of these tests share no prefix, so that each is
/// stored in full.
async fn is_indexed(engine: &Engine, word: &'static str) -> bool {
    let blocks = |connection: &Connection| {
        let mut blocks = connection.prepare("SELECT block FROM board_search_data")?;
        let blocks = blocks.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
        Ok(blocks.collect::<Result<Vec<_>, _>>()?)
    };
    let blocks = engine.readers.read(App::Board, blocks).await.unwrap();
    blocks.iter().any(|block| block.windows(word.len()).any(|bytes| bytes == word.as_bytes()))
}

#[tokio::test]
async fn words_of_messages_that_are_not_shown_are_erased_from_the_index() {
    let (engine, _folder) = open(&Options::default());
    let board = board(&engine);
    let by = new_actor(Role::Moderator);
    let mut ids = Vec::new();
    for text in ["xylophone", "quagga", "zucchini", "jodhpurs", "kumquat"] {
        let new = message(&Slug::lobby(), text);
        ids.push(board.post(new, by.clone(), BEGIN).await.unwrap().event().id);
        // So many that the index has several segments, and has merged some.
        for _ in 0..20 {
            let new = message(&Slug::lobby(), "snow");
            board.post(new, by.clone(), BEGIN).await.unwrap();
        }
        assert!(is_indexed(&engine, text).await, "{text}");
    }
    let apply_one = async |id, action| {
        board.apply(Slug::lobby(), id, action, by.clone(), at(1)).await.unwrap().unwrap();
    };
    apply_one(ids[0], Action::Delete).await;
    assert!(!is_indexed(&engine, "xylophone").await, "deleted");
    apply_one(ids[1], Action::Edit(Body::parse("wombat").unwrap())).await;
    assert!(!is_indexed(&engine, "quagga").await && is_indexed(&engine, "wombat").await);
    apply_one(ids[2], Action::Hide(true)).await;
    assert!(!is_indexed(&engine, "zucchini").await, "hidden");
    apply_one(ids[2], Action::Hide(false)).await;
    assert!(is_indexed(&engine, "zucchini").await, "shown again");
    for action in [Action::Hide(true), Action::Delete] {
        apply_one(ids[3], action).await;
        assert!(!is_indexed(&engine, "jodhpurs").await, "hidden, and then deleted");
    }
    let sound = |connection: &Connection| {
        let check = "INSERT INTO board_search (board_search) VALUES ('integrity-check')";
        Ok(connection.execute_batch(check)?)
    };
    engine.writer.write(App::Board, sound).await.unwrap();
    assert!(is_indexed(&engine, "kumquat").await && is_indexed(&engine, "snow").await);
    apply_one(ids[4], Action::Delete).await;
    assert!(!is_indexed(&engine, "kumquat").await, "deleted afterwards");
}

#[tokio::test]
async fn no_row_keeps_the_text_of_a_deleted_message() {
    let (engine, _folder) = open(&Options::default());
    let board = board(&engine);
    let by = new_actor(Role::Member);
    let new = NewMessage {
        picture: Some(PictureId::stored([7; 32])),
        ..message(&Slug::lobby(), "one @ada")
    };
    let id = board.post(new, by.clone(), BEGIN).await.unwrap().event().id;
    let sign = lodge_domain::board::Reaction::all().next().unwrap();
    let edit = |text| Action::Edit(Body::parse(text).unwrap());
    for action in
        [edit("two @bob"), edit("three @eve"), Action::React { reaction: sign, is_removed: false }]
    {
        board.apply(Slug::lobby(), id, action, by.clone(), at(1)).await.unwrap().unwrap();
    }
    let written = async || {
        let count = |connection: &Connection| {
            Ok(connection.query_row(WRITTEN, [], |row| row.get::<_, i64>(0))?)
        };
        engine.readers.read(App::Board, count).await.unwrap()
    };
    // The message's picture, the message and two edits in the log, a name and a reaction.
    assert_eq!(written().await, 6);
    board.apply(Slug::lobby(), id, Action::Delete, by, at(2)).await.unwrap().unwrap();
    assert_eq!(written().await, 0);
}

#[tokio::test]
async fn unread_messages_are_counted_among_the_newest_thousand() {
    let (engine, _folder) = open(&Options::default());
    let board = board(&engine);
    let (reader, other) = (new_actor(Role::Member), new_actor(Role::Member));
    let positions = SqlReadPositions::new(engine.clone());
    let unread = async || {
        let unread = positions.unread(reader.profile.clone()).await.unwrap();
        unread.first().map_or(0, |unread| unread.messages)
    };
    let (person, cursor) = (reader.id(), Cursor::default());
    let note = ReadPosition { person, channel: Slug::lobby(), cursor };
    positions.record(note).unwrap();
    positions.flush().await.unwrap();
    board.post(message(&Slug::lobby(), "hello"), other, BEGIN).await.unwrap();
    let own = async |count: u64| {
        let (by, origin) = (reader.clone(), engine.origin);
        let write = move |connection: &Connection| {
            let tx = &mut SqliteTx(connection);
            let lobby = channel(tx, &Slug::lobby())?;
            for _ in 0..count {
                let place = next(tx, lobby, origin, BEGIN)?;
                let new = message(&Slug::lobby(), "own");
                store_remote_event(connection, place, &written("own"), Some(&new.client_id), &by);
            }
            Ok(())
        };
        engine.writer.write(App::Board, write).await.unwrap();
    };
    own(999).await;
    assert_eq!(unread().await, 1);
    own(1).await;
    assert_eq!(unread().await, 0, "older messages are not counted");
}

#[tokio::test]
async fn all_mentions_of_a_deleted_account_are_removed_in_bounded_steps() {
    let (engine, _folder) = open(&Options::default());
    let board = board(&engine);
    let former = new_actor(Role::Member).profile;
    let PersonId::Account(account) = former.person else { panic!("{former:?}") };
    board.save_profile(former.clone()).await.unwrap();
    let username = former.username.clone();
    let name = move |connection: &Connection| {
        let sql = "WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 2500) \
            INSERT INTO board_mentions SELECT ?1, 1, 1, seq FROM n";
        connection.execute(sql, [&username])?;
        Ok(forget_mentions(&mut SqliteTx(connection), account)?)
    };
    let forgotten = engine.writer.write(App::Board, name).await.unwrap();
    assert_eq!(forgotten, MENTIONS_PER_DELETE, "in one transaction");
    board.forget(account).await.unwrap();
    let (channel, cursor) = (Slug::lobby(), Cursor::default());
    let positions = SqlReadPositions::new(engine.clone());
    positions.record(ReadPosition { person: former.person, channel, cursor }).unwrap();
    positions.flush().await.unwrap();
    let left = |connection: &Connection| {
        let sql =
            "SELECT (SELECT count(*) FROM board_mentions) + (SELECT count(*) FROM board_visits)";
        Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))?)
    };
    assert_eq!(engine.board.read(App::Board, left).await.unwrap(), 0);
}
