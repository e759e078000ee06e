//! Replace mode, in which the newest `PUT` wins: plain writes with a minted timestamp, so that neither
//! their order of arrival nor repetitions matter.

use lodge_domain::{
    Result,
    links::{Link, Replaced, Replacement},
};
use scylla::SerializeRow;

use super::{CassandraLinks, LinkRow};

/// A row with the timestamp of its write.
#[derive(SerializeRow)]
pub(super) struct Put<'a> {
    #[scylla(flatten)]
    pub(super) row: &'a LinkRow,
    /// Microseconds since 1970.
    pub(super) at: i64,
}

impl CassandraLinks {
    /// Stores `link` under its short, unless the stored link is newer.
    pub(super) async fn put(&self, link: Link) -> Result<Replaced> {
        // A POST that found the short free must not overwrite a PUT that comes in between.
        let _turn = self.row_locks.lock(link.short.as_str().as_bytes()).await?;
        let was = self.kept(&link.short).await?;
        let (target, at) = (link.target.clone(), link.changed_at);
        match link.replacing(was) {
            Replacement::Stays(is) => {
                if is.link.changed_at == at && is.link.target == target {
                    // A repetition of this write, which may be missing in the change feed.
                    self.feed.append(is.link.short.as_str()).await?;
                }
                Ok(is)
            }
            Replacement::Becomes(is) => {
                self.write_plainly(&is.link).await?;
                Ok(is)
            }
        }
    }

    /// Writes a link with its minted timestamp, and appends it to the change feed.
    pub(super) async fn write_plainly(&self, link: &Link) -> Result<()> {
        let row = LinkRow::of(link);
        let at = link.changed_at.as_microsecond();
        self.session.statements.put.run(Put { row: &row, at }).await?;
        // Even if no link was read: another process may have put and cached one of the same short.
        Ok(self.feed.append(&row.short).await?)
    }
}
