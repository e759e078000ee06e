//! The store of links.

mod change;
mod claim;
mod list;
mod moving;
mod replace;

use std::{future::Future, sync::Arc};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Error, IdempotencyKey, Idempotent, Result,
    links::{
        Candidate, Claim, Link, LinkCopies, LinkId, LinkQuery, LinkStore, Refusal, Replaced, Short,
        StoredLinkOutcome, TakenClick,
    },
};
use scylla::SerializeRow;
use uuid::Uuid;

use super::{
    breaker::Breaker, failure::Failure, feed::Feed, idempotency::Plan, keyed_mutex::KeyedMutex,
    prepared::Prepared, row::LinkRow, session::Session,
};

/// Tries of a transaction that conflicts with concurrent writes, or whose unknown outcome turned out to
/// be "not applied".
const TRIES: usize = 8;

const BREAKER_OPEN: &str = "Cassandra does not answer; the next try is in less than a second";

/// Tries of a read at ONE.
const READ_ONE_TRIES: usize = 3;

/// Rows that one request reads concurrently.
const AT_ONCE: usize = 16;

/// Links in the cluster.
pub(crate) struct CassandraLinks {
    pub(super) session: Arc<Session>,
    feed: Arc<Feed>,
    breaker: Breaker,
    row_locks: KeyedMutex,
    pub(super) key_locks: KeyedMutex,
}

/// A row, and the previous version that it replaces.
#[derive(SerializeRow)]
struct Rewrite<'a> {
    #[scylla(flatten)]
    row: &'a LinkRow,
    was_id: Uuid,
    was_version: i64,
    was_used: Option<i64>,
}

impl CassandraLinks {
    pub(crate) fn new(session: Arc<Session>, feed: Arc<Feed>) -> Self {
        Self {
            session,
            feed,
            breaker: Breaker::default(),
            row_locks: KeyedMutex::new(),
            key_locks: KeyedMutex::new(),
        }
    }

    async fn read(&self, statement: &Prepared, short: &Short) -> Result<Option<Link>, Failure> {
        let row: Option<LinkRow> = statement.first((short.as_str(),)).await?;
        row.map(LinkRow::link).transpose()
    }

    /// Reads the link of a short at QUORUM.
    pub(super) async fn kept(&self, short: &Short) -> Result<Option<Link>, Failure> {
        self.read(&self.session.statements.find, short).await
    }

    /// Reads a row at SERIAL: as the last transaction left it.
    async fn current(&self, short: &Short) -> Result<Option<LinkRow>, Failure> {
        self.session.statements.find_serial.first((short.as_str(),)).await
    }

    /// Inserts a row where there never was one: rows are overwritten and never deleted, so no older value
    /// remains in the columns that this one leaves unset. An unknown outcome is settled by a read.
    async fn insert(&self, row: &LinkRow) -> Result<bool, Failure> {
        let inserted = self.session.statements.insert.transact(row.fresh()).await;
        self.settle(row, inserted).await
    }

    /// Replaces a row, if its previous version is still stored.
    async fn rewrite(&self, was: &LinkRow, row: &LinkRow) -> Result<bool, Failure> {
        let (was_id, was_version, was_used) = (was.id, was.version, was.clicks_used);
        let values = Rewrite { row, was_id, was_version, was_used };
        let written = self.session.statements.rewrite.transact(values).await;
        self.settle(row, written).await
    }

    /// Settles the outcome of a transaction. A failure leaves it unknown, but the row stores its latest
    /// writes, and a serial read finishes the transaction, so that it cannot be applied later.
    async fn settle(&self, row: &LinkRow, done: Result<bool, Failure>) -> Result<bool, Failure> {
        let Err(Failure::Unknown(_)) = &done else { return done };
        let write = row.writes.as_ref().and_then(|writes| writes.first()).copied();
        let Ok(is) = self.current(&Short::stored(row.short.clone())).await else { return done };
        Ok(is.is_some_and(|is| write.is_some_and(|write| is.has(write))))
    }

    /// Executes a plan; returns `None` for a refused change.
    pub(super) async fn execute(&self, plan: &Plan) -> Result<Option<StoredLinkOutcome>> {
        match plan {
            Plan::Claim { candidates, reserved_seconds } => {
                let reserved = SignedDuration::from_secs(*reserved_seconds);
                self.claim_all(candidates.clone(), reserved)
                    .await
                    .map(StoredLinkOutcome::Claims)
                    .map(Some)
            }
            Plan::Replace { link } => {
                self.put(link.clone()).await.map(StoredLinkOutcome::Replaced).map(Some)
            }
            Plan::Change { link, write } => {
                Ok(self.rewrite_as(link.clone(), *write).await?.map(StoredLinkOutcome::Changed))
            }
        }
    }
}

#[async_trait]
impl LinkStore for CassandraLinks {
    async fn stored_outcome(
        &self,
        idempotency: &IdempotencyKey,
    ) -> Result<Option<StoredLinkOutcome>> {
        self.load_outcome(idempotency).await
    }

    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Vec<Claim>>> {
        let storable = |Candidate { link, spares }| Candidate { link: link.storable(), spares };
        let candidates = candidates.into_iter().map(|candidate| candidate.map(storable));
        let plan = Plan::claim(candidates.collect(), reserved);
        finished(self.idempotent(idempotency, plan).await?, StoredLinkOutcome::claims)
    }

    async fn replace(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Replaced>> {
        finished(
            self.idempotent(idempotency, Plan::Replace { link }).await?,
            StoredLinkOutcome::replaced,
        )
    }

    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        let trial = self.breaker.trial().ok_or_else(|| Error::unavailable(BREAKER_OPEN))?;
        let found = self.kept(short).await;
        trial.record(!matches!(found, Err(Failure::Unknown(_))));
        Ok(found?.map(Arc::new))
    }

    fn copies(&self) -> Option<&dyn LinkCopies> {
        Some(self)
    }

    async fn change(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Option<Idempotent<Link>>> {
        let plan = Plan::Change { link, write: Uuid::new_v4() };
        let done = self.idempotent(idempotency, plan).await?;
        done.map(|done| finished(Some(done), StoredLinkOutcome::changed)).transpose()
    }

    async fn take_click(&self, short: &Short, id: LinkId, at: Timestamp) -> Result<TakenClick> {
        self.take(short, id, at).await
    }

    async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        self.owned(query).await
    }

    async fn page(&self, after: Option<Short>, limit: usize) -> Result<Vec<Arc<Link>>> {
        let links = self.walk(after.as_ref(), limit, |link| link.deleted_at.is_none()).await?;
        Ok(links.into_iter().map(Arc::new).collect())
    }
}

#[async_trait]
impl LinkCopies for CassandraLinks {
    async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        let mut tries = 1;
        loop {
            match self.read(&self.session.statements.find_anywhere, short).await {
                // The coordinator may read from a node that has just ended, until it notices.
                Err(Failure::Unknown(_)) if tries < READ_ONE_TRIES => tries += 1,
                found => return Ok(found?.map(Arc::new)),
            }
        }
    }
}

/// Unwraps the outcome of a write that is never refused.
fn finished<T>(
    done: Option<Idempotent<StoredLinkOutcome>>,
    form: impl FnOnce(StoredLinkOutcome) -> Result<T>,
) -> Result<Idempotent<T>> {
    let done = done.ok_or_else(|| Error::internal("a write without an outcome"))?;
    Ok(Idempotent { outcome: form(done.outcome)?, replayed: done.replayed })
}

/// Retries a transaction that lost to a concurrent write of the row, with a pause that doubles from 1 ms.
async fn retry_on_conflict<T, F: Future<Output = Result<Option<T>, Failure>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<T> {
    for tried in 0..TRIES {
        if let Some(done) = attempt().await? {
            return Ok(done);
        }
        tokio::time::sleep(std::time::Duration::from_millis(1 << tried)).await;
    }
    Err(Error::unavailable("too many concurrent writes of the same row"))
}
