//! Channels.

use async_trait::async_trait;
use lodge_domain::{
    Error, Result,
    board::{CHANNELS_MAX, Channel, ChannelChange, Channels, Slug, Topic},
};
use lodge_sql::App;
use rusqlite::{Connection, OptionalExtension, Row, types::Type};

use super::{SqliteBoard, origins::ChannelRow};
use crate::{
    column::{instant, limit},
    failure::Failure,
};

const ALL: &str = "SELECT row, slug, topic, slow_mode_s, created_at, is_archived FROM board_channels ORDER BY slug <> 'lobby', slug";
const ONE: &str = "SELECT row, slug, topic, slow_mode_s, created_at, is_archived FROM board_channels WHERE slug = ?1";
const ADD: &str =
    "INSERT INTO board_channels (slug, topic, slow_mode_s, created_at) VALUES (?1, ?2, ?3, ?4)";
const COUNT: &str = "SELECT count(*) FROM board_channels";
const CHANGE: &str = "UPDATE board_channels SET topic = coalesce(?2, topic), slow_mode_s = coalesce(?3, slow_mode_s), is_archived = coalesce(?4, is_archived) WHERE slug = ?1";

/// Those that must find their way by an index; of channels there are a few hundred.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 3] = [ONE, ADD, CHANGE];

#[async_trait]
impl Channels for SqliteBoard {
    async fn list(&self) -> Result<Vec<Channel>> {
        let all = |connection: &Connection| {
            let mut all = connection.prepare_cached(ALL)?;
            let all = all.query_map([], |row| read(row).map(|(_, channel)| channel))?;
            Ok(all.collect::<Result<_, _>>()?)
        };
        self.engine.board.read(App::Board, all).await
    }

    async fn find(&self, slug: Slug) -> Result<Option<Channel>> {
        let found = move |connection: &_| Ok(find(connection, &slug)?.map(|(_, channel)| channel));
        self.engine.board.read(App::Board, found).await
    }

    async fn create(&self, channel: Channel) -> Result<(Channel, bool)> {
        self.write(move |connection| create(connection, channel)).await
    }

    async fn change(&self, slug: Slug, change: ChannelChange) -> Result<Option<Channel>> {
        self.write(move |connection| {
            let topic = change.topic.as_ref().map(Topic::as_str);
            let changed = (slug.as_str(), topic, change.slow_mode_s, change.is_archived);
            connection.prepare_cached(CHANGE)?.execute(changed)?;
            Ok(find(connection, &slug)?.map(|(_, channel)| channel))
        })
        .await
    }
}

fn create(connection: &Connection, channel: Channel) -> Result<(Channel, bool), Failure> {
    if let Some((_, channel)) = find(connection, &channel.slug)? {
        return Ok((channel, false));
    }
    let count: i64 = connection.prepare_cached(COUNT)?.query_row([], |row| row.get(0))?;
    if count >= limit(CHANNELS_MAX) {
        return Err(Error::conflict("there are as many channels as there may be").into());
    }
    let created_at = channel.created_at.as_millisecond();
    let row = (channel.slug.as_str(), channel.topic.as_str(), channel.slow_mode_s, created_at);
    connection.prepare_cached(ADD)?.execute(row)?;
    Ok((channel, true))
}

/// A channel and its row.
pub(super) fn find(
    connection: &Connection,
    slug: &Slug,
) -> Result<Option<(ChannelRow, Channel)>, Failure> {
    Ok(connection.prepare_cached(ONE)?.query_row([slug.as_str()], read).optional()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<(ChannelRow, Channel)> {
    let unreadable = |column| {
        move |error: Error| {
            rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
        }
    };
    let channel = Channel {
        slug: Slug::parse(&row.get::<_, String>(1)?).map_err(unreadable(1))?,
        topic: Topic::parse(&row.get::<_, String>(2)?).map_err(unreadable(2))?,
        slow_mode_s: row.get(3)?,
        is_archived: row.get(5)?,
        created_at: instant(4, row.get(4)?)?,
    };
    Ok((ChannelRow(row.get(0)?), channel))
}
