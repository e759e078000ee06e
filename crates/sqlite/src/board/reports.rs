//! What people want looked at.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    board::{EventId, Message, PersonId, Profile, Report, Reports, Slug},
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    SqliteBoard, origins, people,
    row::{self, MESSAGE_COLUMNS, MESSAGE_TABLES, PROFILE, Reader},
};
use crate::{
    column::{instant, limit, number},
    failure::Failure,
};

const MESSAGE: &str = "SELECT row FROM board_messages WHERE channel = ?1 AND origin = ?2 AND seq = ?3 AND visibility < 2";
const ADD: &str = "INSERT INTO board_reports (message, person, reason, at) VALUES (?1, ?2, ?3, ?4) \
    ON CONFLICT DO UPDATE SET reason = excluded.reason, at = excluded.at, settled_by = NULL, settled_at = NULL \
    WHERE settled_at < (SELECT edited_at / 1000 FROM board_messages m WHERE m.row = excluded.message)";
const SETTLE: &str = "UPDATE board_reports SET settled_by = ?2, settled_at = ?3 \
    WHERE settled_at IS NULL AND message = (SELECT message FROM board_reports WHERE row = ?1)";
const IS_THERE: &str = "SELECT 1 FROM board_reports WHERE row = ?1";
const OPEN: &str = "SELECT o.row, o.message, o.reason, o.at, ";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 4] = [MESSAGE, ADD, SETTLE, IS_THERE];

/// The statement that reads open reports, the oldest first.
pub(crate) fn open_sql() -> String {
    format!(
        "{OPEN} {PROFILE} FROM board_reports o JOIN board_people p ON p.person = o.person \
         WHERE o.settled_at IS NULL ORDER BY o.at LIMIT ?1"
    )
}

/// Counts open reports.
pub(crate) const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM board_reports WHERE settled_at IS NULL ORDER BY at LIMIT ?1)";

/// The statement that reads hidden messages, the newest first.
pub(crate) fn hidden_sql() -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM {MESSAGE_TABLES} WHERE m.visibility = 1 ORDER BY m.at DESC LIMIT ?1"
    )
}

/// The statement that reads a message by its row.
pub(crate) fn message_sql() -> String {
    format!("SELECT {MESSAGE_COLUMNS} FROM {MESSAGE_TABLES} WHERE m.row = ?1")
}

#[async_trait]
impl Reports for SqliteBoard {
    async fn add(
        &self,
        channel: Slug,
        message: EventId,
        by: Profile,
        reason: String,
        at: Timestamp,
    ) -> Result<bool> {
        self.write(move |connection| add(connection, &channel, message, &by, &reason, at)).await
    }

    async fn open(&self, reader: PersonId, at_most: usize) -> Result<Vec<Report>> {
        let reader = Reader { person: reader, sees_hidden: true };
        self.read(move |connection| open(connection, reader, at_most)).await
    }

    async fn count(&self, limit: u32) -> Result<u32> {
        self.read(move |connection| {
            Ok(connection.prepare_cached(COUNT)?.query_row([limit], |row| row.get(0))?)
        })
        .await
    }

    async fn settle(&self, id: i64, by: PersonId, at: Timestamp) -> Result<bool> {
        self.write(move |connection| {
            let settled = (id, by.number(), at.as_millisecond());
            connection.prepare_cached(SETTLE)?.execute(settled)?;
            Ok(connection.prepare_cached(IS_THERE)?.exists([id])?)
        })
        .await
    }

    async fn hidden(&self, reader: PersonId, at_most: usize) -> Result<Vec<Message>> {
        let reader = Reader { person: reader, sees_hidden: true };
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(&hidden_sql())?;
            let hidden = statement
                .query_map([limit(at_most)], |row| row::message(connection, row, reader))?;
            Ok(hidden.collect::<Result<_, _>>()?)
        })
        .await
    }
}

fn add(
    connection: &Connection,
    channel: &Slug,
    message: EventId,
    by: &Profile,
    reason: &str,
    at: Timestamp,
) -> Result<bool, Failure> {
    let channel = origins::channel(connection, channel)?;
    let name = (channel.0, message.origin.number(), number(message.seq)?);
    let mut statement = connection.prepare_cached(MESSAGE)?;
    let found = statement.query_row(name, |row| row.get::<_, i64>(0)).optional()?;
    let Some(row) = found else { return Ok(false) };
    people::note(connection, by)?;
    let report = (row, by.person.number(), reason, at.as_millisecond());
    connection.prepare_cached(ADD)?.execute(report)?;
    Ok(true)
}

fn open(connection: &Connection, reader: Reader, at_most: usize) -> Result<Vec<Report>, Failure> {
    let mut statement = connection.prepare_cached(&open_sql())?;
    let reports = statement.query_map([limit(at_most)], |row| report(connection, row, reader))?;
    Ok(reports.collect::<Result<_, _>>()?)
}

fn report(connection: &Connection, row: &Row<'_>, reader: Reader) -> rusqlite::Result<Report> {
    let by = row::profile(row, 4)?;
    let mut message = connection.prepare_cached(&message_sql())?;
    let message =
        message.query_row([row.get::<_, i64>(1)?], |row| row::message(connection, row, reader))?;
    Ok(Report { id: row.get(0)?, message, by, reason: row.get(2)?, at: instant(3, row.get(3)?)? })
}
