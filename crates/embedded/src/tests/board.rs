//! What the board leaves in its tables.

use std::sync::Arc;

use lodge_contract::{
    board::{message, somebody},
    samples::{BEGIN, at},
};
use lodge_domain::{
    accounts::{PictureId, Role},
    board::{BoardLog, Body, NewMessage, Slug, Wish},
};
use rusqlite::Connection;

use super::open;
use crate::{Options, board::SqliteBoard};

/// Rows in which something is left that somebody wrote.
const WRITTEN: &str = "SELECT (SELECT count(*) FROM board_messages WHERE body IS NOT NULL OR picture IS NOT NULL) \
    + (SELECT count(*) FROM board_events WHERE body IS NOT NULL) + (SELECT count(*) FROM board_mentions) \
    + (SELECT count(*) FROM board_reactions)";

#[tokio::test]
async fn of_a_deleted_message_no_row_keeps_the_text() {
    let (engine, _folder) = open(&Options::default());
    let board = SqliteBoard { engine: Arc::clone(&engine), origin: engine.origin };
    let by = somebody(Role::Member);
    let new = NewMessage {
        picture: Some(PictureId::stored([7; 32])),
        ..message(&Slug::lobby(), "one @ada")
    };
    let id = board.post(new, by.clone(), BEGIN).await.unwrap().event().id;
    let sign = lodge_domain::board::Reaction::all().next().unwrap();
    let edit = |text| Wish::Edit(Body::parse(text).unwrap());
    for wish in
        [edit("two @bob"), edit("three @eve"), Wish::React { reaction: sign, is_removed: false }]
    {
        board.amend(Slug::lobby(), id, wish, by.clone(), at(1)).await.unwrap().unwrap();
    }
    let written = async || {
        let count = |connection: &Connection| {
            Ok(connection.query_row(WRITTEN, [], |row| row.get::<_, i64>(0))?)
        };
        engine.readers.read(count).await.unwrap()
    };
    // The message, what it was at first, two edits, a name and a sign.
    assert_eq!(written().await, 6);
    board.amend(Slug::lobby(), id, Wish::Delete, by, at(2)).await.unwrap().unwrap();
    assert_eq!(written().await, 0);
}
