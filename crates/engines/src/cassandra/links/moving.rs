//! Links, copied by a move.

use lodge_domain::{
    Result,
    links::{Link, Mode, Short},
};
use uuid::Uuid;

use super::{CassandraLinks, LinkRow, replace::Put, retry_on_conflict};
use crate::cassandra::failure::Failure;

impl CassandraLinks {
    /// Stores a link unchanged, unless its short is taken.
    ///
    /// The deployment's mode decides the protocol. In claim mode it is a lightweight transaction here, too,
    /// although a plain write would cost less: a delayed plain write of a killed move could arrive while a
    /// server's first transaction on the row is decided, and would mix with it. In replace mode it is a
    /// plain write with the timestamp of the link's newest `PUT`, over which a later one wins.
    pub(in crate::cassandra) async fn put_as_is(&self, link: &Link, mode: Mode) -> Result<()> {
        // The lists' rows are written before the link, as with every claim.
        self.index(link).await?;
        match mode {
            Mode::Claim => {
                let row = LinkRow::of(link).written(Uuid::new_v4(), None);
                retry_on_conflict(|| self.try_put(&row)).await
            }
            Mode::Replace => {
                let (row, at) = (LinkRow::of(link), link.changed_at.as_microsecond());
                let values = Put { row: &row, at };
                self.session.statements.put.run(values).await?;
                Ok(())
            }
        }
    }

    async fn try_put(&self, row: &LinkRow) -> Result<Option<()>, Failure> {
        if self.insert(row).await? {
            return Ok(Some(()));
        }
        Ok(self.current(&Short::stored(row.short.clone())).await?.map(drop))
    }
}
