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
    Attempt, Done, Error, Result,
    links::{
        Candidate, Claim, Link, LinkCopies, LinkId, LinkQuery, LinkStore, Outcome, Refusal,
        Replaced, Short, TakenClick,
    },
};
use scylla::SerializeRow;
use uuid::Uuid;

use super::{
    attempts::Plan, breaker::Breaker, failure::Failure, feed::Feed, prepared::Prepared,
    row::LinkRow, session::Session, turns::Turns,
};

/// Tries of a transaction that conflicts with concurrent writes, or whose unknown outcome turned out to
/// be "not applied".
const TRIES: usize = 8;

const SILENT: &str = "Cassandra does not answer; the next try is in less than a second";

/// Tries of a read at ONE.
const ANYWHERE: usize = 3;

/// Rows that one request reads concurrently.
const AT_ONCE: usize = 16;

/// Links in the cluster.
pub(crate) struct CassandraLinks {
    pub(super) session: Arc<Session>,
    feed: Arc<Feed>,
    silence: Breaker,
    rows: Turns,
    pub(super) attempts: Turns,
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
            silence: Breaker::default(),
            rows: Turns::new(),
            attempts: Turns::new(),
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
    pub(super) async fn execute(&self, plan: &Plan) -> Result<Option<Outcome>> {
        match plan {
            Plan::Claim { candidates, reserved_seconds } => {
                let reserved = SignedDuration::from_secs(*reserved_seconds);
                self.claim_all(candidates.clone(), reserved).await.map(Outcome::Claims).map(Some)
            }
            Plan::Replace { link } => self.put(link.clone()).await.map(Outcome::Replaced).map(Some),
            Plan::Change { link, write } => {
                Ok(self.rewrite_as(link.clone(), *write).await?.map(Outcome::Changed))
            }
        }
    }
}

#[async_trait]
impl LinkStore for CassandraLinks {
    async fn recall(&self, attempt: &Attempt) -> Result<Option<Outcome>> {
        self.outcome_of(attempt).await
    }

    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        attempt: Option<Attempt>,
    ) -> Result<Done<Vec<Claim>>> {
        let storable = |Candidate { link, spares }| Candidate { link: link.storable(), spares };
        let candidates = candidates.into_iter().map(|candidate| candidate.map(storable));
        let plan = Plan::claim(candidates.collect(), reserved);
        finished(self.once(attempt, plan).await?, Outcome::claims)
    }

    async fn replace(&self, link: Link, attempt: Option<Attempt>) -> Result<Done<Replaced>> {
        finished(self.once(attempt, Plan::Replace { link }).await?, Outcome::replaced)
    }

    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        let trial = self.silence.trial().ok_or_else(|| Error::unavailable(SILENT))?;
        let found = self.kept(short).await;
        trial.ended(!matches!(found, Err(Failure::Unknown(_))));
        Ok(found?.map(Arc::new))
    }

    fn copies(&self) -> Option<&dyn LinkCopies> {
        Some(self)
    }

    async fn change(&self, link: Link, attempt: Option<Attempt>) -> Result<Option<Done<Link>>> {
        let plan = Plan::Change { link, write: Uuid::new_v4() };
        let done = self.once(attempt, plan).await?;
        done.map(|done| finished(Some(done), Outcome::changed)).transpose()
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
                Err(Failure::Unknown(_)) if tries < ANYWHERE => tries += 1,
                found => return Ok(found?.map(Arc::new)),
            }
        }
    }
}

/// Unwraps the outcome of a write that is never refused.
fn finished<T>(
    done: Option<Done<Outcome>>,
    form: impl FnOnce(Outcome) -> Result<T>,
) -> Result<Done<T>> {
    let done = done.ok_or_else(|| Error::internal("a write without an outcome"))?;
    Ok(Done { outcome: form(done.outcome)?, replayed: done.replayed })
}

/// Retries a transaction that lost to a concurrent write of the row, with a pause that doubles from 1 ms.
async fn contend<T, F: Future<Output = Result<Option<T>, Failure>>>(
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
