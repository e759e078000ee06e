//! Changes of links, and clicks of links with a click limit.

use jiff::Timestamp;
use lodge_domain::{
    Result,
    links::{Link, LinkId, LinkState, Short, TakenClick},
};
use uuid::Uuid;

use super::{CassandraLinks, LinkRow, retry_on_conflict};

impl CassandraLinks {
    /// Stores `link` over its previous version; returns `None` if another version is stored. The same
    /// write again is found in the row and not repeated.
    pub(super) async fn rewrite_as(&self, link: Link, write: Uuid) -> Result<Option<Link>> {
        let _turn = self.row_locks.lock(link.short.as_str().as_bytes()).await?;
        let (was, is) = match retry_on_conflict(|| self.try_rewrite(&link, write)).await? {
            Rewritten::Now(both) => *both,
            Rewritten::Before(link) => {
                self.feed.append(link.short.as_str()).await?;
                return Ok(Some(*link));
            }
            Rewritten::Refused => return Ok(None),
        };
        // Before the change is acknowledged, and again for a repetition of one that was not.
        self.feed.append(is.short.as_str()).await?;
        self.reindex(&was, &is).await;
        Ok(Some(is))
    }

    async fn try_rewrite(
        &self,
        link: &Link,
        write: Uuid,
    ) -> Result<Option<Rewritten>, super::Failure> {
        let Some(row) = self.current(&link.short).await? else {
            return Ok(Some(Rewritten::Refused));
        };
        if row.has(write) {
            return Ok(Some(Rewritten::Before(Box::new(link.clone().storable()))));
        }
        let was = row.clone().link()?;
        let Some(is) = link.clone().following(&was) else {
            return Ok(Some(Rewritten::Refused));
        };
        // The list's rows are written before the link.
        self.index(&is).await?;
        let done = self.rewrite(&row, &LinkRow::of(&is).written(write, Some(&row))).await?;
        Ok(done.then(|| Rewritten::Now(Box::new((was, is)))))
    }

    /// Commits one click of a link with a click limit.
    pub(super) async fn take(
        &self,
        short: &Short,
        id: LinkId,
        at: Timestamp,
    ) -> Result<TakenClick> {
        let _turn = self.row_locks.lock(short.as_str().as_bytes()).await?;
        retry_on_conflict(|| self.try_take(short, id, at)).await
    }

    async fn try_take(
        &self,
        short: &Short,
        id: LinkId,
        at: Timestamp,
    ) -> Result<Option<TakenClick>, super::Failure> {
        let Some(row) = self.current(short).await? else { return Ok(Some(TakenClick::No)) };
        let mut link = row.clone().link()?;
        let is_live = link.id == id && link.state(at).0 == LinkState::Live;
        let Some(limit) = link.click_limit.as_mut().filter(|_| is_live) else {
            return Ok(Some(TakenClick::No));
        };
        limit.used += 1;
        limit.exhausted_at = (limit.used >= limit.max).then_some(at);
        let taken = LinkRow::of(&link).written(Uuid::new_v4(), Some(&row));
        Ok(self.rewrite(&row, &taken).await?.then_some(TakenClick::Yes))
    }
}

enum Rewritten {
    /// Written now: the previous and the new link.
    Now(Box<(Link, Link)>),
    /// The same write was applied earlier.
    Before(Box<Link>),
    /// Another version is stored.
    Refused,
}
