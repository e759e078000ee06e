//! The change feed: rows that name what was edited or deleted, in partitions by time, written before
//! that is acknowledged. Readers ask for what came since they last did, and for some seconds before that again
//! and again, because a row may arrive later than its time says.

mod teller;

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

use self::teller::Teller;
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

/// How long a row may come again.
const AGAIN_MS: i64 = BACK_MS + AHEAD_MS;

/// The feed of one process.
pub(crate) struct Feed {
    session: Arc<Session>,
    teller: Teller,
    /// Rows that have been heard of, with the time until which they may come again. A process hears of
    /// its own as well: what it remembered just after a write may come from a replica that lags.
    known: Mutex<HashMap<Uuid, i64>>,
    /// When it was last read with success. A process that has hung, or could not reach the store, reads
    /// from there on, however long ago that is.
    read_ms: AtomicI64,
}

/// A row: its id, and the links that have changed.
type Row = (Uuid, Vec<String>);

/// The partition of a time in milliseconds since 1970.
fn bucket_of(at: i64) -> i64 {
    at.div_euclid(BUCKET_MS)
}

impl Feed {
    /// The feed of this process. It is made within a runtime, which writes what is told.
    pub(crate) fn new(session: Arc<Session>) -> Self {
        let read_ms = AtomicI64::new(Timestamp::now().as_millisecond());
        let teller = Teller::new(Arc::clone(&session));
        Self { session, teller, known: Mutex::default(), read_ms }
    }

    /// Tells all processes that a link has changed.
    pub(crate) async fn tell(&self, short: &str) -> Result<(), Failure> {
        self.teller.tell(short).await
    }

    /// The rows since a time, with some that are older.
    async fn rows(&self, now: i64, since: i64) -> Result<Vec<Row>> {
        let since = since.max(now - KEPT_MS) - BACK_MS;
        let read = |bucket| async move {
            let values = (bucket, CqlTimestamp(since));
            self.session.statements.changes.all(values).await
        };
        let buckets = bucket_of(since)..=bucket_of(now + AHEAD_MS);
        let rows = stream::iter(buckets).map(read).buffered(BUCKETS_AT_ONCE);
        let rows: Vec<Vec<Row>> = rows.try_collect().await?;
        Ok(rows.into_iter().flatten().collect())
    }
}

#[async_trait]
impl ChangeFeed for Feed {
    async fn changed(&self) -> Result<Vec<Short>> {
        let now = Timestamp::now().as_millisecond();
        let rows = self.rows(now, self.read_ms.load(Ordering::Acquire).min(now)).await?;
        // From here on nothing waits: what is known is told.
        let mut known = self.known.lock();
        let new = rows.into_iter().filter(|(id, _)| known.insert(*id, now + AGAIN_MS).is_none());
        let changed = new.flat_map(|(_, shorts)| shorts).map(Short::stored).collect();
        known.retain(|_, until| *until > now);
        drop(known);
        self.read_ms.store(now, Ordering::Release);
        Ok(changed)
    }

    async fn changed_since(&self, since: Timestamp) -> Result<Vec<Short>> {
        let now = Timestamp::now().as_millisecond();
        let rows = self.rows(now, since.as_millisecond()).await?;
        Ok(rows.into_iter().flat_map(|(_, shorts)| shorts).map(Short::stored).collect())
    }
}
