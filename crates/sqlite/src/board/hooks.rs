//! Who is told what happens in channels.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    board::{
        Cursor, HOOKS_MAX, Hook, HookId, HookSecret, HookStanding, HookStore, HookUrl, NewHook,
        Slug,
    },
};
use lodge_sql::App;
use rusqlite::{Connection, Row, types::Type};

use super::SqliteBoard;
use crate::{
    column::{instant, limit},
    failure::Failure,
};

const ALL: &str = "SELECT id, channel, url, created_at, cursor, failures, failing_since, next_try, \
    disabled_at, why, secret FROM board_hooks ORDER BY id";
const COUNT: &str = "SELECT count(*) FROM board_hooks";
const ADD: &str = "INSERT INTO board_hooks (channel, url, secret, created_at, cursor) VALUES (?1, ?2, ?3, ?4, ?5)";
const REMOVE: &str = "DELETE FROM board_hooks WHERE id = ?1";
const ADVANCE: &str = "UPDATE board_hooks SET cursor = ?2, failures = 0, failing_since = NULL, next_try = NULL, \
    why = NULL WHERE id = ?1 AND disabled_at IS NULL";
const NOTE: &str = "UPDATE board_hooks SET failures = ?2, failing_since = ?3, next_try = ?4, disabled_at = ?5, \
    why = ?6 WHERE id = ?1";

/// Those that must find their way by an index; of hooks there are a few.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 4] = [ADD, REMOVE, ADVANCE, NOTE];

#[async_trait]
impl HookStore for SqliteBoard {
    async fn add(&self, new: NewHook) -> Result<Hook> {
        self.write(move |connection| add(connection, new)).await
    }

    async fn list(&self) -> Result<Vec<(Hook, HookSecret)>> {
        let all = |connection: &Connection| {
            let mut all = connection.prepare_cached(ALL)?;
            Ok(all.query_map([], read)?.collect::<Result<_, _>>()?)
        };
        self.engine.board.read(App::Board, all).await
    }

    async fn remove(&self, id: HookId) -> Result<bool> {
        let removed = move |connection: &Connection| {
            Ok(connection.prepare_cached(REMOVE)?.execute([id.0])? > 0)
        };
        self.write(removed).await
    }

    async fn advance(&self, id: HookId, cursor: Cursor) -> Result<bool> {
        let advanced = move |connection: &Connection| {
            let row = (id.0, cursor.to_string());
            Ok(connection.prepare_cached(ADVANCE)?.execute(row)? > 0)
        };
        self.write(advanced).await
    }

    async fn note(&self, id: HookId, standing: HookStanding) -> Result<bool> {
        let noted = move |connection: &Connection| {
            let (failures, since, next_try, disabled_at, why) = match standing {
                HookStanding::Well => (0, None, None, None, None),
                HookStanding::Failing { failures, since, next_try, why } => {
                    (failures, Some(since), Some(next_try), None, Some(why))
                }
                HookStanding::Disabled { at, why } => (0, None, None, Some(at), Some(why)),
            };
            let [since, next_try, disabled_at] =
                [since, next_try, disabled_at].map(|at| at.map(Timestamp::as_millisecond));
            let row = (id.0, failures, since, next_try, disabled_at, why);
            Ok(connection.prepare_cached(NOTE)?.execute(row)? > 0)
        };
        self.write(noted).await
    }
}

fn add(connection: &Connection, new: NewHook) -> Result<Hook, Failure> {
    let count: i64 = connection.prepare_cached(COUNT)?.query_row([], |row| row.get(0))?;
    if count >= limit(HOOKS_MAX) {
        return Err(Error::conflict("there are as many hooks as there may be").into());
    }
    let NewHook { channel, url, secret, cursor, created_at } = new;
    let (at, place) = (created_at.as_millisecond(), cursor.to_string());
    let row = (channel.as_str(), url.as_str(), secret.reveal(), at, place);
    let id = HookId(connection.prepare_cached(ADD)?.insert(row)?);
    Ok(Hook { id, channel, url, created_at, cursor, standing: HookStanding::Well })
}

fn read(row: &Row<'_>) -> rusqlite::Result<(Hook, HookSecret)> {
    let unreadable = |column| {
        move |error: Error| {
            rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
        }
    };
    let hook = Hook {
        id: HookId(row.get(0)?),
        channel: Slug::parse(&row.get::<_, String>(1)?).map_err(unreadable(1))?,
        url: HookUrl::stored(row.get(2)?),
        created_at: instant(3, row.get(3)?)?,
        cursor: row.get::<_, String>(4)?.parse().map_err(unreadable(4))?,
        standing: standing(row)?,
    };
    Ok((hook, HookSecret::stored(row.get(10)?)))
}

fn standing(row: &Row<'_>) -> rusqlite::Result<HookStanding> {
    if let Some(at) = row.get::<_, Option<i64>>(8)? {
        return Ok(HookStanding::Disabled { at: instant(8, at)?, why: row.get(9)? });
    }
    let Some(since) = row.get::<_, Option<i64>>(6)? else { return Ok(HookStanding::Well) };
    Ok(HookStanding::Failing {
        failures: row.get(5)?,
        since: instant(6, since)?,
        next_try: instant(7, row.get(7)?)?,
        why: row.get(9)?,
    })
}
