//! The change feed: a row for every edit and deletion, in partitions by time, written before the edit
//! is acknowledged. Readers ask for the last seconds again and again, because a row may arrive later
//! than its time says.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    links::{ChangeFeed, Short},
};
use parking_lot::Mutex;
use scylla::value::CqlTimestamp;
use uuid::Uuid;

use super::{failure::Failure, session::Session};

/// The length of a partition.
const BUCKET_MS: i64 = 10_000;

/// How far back each reading goes: longer than a write may take, and clocks may differ, together.
const BACK_MS: i64 = 8_000;

/// How far ahead a writer's clock may be.
const AHEAD_MS: i64 = 2_000;

/// The feed of one process.
pub(crate) struct Feed {
    session: Arc<Session>,
    /// Rows that need not be told again, with the time until which they may come.
    known: Mutex<HashMap<Uuid, i64>>,
}

impl Feed {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { session, known: Mutex::default() }
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
}

#[async_trait]
impl ChangeFeed for Feed {
    async fn changed(&self) -> Result<Vec<Short>> {
        let now = Timestamp::now().as_millisecond();
        let since = now - BACK_MS;
        let mut changed = Vec::new();
        for bucket in since.div_euclid(BUCKET_MS)..=(now + AHEAD_MS).div_euclid(BUCKET_MS) {
            let values = (bucket, CqlTimestamp(since));
            let rows: Vec<(Uuid, String)> =
                self.session.all(&self.session.statements.changes, values).await?;
            let new = rows.into_iter().filter(|(id, _)| self.know(*id, now));
            changed.extend(new.map(|(_, short)| Short::stored(short)));
        }
        self.known.lock().retain(|_, until| *until > now);
        Ok(changed)
    }
}
