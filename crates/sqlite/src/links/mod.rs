//! The link store.

pub(crate) mod change;
mod claim;
pub(crate) mod find;
pub(crate) mod list;
mod outcomes;
mod replace;
pub(crate) mod row;
mod search;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    IdempotencyKey, Idempotent, Result,
    links::{
        Candidate, Claim, Link, LinkId, LinkQuery, LinkStore, Refusal, Replaced, Short,
        StoredLinkOutcome, TakenClick,
    },
};

#[cfg(test)]
pub(crate) use {claim::DELETE_CLICKS, search::Plan};
pub(crate) use {claim::delete, find::by_short};

use lodge_sql::{
    App,
    outcomes::{idempotent, stored_outcome},
};

use crate::{engine::Engine, tx::SqliteTx};

/// The [`LinkStore`] of the engine, without a cache.
pub(crate) struct SqliteLinks(pub(crate) Arc<Engine>);

#[async_trait]
impl LinkStore for SqliteLinks {
    async fn stored_outcome(
        &self,
        idempotency: &IdempotencyKey,
    ) -> Result<Option<StoredLinkOutcome>> {
        let idempotency = idempotency.clone();
        let kept =
            move |connection: &_| Ok(stored_outcome(&mut SqliteTx(connection), &idempotency)?);
        self.0.readers.read(App::Links, kept).await
    }

    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Vec<Claim>>> {
        let work = move |connection: &_| {
            idempotent(&mut SqliteTx(connection), idempotency.as_ref(), &outcomes::CLAIMS, |_| {
                claim::claim_all(connection, candidates, reserved)
            })
        };
        self.0.writer.write(App::Links, work).await
    }

    async fn replace(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Replaced>> {
        let work = move |connection: &_| {
            idempotent(&mut SqliteTx(connection), idempotency.as_ref(), &outcomes::REPLACED, |_| {
                replace::replace(connection, link)
            })
        };
        self.0.writer.write(App::Links, work).await
    }

    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        let short = short.clone();
        let find = move |connection: &_| {
            Ok(find::by_short(connection, &short)?.map(|stored| Arc::new(stored.link)))
        };
        self.0.readers.read(App::Links, find).await
    }

    async fn change(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Option<Idempotent<Link>>> {
        let work = move |connection: &_| {
            outcomes::idempotent_if_done(connection, idempotency.as_ref(), || {
                change::change(connection, link)
            })
        };
        self.0.writer.write(App::Links, work).await
    }

    async fn take_click(&self, short: &Short, id: LinkId, at: Timestamp) -> Result<TakenClick> {
        let short = short.clone();
        let take = move |connection: &_| change::take_click(connection, &short, id, at);
        self.0.writer.write(App::Links, take).await
    }

    async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        let readers = if query.is_search() { &self.0.link_searches } else { &self.0.scans };
        readers.read(App::Links, move |connection| list::list(connection, &query)).await
    }

    async fn page(&self, after: Option<Short>, limit: usize) -> Result<Vec<Arc<Link>>> {
        self.0
            .exports
            .read(App::Links, move |connection| list::page(connection, after.as_ref(), limit))
            .await
    }
}
