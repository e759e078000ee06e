//! The pictures of messages.

use async_trait::async_trait;
use lodge_domain::{
    Result,
    accounts::{AccountId, PictureId, Pictured},
    board::{MessagePictures, Visibility},
};
use lodge_sql::App;
use rusqlite::{Connection, OptionalExtension};

use super::{SqliteBoard, row::visibility};
use crate::{column::limit, failure::Failure};

const VISIBILITY: &str = "SELECT visibility FROM board_messages WHERE picture = ?1";
const OF_AUTHOR: &str =
    "SELECT row, picture FROM board_messages WHERE author = ?1 AND picture IS NOT NULL LIMIT ?2";
const TAKE: &str = "UPDATE board_messages SET picture = NULL WHERE row = ?1";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 3] = [VISIBILITY, OF_AUTHOR, TAKE];

#[async_trait]
impl Pictured for SqliteBoard {
    async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>> {
        let asked = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(VISIBILITY)?;
            let had =
                pictures.into_iter().map(|id| Ok(statement.exists([id.bytes()])?.then_some(id)));
            had.filter_map(Result::transpose).collect()
        };
        self.engine.scans.read(App::Board, asked).await
    }
}

#[async_trait]
impl MessagePictures for SqliteBoard {
    async fn visibility(&self, picture: PictureId) -> Result<Option<Visibility>> {
        let found = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(VISIBILITY)?;
            let found = statement.query_row([picture.bytes()], |row| visibility(0, row.get(0)?));
            Ok(found.optional()?)
        };
        self.engine.board.read(App::Board, found).await
    }

    async fn take_from(&self, former: AccountId, at_most: usize) -> Result<Vec<PictureId>> {
        self.write(move |connection| take_from(connection, former, at_most)).await
    }
}

fn take_from(
    connection: &Connection,
    former: AccountId,
    at_most: usize,
) -> Result<Vec<PictureId>, Failure> {
    let mut found = connection.prepare_cached(OF_AUTHOR)?;
    let found =
        found.query_map((former.0, limit(at_most)), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: Vec<(i64, [u8; 32])> = found.collect::<Result<_, _>>()?;
    let mut take = connection.prepare_cached(TAKE)?;
    let taken = found.into_iter().map(|(row, picture)| {
        take.execute([row])?;
        Ok(PictureId::stored(picture))
    });
    taken.collect()
}
