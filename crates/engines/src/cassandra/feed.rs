//! The change feed: rows that name edited or deleted links, in partitions by time, written before the
//! change is acknowledged. A reader reads the rows since its last read, overlapping by some seconds,
//! because a row may arrive later than its timestamp.

mod feed_writer;

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

use self::feed_writer::FeedWriter;
use super::{failure::Failure, session::Session};

/// The time that a partition covers.
const BUCKET_MS: i64 = 10_000;

/// How far each read overlaps the last: longer than a write may take plus clock skew.
const BACK_MS: i64 = 8_000;

const KEPT_MS: i64 = FEED_KEPT.as_secs() * 1_000;

/// Partitions that are read concurrently.
const BUCKETS_AT_ONCE: usize = 8;

/// How far ahead a writer's clock may be.
const AHEAD_MS: i64 = 2_000;

/// How long a row may be read again.
const AGAIN_MS: i64 = BACK_MS + AHEAD_MS;

/// The feed of one process.
pub(crate) struct Feed {
    session: Arc<Session>,
    writer: FeedWriter,
    /// Rows already returned, with the time until which they may be read again. A process gets its own
    /// changes, too: what it cached just after a write may come from a lagging replica.
    known: Mutex<HashMap<Uuid, i64>>,
    /// The time of the last successful read. A process that hung, or could not reach the store, resumes
    /// there, however long ago that is.
    read_ms: AtomicI64,
}

/// A row: its id, and the shorts of the changed links.
type Row = (Uuid, Vec<String>);

/// The partition of a time in milliseconds since 1970.
fn bucket_of(at: i64) -> i64 {
    at.div_euclid(BUCKET_MS)
}

impl Feed {
    /// Must be called within a runtime, on which the rows are written.
    pub(crate) fn new(session: Arc<Session>) -> Self {
        let read_ms = AtomicI64::new(Timestamp::now().as_millisecond());
        let writer = FeedWriter::new(Arc::clone(&session));
        Self { session, writer, known: Mutex::default(), read_ms }
    }

    /// Appends a change of a link.
    pub(crate) async fn append(&self, short: &str) -> Result<(), Failure> {
        self.writer.append(short).await
    }

    /// Reads the rows since a time, and some older ones.
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
        // No await from here on: a row that is marked as known is also returned.
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
