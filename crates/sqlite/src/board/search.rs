//! Searching messages.

use lodge_domain::board::{Body, Message, MessageSearch, Word};
use rusqlite::Connection;

use super::{
    origins::{self, ChannelRow},
    row::{self, MESSAGE_COLUMNS, MESSAGE_TABLES, Reader},
};
use crate::{column::limit, failure::Failure};

const ADD: &str = "INSERT INTO board_search (rowid, channel, body) VALUES (?1, ?2, ?3)";
const FORGET: &str =
    "INSERT INTO board_search (board_search, rowid, channel, body) VALUES ('delete', ?1, ?2, ?3)";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 2] = [ADD, FORGET];

/// The statement that finds messages, the newest first.
pub(crate) fn sql() -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM (SELECT rowid FROM board_search WHERE board_search MATCH ?1 \
         ORDER BY rowid DESC LIMIT ?2) s JOIN {MESSAGE_TABLES} WHERE m.row = s.rowid ORDER BY m.row DESC"
    )
}

/// Lets a message be found.
pub(super) fn index(
    connection: &Connection,
    row: i64,
    channel: ChannelRow,
    body: &Body,
) -> Result<(), Failure> {
    connection.prepare_cached(ADD)?.execute((row, word_of(channel), body.as_str()))?;
    Ok(())
}

/// Lets a message that could be found be found no more. `body` is what it was indexed with: the index does not know it,
/// and would be wrong from then on if it were another.
pub(super) fn forget(
    connection: &Connection,
    row: i64,
    channel: ChannelRow,
    body: &Body,
) -> Result<(), Failure> {
    connection.prepare_cached(FORGET)?.execute((row, word_of(channel), body.as_str()))?;
    Ok(())
}

/// Messages with all the words.
pub(super) fn search(
    connection: &Connection,
    search: &MessageSearch,
) -> Result<Vec<Message>, Failure> {
    let channel = search.channel.as_ref().map(|slug| origins::channel(connection, slug));
    let matching = matching(channel.transpose()?, &search.words);
    let reader = Reader { person: search.reader, sees_hidden: false };
    let mut statement = connection.prepare_cached(&sql())?;
    let found = statement
        .query_map((matching, limit(search.limit)), |row| row::message(connection, row, reader))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The question in the index's language, in which only `"` is special within a string.
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
    format!("c{}", channel.0)
}
