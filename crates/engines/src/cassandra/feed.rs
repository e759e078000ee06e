//! The change feed: a row for every edit and deletion, in partitions by time, written before the edit
//! is acknowledged. Readers ask for what came since they last did, and for some seconds before that again
//! and again, because a row may arrive later than its time says.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use lodge_domain::{
    Result,
    links::{ChangeFeed, FEED_KEPT, Short},
};
use parking_lot::Mutex;
use scylla::value::CqlTimestamp;
use uuid::Uuid;

use super::{failure::Failure, session::Session};

/// The length of a partition.
const BUCKET_MS: i64 = 10_000;

/// How far back each reading goes: longer than a write may take, and clocks may differ, together.
const BACK_MS: i64 = 8_000;

const KEPT_MS: i64 = FEED_KEPT.as_secs() * 1_000;

/// Partitions that are read at once.
const BUCKETS_AT_ONCE: usize = 8;

/// How far ahead a writer's clock may be.
const AHEAD_MS: i64 = 2_000;

/// The feed of one process.
pub(crate) struct Feed {
    session: Arc<Session>,
    /// Rows that need not be told again, with the time until which they may come.
    known: Mutex<HashMap<Uuid, i64>>,
    /// When it was last read with success. A process that has hung, or could not reach the store, reads
    /// from there on, however long ago that is.
    read_ms: AtomicI64,
}

impl Feed {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        let read_ms = AtomicI64::new(Timestamp::now().as_millisecond());
        Self { session, known: Mutex::default(), read_ms }
    }

    /// Tells the other processes that a link has changed.
    pub(crate) async fn tell(&self, short: &str) -> Result<(), Failure> {
        let (now, id) = (Timestamp::now().as_millisecond(), Uuid::new_v4());
        self.know(id, now);
        let values = (now.div_euclid(BUCKET_MS), CqlTimestamp(now), id, short);
        self.session.run(&self.session.statements.tell_change, values).await?;
        Ok(())
    }

    /// Whether a row is new here.
    fn know(&self, id: Uuid, now: i64) -> bool {
        self.known.lock().insert(id, now + BACK_MS + AHEAD_MS).is_none()
    }

    /// The rows since a time, with some that are older.
    async fn rows(&self, now: i64, since: i64) -> Result<Vec<(Uuid, String)>> {
        let since = since.max(now - KEPT_MS) - BACK_MS;
        let buckets = since.div_euclid(BUCKET_MS)..=(now + AHEAD_MS).div_euclid(BUCKET_MS);
        let read = |bucket| async move {
            let values = (bucket, CqlTimestamp(since));
            self.session.all(&self.session.statements.changes, values).await
        };
        let rows = stream::iter(buckets).map(read).buffered(BUCKETS_AT_ONCE);
        let rows: Vec<Vec<(Uuid, String)>> = rows.try_collect().await?;
        Ok(rows.into_iter().flatten().collect())
    }
}

#[async_trait]
impl ChangeFeed for Feed {
    async fn changed(&self) -> Result<Vec<Short>> {
        let now = Timestamp::now().as_millisecond();
        let rows = self.rows(now, self.read_ms.load(Ordering::Acquire).min(now)).await?;
        // From here on nothing waits: what is known is told.
        let new = rows.into_iter().filter(|(id, _)| self.know(*id, now));
        let changed = new.map(|(_, short)| Short::stored(short)).collect();
        self.known.lock().retain(|_, until| *until > now);
        self.read_ms.store(now, Ordering::Release);
        Ok(changed)
    }

    async fn changed_since(&self, since: Timestamp) -> Result<Vec<Short>> {
        let now = Timestamp::now().as_millisecond();
        let rows = self.rows(now, since.as_millisecond()).await?;
        Ok(rows.into_iter().map(|(_, short)| Short::stored(short)).collect())
    }
}
