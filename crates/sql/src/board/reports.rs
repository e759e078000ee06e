//! Reports of messages.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    board::{EventId, Message, PersonId, Profile, Report, Reports, Slug},
};

use super::{
    SqlBoard, members, messages, origins,
    row::{self, Reader, event_key, profile_columns, select_messages},
};
use crate::{
    Failure, Statement, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    MESSAGE = same("SELECT row FROM board_messages \
        WHERE channel = ? AND origin = ? AND seq = ? AND author IS NOT NULL AND visibility < 2");
    ADD = same("INSERT INTO board_reports (message, person, reason, at) VALUES (?, ?, ?, ?)");
    /// Reopens a report if the message was edited since the report was settled.
    REOPEN = same("UPDATE board_reports SET reason = ?, at = ?, settled_by = NULL, settled_at = NULL \
        WHERE message = ? AND person = ? \
        AND (settled_at + 1) * 1000 <= (SELECT edited_at FROM board_messages m WHERE m.row = ?)");
    SETTLE = same("UPDATE board_reports SET settled_by = ?, settled_at = ? \
        WHERE settled_at IS NULL AND message = (SELECT o.message FROM board_reports o WHERE o.row = ?)");
    EXISTS = same("SELECT 1 FROM board_reports WHERE row = ?");
}

/// Open reports, oldest first.
static OPEN: Statement = same(concat!(
    "SELECT o.row, o.message, o.reason, o.at, ",
    profile_columns!(),
    " FROM board_reports o \
    JOIN board_people p ON p.person = o.person WHERE o.settled_at IS NULL ORDER BY o.at LIMIT ?"
));
static COUNT: Statement = same(
    "SELECT count(*) FROM \
    (SELECT 1 FROM board_reports WHERE settled_at IS NULL ORDER BY at LIMIT ?) AS s",
);
/// Hidden messages, newest first.
static HIDDEN: Statement =
    same(select_messages!("WHERE m.visibility = 1 ORDER BY m.at DESC LIMIT ?"));

/// Statements that must read their rows in the order of a partial index.
pub(super) static PAGES: &[&Statement] = &[&OPEN, &COUNT, &HIDDEN];

#[async_trait]
impl Reports for SqlBoard {
    async fn add(
        &self,
        channel: Slug,
        message: EventId,
        by: Profile,
        reason: String,
        at: Timestamp,
    ) -> Result<bool> {
        self.write(move |tx| add(tx, (&channel, message), &by, &reason, at)).await
    }

    async fn open(&self, reader: PersonId, limit: usize) -> Result<Vec<Report>> {
        self.read(move |tx| open(tx, Reader { person: reader, sees_hidden: true }, limit)).await
    }

    async fn count(&self, limit: u32) -> Result<u32> {
        let count = move |tx: &mut dyn Tx| {
            Ok(tx.one(&COUNT, values![limit], |row| row.get(0))?.unwrap_or(0))
        };
        self.read(count).await
    }

    async fn settle(&self, id: i64, by: PersonId, at: Timestamp) -> Result<bool> {
        let settle = move |tx: &mut dyn Tx| {
            tx.execute(&SETTLE, values![by.number(), at, id])?;
            tx.exists(&EXISTS, values![id])
        };
        self.write(settle).await
    }

    async fn hidden(&self, reader: PersonId, limit: usize) -> Result<Vec<Message>> {
        let reader = Reader { person: reader, sees_hidden: true };
        let hidden = move |tx: &mut dyn Tx| row::messages(tx, &HIDDEN, values![limit], reader);
        Ok(self.read(hidden).await?.into_iter().map(|(_, message)| message).collect())
    }
}

fn add(
    tx: &mut dyn Tx,
    (channel, message): (&Slug, EventId),
    by: &Profile,
    reason: &str,
    at: Timestamp,
) -> Result<bool, Failure> {
    let channel = origins::channel(tx, channel)?;
    let found = tx.one(&MESSAGE, &event_key(channel, message), |row| row.get::<i64>(0))?;
    let Some(row) = found else { return Ok(false) };
    members::note(tx, by)?;
    let person = by.person.number();
    if tx.insert(&ADD, values![row, person, reason, at])?.is_none() {
        tx.execute(&REOPEN, values![reason, at, row, person, row])?;
    }
    Ok(true)
}

fn open(tx: &mut dyn Tx, reader: Reader, limit: usize) -> Result<Vec<Report>, Failure> {
    let found = tx.all(&OPEN, values![limit], |row| {
        let (id, message): (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok((id, message, row.get::<String>(2)?, row.get(3)?, row::profile(row, 4)?))
    })?;
    let report = |(id, message, reason, at, by)| {
        let message = messages::by_row(tx, message, reader)?;
        let message = message.ok_or_else(|| Error::internal("a report has no message"))?;
        Ok(Report { id, message, by, reason, at })
    };
    found.into_iter().map(report).collect()
}
