//! The newest `PUT` wins: plain writes, ordered by the time that was minted for them, so that it does
//! not matter in which order they arrive, or how often.

use lodge_domain::{
    Result,
    links::{Link, Replaced, Replacement},
};
use scylla::SerializeRow;

use super::{CassandraLinks, LinkRow};

/// A row with the time of its write.
#[derive(SerializeRow)]
pub(super) struct Put<'a> {
    #[scylla(flatten)]
    pub(super) row: &'a LinkRow,
    /// Microseconds since 1970.
    pub(super) at: i64,
}

impl CassandraLinks {
    /// Puts `link` where its short leads, unless what is there is newer.
    pub(super) async fn put(&self, link: Link) -> Result<Replaced> {
        // A POST that has found the short free must not write over what is put meanwhile.
        let _turn = self.rows.of(link.short.as_str().as_bytes()).await?;
        let was = self.kept(&link.short).await?;
        let (target, at) = (link.target.clone(), link.changed_at);
        match link.replacing(was) {
            Replacement::Stays(is) => {
                if is.link.changed_at == at && is.link.target == target {
                    // A repetition of this very write, of which nobody may have been told.
                    self.feed.tell(is.link.short.as_str()).await?;
                }
                Ok(is)
            }
            Replacement::Becomes(is) => {
                self.write_plainly(&is.link).await?;
                Ok(is)
            }
        }
    }

    /// Writes a link with the time that was minted for it, and tells of it.
    pub(super) async fn write_plainly(&self, link: &Link) -> Result<()> {
        let row = LinkRow::of(link);
        let at = link.changed_at.as_microsecond();
        self.session.statements.put.run(Put { row: &row, at }).await?;
        // Even if nothing was there: somebody else may have put, and remembered, the same.
        Ok(self.feed.tell(&row.short).await?)
    }
}
