//! The channel store.

use async_trait::async_trait;
use lodge_domain::{
    Error, Result,
    board::{CHANNELS_MAX, Channel, ChannelChange, Channels, Slug, Topic},
};

use super::{ChannelRow, SqlBoard};
use crate::{
    Failure, Row, Statement, Tx,
    statement::{same, statements},
    tx::values,
};

macro_rules! columns {
    () => {
        "row, slug, topic, slow_mode_s, created_at, is_archived"
    };
}

static ALL: Statement =
    same(concat!("SELECT ", columns!(), " FROM board_channels ORDER BY slug <> 'lobby', slug"));
static COUNT: Statement = same("SELECT count(*) FROM board_channels");

statements! {
    ONE = same(concat!("SELECT ", columns!(), " FROM board_channels WHERE slug = ?"));
    ADD = same("INSERT INTO board_channels (slug, topic, slow_mode_s, created_at, is_archived) VALUES (?, ?, ?, ?, ?)");
    CHANGE = same("UPDATE board_channels SET topic = coalesce(?, topic), slow_mode_s = coalesce(?, slow_mode_s), \
        is_archived = coalesce(?, is_archived) WHERE slug = ?");
}

#[async_trait]
impl Channels for SqlBoard {
    async fn list(&self) -> Result<Vec<Channel>> {
        let list = self.read(all).await?;
        Ok(list.into_iter().map(|(_, channel)| channel).collect())
    }

    async fn find(&self, slug: Slug) -> Result<Option<Channel>> {
        let found = self.read(move |tx| find(tx, &slug)).await?;
        Ok(found.map(|(_, channel)| channel))
    }

    async fn create(&self, channel: Channel) -> Result<(Channel, bool)> {
        self.write(move |tx| create(tx, &channel)).await
    }

    async fn change(&self, slug: Slug, change: ChannelChange) -> Result<Option<Channel>> {
        let change = move |tx: &mut dyn Tx| {
            let topic = change.topic.as_ref().map(Topic::as_str);
            let values = values![topic, change.slow_mode_s, change.is_archived, slug.as_str()];
            tx.execute(&CHANGE, values)?;
            Ok(find(tx, &slug)?.map(|(_, channel)| channel))
        };
        self.write(change).await
    }
}

fn create(tx: &mut dyn Tx, channel: &Channel) -> Result<(Channel, bool), Failure> {
    tx.guard("channels", 0)?;
    if let Some((_, channel)) = find(tx, &channel.slug)? {
        return Ok((channel, false));
    }
    let count = tx.one(&COUNT, values![], |row| row.get::<u64>(0))?.unwrap_or(0);
    if count >= CHANNELS_MAX as u64 {
        return Err(Error::conflict("the board already has the maximum number of channels").into());
    }
    let Channel { slug, topic, slow_mode_s, is_archived, created_at } = channel;
    let values = values![slug.as_str(), topic.as_str(), *slow_mode_s, *created_at, *is_archived];
    tx.execute(&ADD, values)?;
    Ok((channel.clone(), true))
}

/// Returns every channel with its row, the lobby first, then by slug.
pub(super) fn all(tx: &mut dyn Tx) -> Result<Vec<(ChannelRow, Channel)>, Failure> {
    tx.all(&ALL, values![], read)
}

/// Returns a channel and its row.
pub(super) fn find(tx: &mut dyn Tx, slug: &Slug) -> Result<Option<(ChannelRow, Channel)>, Failure> {
    tx.one(&ONE, values![slug.as_str()], read)
}

fn read(row: Row<'_>) -> Result<(ChannelRow, Channel), Failure> {
    let channel = Channel {
        slug: Slug::stored(row.get(1)?),
        topic: Topic::stored(row.get(2)?),
        slow_mode_s: row.get(3)?,
        is_archived: row.get(5)?,
        created_at: row.get(4)?,
    };
    Ok((ChannelRow(row.get(0)?), channel))
}
