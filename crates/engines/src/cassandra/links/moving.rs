//! Links that are put as they are.

use lodge_domain::{
    Result,
    links::{Link, Mode, Short},
};
use uuid::Uuid;

use super::{CassandraLinks, LinkRow, contend, replace::Put};
use crate::cassandra::failure::Failure;

impl CassandraLinks {
    /// Puts a link as it is; whatever has its short stays.
    ///
    /// A row has one way of being written, and which one is the deployment's mode. In claim mode that
    /// is a lightweight transaction here, too, although a plain write would cost
    /// less: a plain write of a move that was killed may still be on its way when a server's first
    /// transaction on the row is decided, and would be mixed with it. In replace mode it is a plain
    /// write with the time of the link's newest `PUT`, and a later one wins over it.
    pub(in crate::cassandra) async fn put_as_is(&self, link: &Link, mode: Mode) -> Result<()> {
        // Lists lead to a link before it is there, as with every claim.
        self.index(link).await?;
        match mode {
            Mode::Claim => {
                let row = LinkRow::of(link).written(Uuid::new_v4(), None);
                contend(|| self.try_put(&row)).await
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
