//! Telling of changes: those that come while others are being told of go together in one row. Under load
//! that is a fraction of the work, for the nodes and for all who read the feed.

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

/// Changes that wait to be told of; past it those who bring them wait.
const WAITING_MAX: usize = 1_024;

/// Changes in one row.
const TOGETHER_MAX: usize = 100;

/// Rows written at once: one that a node holds up does not hold up the next.
const AT_ONCE: usize = 2;

/// How long it may take to tell of a change, with the wait for its row's turn.
const PATIENCE: Duration = Duration::from_secs(4);

/// Tells of changes for as long as it lives.
pub(super) struct Teller(mpsc::Sender<Telling>);

/// A change that is to be told of, and who waits for that.
struct Telling {
    short: Box<str>,
    told: oneshot::Sender<Result<(), Arc<Failure>>>,
}

impl Teller {
    pub(super) fn new(session: Arc<Session>) -> Self {
        let (teller, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(tell_all(session, waiting));
        Self(teller)
    }

    /// Tells all processes that a link has changed.
    pub(super) async fn tell(&self, short: &str) -> Result<(), Failure> {
        let untold = |why: &str| Failure::Unknown(why.into());
        let (told, outcome) = oneshot::channel();
        let telling = async {
            self.0.send(Telling { short: short.into(), told }).await.ok()?;
            outcome.await.ok()
        };
        let outcome = timeout(PATIENCE, telling).await.map_err(|_| untold("it takes too long"))?;
        let outcome = outcome.ok_or_else(|| untold("whoever tells of changes is gone"))?;
        outcome.map_err(|failure| Failure::Unknown(failure.into()))
    }
}

/// Tells of what comes until nobody is there any more to bring it.
async fn tell_all(session: Arc<Session>, mut waiting: mpsc::Receiver<Telling>) {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut together = Vec::new();
    while let Ok(turn) = Arc::clone(&turns).acquire_owned().await {
        if waiting.recv_many(&mut together, TOGETHER_MAX).await == 0 {
            return;
        }
        let (session, tellings) = (Arc::clone(&session), mem::take(&mut together));
        tokio::spawn(async move {
            let written = write(&session, &tellings).await.map_err(Arc::new);
            drop(turn);
            for telling in tellings {
                // Who has stopped waiting need not know.
                let _ = telling.told.send(written.clone());
            }
        });
    }
}

async fn write(session: &Session, tellings: &[Telling]) -> Result<(), Failure> {
    let now = Timestamp::now().as_millisecond();
    let shorts: Vec<&str> = tellings.iter().map(|telling| &*telling.short).collect();
    let values = (bucket_of(now), CqlTimestamp(now), Uuid::new_v4(), shorts);
    session.statements.tell_change.run(values).await?;
    Ok(())
}
