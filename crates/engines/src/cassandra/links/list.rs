//! Lists of an owner's links. Their rows only refer to links, which are read and checked: a dangling row
//! is skipped, so that a list need not change atomically with its link.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, future};
use lodge_domain::{
    Error, Result,
    links::{Link, LinkQuery, Owner, Short, Tags},
};
use scylla::client::pager::TypedRowStream;
use uuid::Uuid;

use super::{AT_ONCE, CassandraLinks, LinkRow};
use crate::cassandra::failure::Failure;

impl CassandraLinks {
    /// Returns an owner's links, newest first.
    pub(super) async fn owned(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        if query.search.as_ref().is_some_and(|words| !words.trim().is_empty()) {
            return Err(Error::invalid(
                "search",
                "is unsupported on this server; use tag, or the beginning of a short as prefix",
            ));
        }
        let (statements, owner) = (&self.session.statements, query.owner.to_number());
        let below = query.after.map_or(Uuid::max(), |id| id.0);
        let rows: TypedRowStream<(Uuid, String)> = match &query.tag {
            Some(tag) => statements.tagged.rows((owner, tag, below)).await?,
            None => statements.owned.rows((owner, below)).await?,
        };
        let prefix = query.prefix.clone().unwrap_or_default();
        let links = rows
            .map_err(|error| Error::from(Failure::from(error)))
            .try_filter(|(_, short)| future::ready(short.starts_with(&prefix)))
            .map_ok(|(id, short)| self.listed(id, short))
            .try_buffered(AT_ONCE)
            .try_filter_map(|link| future::ready(Ok(link)))
            .try_filter(|link| future::ready(query.takes(link)))
            .take(query.limit);
        links.try_collect().await
    }

    /// Returns the link that a list's row refers to, unless it is deleted or replaced.
    async fn listed(&self, id: Uuid, short: String) -> Result<Option<Arc<Link>>> {
        let link = lodge_domain::links::LinkStore::find(self, &Short::stored(short)).await?;
        Ok(link.filter(|link| link.id.0 == id && link.deleted_at.is_none()))
    }

    /// Returns up to `limit` links that satisfy `is_wanted`, in token order, after the short `after`.
    pub(in crate::cassandra) async fn walk(
        &self,
        after: Option<&Short>,
        limit: usize,
        is_wanted: impl Fn(&Link) -> bool,
    ) -> Result<Vec<Link>> {
        let statements = &self.session.statements;
        let rows: TypedRowStream<LinkRow> = match after {
            Some(short) => statements.page.rows((short.as_str(),)).await?,
            None => statements.first_page.rows(()).await?,
        };
        let links = rows
            .map_err(Failure::from)
            .and_then(|row| future::ready(row.link()))
            .try_filter(|link| future::ready(is_wanted(link)))
            .take(limit);
        Ok(links.try_collect().await?)
    }

    /// Adds the link to the lists of its owner.
    pub(super) async fn index(&self, link: &Link) -> Result<(), Failure> {
        let Some(owner) = link.owner.map(Owner::to_number).filter(|_| link.deleted_at.is_none())
        else {
            return Ok(());
        };
        let (statements, id, short) = (&self.session.statements, link.id.0, link.short.as_str());
        statements.own.run((owner, id, short)).await?;
        for tag in link.tags.as_slice() {
            statements.tag.run((owner, tag, id, short)).await?;
        }
        Ok(())
    }

    /// Removes the link from the lists of its owner. Rows that remain after a failure are skipped by readers.
    pub(super) async fn unindex(&self, link: &Link) {
        let Some(owner) = link.owner.map(Owner::to_number) else { return };
        let disowned = self.session.statements.disown.run((owner, link.id.0)).await;
        if let Err(error) = disowned {
            tracing::debug!(%error, "a row of a list of links could not be removed");
        }
        self.untag(link, &Tags::default()).await;
    }

    /// Removes a link from the lists that it `was` in and no longer `is` in.
    pub(super) async fn reindex(&self, was: &Link, is: &Link) {
        if is.deleted_at.is_some() {
            self.unindex(was).await;
        } else {
            self.untag(was, &is.tags).await;
        }
    }

    async fn untag(&self, link: &Link, but: &Tags) {
        let Some(owner) = link.owner.map(Owner::to_number) else { return };
        for tag in link.tags.as_slice().iter().filter(|tag| !but.as_slice().contains(tag)) {
            let values = (owner, tag, link.id.0);
            if let Err(error) = self.session.statements.untag.run(values).await {
                tracing::debug!(%error, "a row of a list of links could not be removed");
            }
        }
    }
}
