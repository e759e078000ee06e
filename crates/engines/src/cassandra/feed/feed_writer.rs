//! Appending to the change feed in groups: changes that arrive while others are being written share one
//! row. Under load that is a fraction of the work for the nodes and for all readers of the feed.

use std::{mem, sync::Arc, time::Duration};

use jiff::Timestamp;
use scylla::value::CqlTimestamp;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::timeout,
};
use uuid::Uuid;

use super::bucket_of;
use crate::cassandra::{failure::Failure, session::Session};

/// Changes that wait to be written; past it the callers wait.
const WAITING_MAX: usize = 1_024;

/// Changes in one row.
const TOGETHER_MAX: usize = 100;

/// Rows written concurrently: one that a slow node delays does not delay the next.
const AT_ONCE: usize = 2;

/// Deadline of appending a change, with the wait for its row.
const APPEND_TIMEOUT: Duration = Duration::from_secs(4);

/// Writes changes in groups for as long as it lives.
pub(super) struct FeedWriter(mpsc::Sender<QueuedChange>);

/// A change to write, and the channel to its waiting caller.
struct QueuedChange {
    short: Box<str>,
    reply: oneshot::Sender<Result<(), Arc<Failure>>>,
}

impl FeedWriter {
    pub(super) fn new(session: Arc<Session>) -> Self {
        let (sender, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(write_all(session, waiting));
        Self(sender)
    }

    /// Appends a change of a link, and waits until it is written.
    pub(super) async fn append(&self, short: &str) -> Result<(), Failure> {
        let unknown = |why: &str| Failure::Unknown(why.into());
        let (reply, outcome) = oneshot::channel();
        let appended = async {
            self.0.send(QueuedChange { short: short.into(), reply }).await.ok()?;
            outcome.await.ok()
        };
        let outcome =
            timeout(APPEND_TIMEOUT, appended).await.map_err(|_| unknown("it timed out"))?;
        let outcome = outcome.ok_or_else(|| unknown("the feed writer has ended"))?;
        outcome.map_err(|failure| Failure::Unknown(failure.into()))
    }
}

/// Writes changes until the channel is closed.
async fn write_all(session: Arc<Session>, mut waiting: mpsc::Receiver<QueuedChange>) {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut together = Vec::new();
    while let Ok(turn) = Arc::clone(&turns).acquire_owned().await {
        if waiting.recv_many(&mut together, TOGETHER_MAX).await == 0 {
            return;
        }
        let (session, changes) = (Arc::clone(&session), mem::take(&mut together));
        tokio::spawn(async move {
            let written = write(&session, &changes).await.map_err(Arc::new);
            drop(turn);
            for change in changes {
                // The caller may have stopped waiting.
                let _ = change.reply.send(written.clone());
            }
        });
    }
}

async fn write(session: &Session, changes: &[QueuedChange]) -> Result<(), Failure> {
    let now = Timestamp::now().as_millisecond();
    let shorts: Vec<&str> = changes.iter().map(|change| &*change.short).collect();
    let values = (bucket_of(now), CqlTimestamp(now), Uuid::new_v4(), shorts);
    session.statements.tell_change.run(values).await?;
    Ok(())
}
