//! Pictures attached to messages.

use async_trait::async_trait;
use lodge_domain::{
    Result,
    accounts::{AccountId, PictureId, PictureOwners},
    board::{MessagePictures, Visibility},
};

use super::{
    ChannelRow, SqlBoard,
    row::{self, event_key},
};
use crate::{
    App, Failure, ReadKind, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    VISIBILITY = same("SELECT visibility FROM board_messages WHERE picture = ?");
    OF_AUTHOR = same("SELECT channel, origin, seq, picture FROM board_messages \
        WHERE author = ? AND picture IS NOT NULL LIMIT ?");
    REMOVE = same("UPDATE board_messages SET picture = NULL WHERE channel = ? AND origin = ? AND seq = ?");
    ERASE = same("UPDATE board_events SET picture = NULL WHERE channel = ? AND origin = ? AND seq = ?");
}

#[async_trait]
impl PictureOwners for SqlBoard {
    async fn assigned(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>> {
        let shown = move |tx: &mut dyn Tx| {
            let mut shown = Vec::new();
            for picture in &pictures {
                if tx.exists(&VISIBILITY, values![picture.bytes()])? {
                    shown.push(*picture);
                }
            }
            Ok(shown)
        };
        self.database.read(App::Board, ReadKind::Scan, shown).await
    }
}

#[async_trait]
impl MessagePictures for SqlBoard {
    async fn visibility(&self, picture: PictureId) -> Result<Option<Visibility>> {
        let read = |row: crate::Row<'_>| row::visibility(row.get(0)?);
        self.read(move |tx| tx.one(&VISIBILITY, values![picture.bytes()], read)).await
    }

    async fn take_from(&self, former: AccountId, limit: usize) -> Result<Vec<PictureId>> {
        self.write(move |tx| take_from(tx, former, limit)).await
    }
}

fn take_from(tx: &mut dyn Tx, former: AccountId, limit: usize) -> Result<Vec<PictureId>, Failure> {
    let found = tx.all(&OF_AUTHOR, values![former.0, limit], |row| {
        Ok((ChannelRow(row.get(0)?), row::id(row, 1)?, PictureId::stored(row.get(3)?)))
    })?;
    for (channel, id, _) in &found {
        tx.execute(&REMOVE, &event_key(*channel, *id))?;
        tx.execute(&ERASE, &event_key(*channel, *id))?;
    }
    Ok(found.into_iter().map(|(_, _, picture)| picture).collect())
}
