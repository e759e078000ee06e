//! Links that are put as they are.

use std::pin::pin;

use futures_util::{StreamExt as _, TryStreamExt as _, future};
use lodge_domain::{
    Error, Result,
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
                self.session.run(&self.session.statements.put, values).await?;
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

    /// Every link, over and deleted ones too, in the order of their hashes.
    pub(in crate::cassandra) async fn all_kept_after(
        &self,
        after: Option<&Short>,
        limit: usize,
    ) -> Result<Vec<Link>> {
        let statements = &self.session.statements;
        let rows = match after {
            Some(short) => self.session.rows(&statements.page, (short.as_str(),)).await?,
            None => self.session.rows(&statements.first_page, ()).await?,
        };
        let rows = pin!(rows.rows_stream::<LinkRow>().map_err(Error::internal)?);
        let links = rows.map_err(Failure::from).and_then(|row| future::ready(row.link()));
        Ok(links.take(limit).try_collect().await?)
    }

    /// The link of that short.
    pub(in crate::cassandra) async fn kept(&self, short: &Short) -> Result<Option<Link>> {
        let find = &self.session.statements.find;
        let row: Option<LinkRow> = self.session.first(find, (short.as_str(),)).await?;
        Ok(row.map(LinkRow::link).transpose()?)
    }
}
