//! The full-text index of messages, with FTS5.

use lodge_domain::board::{Body, Word};
use lodge_sql::{
    Failure, Statement, Tx, Value,
    board::{ChannelRow, WordIndex},
};

/// The index `board_search`. Its rowid is the row of the message, and the channel is indexed as a word.
pub(crate) struct Fts5;

pub(crate) static ADD: Statement =
    text("INSERT INTO board_search (rowid, channel, body) VALUES (?, ?, ?)");
/// The index does not store the text of a row; deleting with another text than the one added would corrupt it.
pub(crate) static REMOVE: Statement = text(
    "INSERT INTO board_search (board_search, rowid, channel, body) VALUES ('delete', ?, ?, ?)",
);
pub(crate) static FIND: Statement =
    text("SELECT rowid FROM board_search WHERE board_search MATCH ? ORDER BY rowid DESC LIMIT ?");

const fn text(sql: &'static str) -> Statement {
    Statement { sqlite: sql, mariadb: "" }
}

impl WordIndex for Fts5 {
    fn add(
        &self,
        tx: &mut dyn Tx,
        row: i64,
        channel: ChannelRow,
        body: &Body,
    ) -> Result<(), Failure> {
        tx.execute(&ADD, &columns(row, &word_of(channel), body)).map(drop)
    }

    fn remove(
        &self,
        tx: &mut dyn Tx,
        row: i64,
        channel: ChannelRow,
        body: &Body,
    ) -> Result<(), Failure> {
        tx.execute(&REMOVE, &columns(row, &word_of(channel), body)).map(drop)
    }

    fn find(
        &self,
        tx: &mut dyn Tx,
        channel: Option<ChannelRow>,
        words: &[Word],
        limit: usize,
    ) -> Result<Vec<i64>, Failure> {
        let matching = matching(channel, words);
        tx.all(&FIND, &[Value::from(&matching), Value::from(limit)], |row| row.get(0))
    }
}

fn columns<'v>(row: i64, channel: &'v str, body: &'v Body) -> [Value<'v>; 3] {
    [Value::Int(row), Value::Text(channel), Value::Text(body.as_str())]
}

/// Returns the query in the syntax of FTS5, in which only `"` is special within a string.
fn matching(channel: Option<ChannelRow>, words: &[Word]) -> String {
    let word = |word: &Word| {
        let begins = if word.is_beginning { "*" } else { "" };
        format!("\"{}\"{begins}", word.text.replace('"', "\"\""))
    };
    let words = words.iter().map(word).collect::<Vec<_>>().join(" AND ");
    match channel {
        Some(channel) => format!("channel : {} AND body : ({words})", word_of(channel)),
        None => format!("body : ({words})"),
    }
}

fn word_of(channel: ChannelRow) -> String {
    format!("c{}", channel.number())
}
