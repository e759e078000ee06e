//! The cluster as the destination of a move. A move writes as servers do: links by the protocol of the
//! deployment's mode; keys, outcomes and settings by lightweight transactions; clicks as the counts of one
//! more process. So servers may run meanwhile, and may meet a transaction that a killed move left
//! unfinished.

use std::{future, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use lodge_domain::{
    Error, Result,
    links::{
        Link, LinkId, Mode, Short, StoredLinkOutcome,
        moving::{
            BELONGS_TO_ANOTHER, Checkpoint, Clicks, Destination, DestinationState, MovingLink,
            ReadBack, StoredKey, StoredOutcome,
        },
    },
    secret::InstallationSecret,
};
use uuid::Uuid;

use super::{
    clicks::CassandraClicks,
    failure::Failure,
    idempotency::Plan,
    keys::CassandraKeys,
    links::CassandraLinks,
    row::milliseconds,
    session::{SECRET, Session},
};

/// The setting that stores the checkpoint of a move.
const CHECKPOINT: &str = "move";

/// Tries of an operation while the cluster is unavailable, with a backoff that doubles up to the longest
/// pause: half a minute in total.
const TRIES: u32 = 12;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The cluster, for a move.
pub(crate) struct Moving {
    session: Arc<Session>,
    links: CassandraLinks,
    clicks: CassandraClicks,
    keys: CassandraKeys,
    mode: Mode,
}

impl Moving {
    pub(crate) fn new(session: Arc<Session>, links: CassandraLinks, mode: Mode) -> Self {
        let clicks = CassandraClicks::new(Arc::clone(&session));
        let keys = CassandraKeys(Arc::clone(&session));
        Self { session, links, clicks, keys, mode }
    }

    async fn record(&self) -> Result<Option<Vec<u8>>> {
        retry(|| self.session.setting(CHECKPOINT)).await
    }

    async fn is_used(&self) -> Result<bool> {
        let link: Option<(String,)> = self.session.statements.any_link.first(()).await?;
        Ok(link.is_some() || !self.keys.stored().await?.is_empty())
    }

    /// Adds an outcome, unless there is one of the same idempotency key.
    async fn add_outcome(&self, stored: &StoredOutcome) -> Result<()> {
        let plan = text(&plan_of(&stored.outcome))?;
        let (outcome, attempt) = (text(&stored.outcome)?, &stored.attempt);
        let (id, print) = (&attempt.id[..], &attempt.fingerprint[..]);
        let values = (id, print, milliseconds(attempt.at), plan, outcome);
        self.session.statements.put_outcome.transact(values).await?;
        Ok(())
    }
}

#[async_trait]
impl Destination for Moving {
    async fn state(&self) -> Result<DestinationState> {
        let secret = retry(|| self.session.setting(SECRET)).await?;
        let secret = secret.map(|secret| <[u8; 32]>::try_from(secret).map(InstallationSecret::new));
        let secret =
            secret.transpose().map_err(|_| Error::internal("the secret is not 32 bytes"))?;
        let record = self.record().await?;
        let record = record.map(|record| serde_json::from_slice(&record)).transpose();
        let is_used = retry(|| self.is_used()).await?;
        Ok(DestinationState { secret, record: record.map_err(Error::internal)?, is_used })
    }

    async fn begin(&self, secret: &InstallationSecret, record: &Checkpoint) -> Result<()> {
        let kept = retry(|| self.session.secret(*secret.reveal())).await?;
        if kept != *secret.reveal() {
            return Err(Error::conflict(BELONGS_TO_ANOTHER));
        }
        let record = serde_json::to_vec(record).map_err(Error::internal)?;
        let add = &self.session.statements.add_setting;
        retry(|| add.transact((CHECKPOINT, &record[..]))).await.map(drop)
    }

    async fn save_checkpoint(&self, record: &Checkpoint) -> Result<()> {
        let is = serde_json::to_vec(record).map_err(Error::internal)?;
        retry(|| async {
            let was = self.session.setting(CHECKPOINT).await?;
            if was.as_ref() == Some(&is) {
                return Ok(());
            }
            let values = (&is[..], CHECKPOINT, was);
            if self.session.statements.change_setting.transact(values).await? {
                return Ok(());
            }
            Err(Error::unavailable("another move changed the checkpoint meanwhile"))
        })
        .await
    }

    async fn put_key(&self, key: &StoredKey) -> Result<()> {
        retry(|| self.keys.put(key)).await
    }

    async fn put_link(&self, moving: &MovingLink, incarnation: Uuid) -> Result<()> {
        retry(|| self.links.put_as_is(&moving.link, self.mode)).await?;
        let (link, clicks) = (moving.link.id, &moving.clicks);
        retry(|| self.clicks.put(link, clicks, incarnation)).await
    }

    async fn put_outcome(&self, outcome: &StoredOutcome) -> Result<()> {
        retry(|| self.add_outcome(outcome)).await
    }
}

#[async_trait]
impl ReadBack for Moving {
    async fn keys(&self) -> Result<Vec<StoredKey>> {
        retry(|| self.keys.reachable()).await
    }

    async fn links(&self, after: Option<Short>, limit: usize) -> Result<Vec<Link>> {
        retry(|| self.links.walk(after.as_ref(), limit, |_| true)).await
    }

    async fn find(&self, short: &Short) -> Result<Option<Link>> {
        retry(|| self.links.kept(short)).await
    }

    async fn clicks(&self, link: LinkId) -> Result<Clicks> {
        retry(|| self.clicks.of(link)).await
    }

    async fn clicks_total(&self) -> Result<u64> {
        retry(|| async {
            let days = self.session.statements.all_days.rows(()).await?;
            let add = |sum: u64, (clicks,): (i64,)| future::ready(Ok(sum + clicks.cast_unsigned()));
            days.map_err(Failure::from).try_fold(0, add).await
        })
        .await
    }
}

/// A plan of the same kind as an outcome. It is never executed, because its outcome is stored.
fn plan_of(outcome: &StoredLinkOutcome) -> Plan {
    match outcome {
        StoredLinkOutcome::Claims(_) => Plan::claim(Vec::new(), jiff::SignedDuration::ZERO),
        StoredLinkOutcome::Replaced(replaced) => Plan::Replace { link: replaced.link.clone() },
        StoredLinkOutcome::Changed(link) => Plan::Change { link: link.clone(), write: Uuid::nil() },
    }
}

fn text(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(Error::internal)
}

/// Retries an operation with backoff while the cluster is unavailable.
async fn retry<T, E, F>(mut attempt: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T, E>>,
    E: Into<Error>,
{
    let mut pause = FIRST_PAUSE;
    for _ in 1..TRIES {
        match attempt().await.map_err(Into::into) {
            Err(Error::Unavailable { .. }) => tokio::time::sleep(pause).await,
            done => return done,
        }
        pause = LONGEST_PAUSE.min(2 * pause);
    }
    attempt().await.map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn failing(times: u32, error: impl Fn() -> Error) -> (Result<()>, u32) {
        let mut tried = 0;
        let done = retry(|| {
            tried += 1;
            future::ready(if tried <= times { Err(error()) } else { Ok(()) })
        });
        (done.await, tried)
    }

    #[tokio::test]
    async fn an_unavailable_cluster_is_retried_and_an_internal_error_is_not() {
        let (done, tried) = failing(2, || Error::unavailable("busy")).await;
        assert_eq!((done.is_ok(), tried), (true, 3));
        let (done, tried) = failing(2, || Error::internal("broken")).await;
        assert_eq!((done.is_ok(), tried), (false, 1));
    }
}
