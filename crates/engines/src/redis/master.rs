//! A master, and the changes that it must get before its answers are valid.

use std::{
    mem,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use redis::{FromRedisValue, RedisError, RedisResult, ScriptInvocation};
use tokio::{sync::Mutex, time::timeout};

use super::node::Node;

/// How long a write may wait for the writes before it.
const WRITE_WAIT_TIMEOUT: Duration = Duration::from_millis(500);

/// A master, and whether every change that this process knows of has been applied to it.
pub(super) struct Master {
    pub(super) node: Node,
    /// The server's run id, which a restart changes.
    pub(super) run_id: String,
    /// Connections for writes that wait for a replica; each runs one write at a time.
    writers: Vec<(Mutex<()>, Node)>,
    turn: AtomicUsize,
    /// Increases when the master may have missed a change.
    required: AtomicU64,
    /// The value of `owed` when the master last got all changes that it may have missed.
    applied: AtomicU64,
}

impl Master {
    pub(super) fn new(node: Node, run_id: String, writers: Vec<Node>) -> Self {
        let writers = writers.into_iter().map(|node| (Mutex::default(), node)).collect();
        let (turn, required, applied) = (AtomicUsize::new(0), AtomicU64::new(1), AtomicU64::new(0));
        Self { node, run_id, writers, turn, required, applied }
    }

    /// Whether all of its connections are usable.
    pub(super) fn is_usable(&self) -> bool {
        self.node.is_usable() && self.writers.iter().all(|(_, node)| node.is_usable())
    }

    /// Runs a write, then waits at most `wait_ms` milliseconds for a replica to acknowledge it.
    pub(super) async fn write<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
        wait_ms: u64,
    ) -> RedisResult<T> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let Some((turns, node)) = self.writers.get(turn % self.writers.len().max(1)) else {
            return Err((redis::ErrorKind::Client, "no connection for writes is configured").into());
        };
        let _turn = timeout(WRITE_WAIT_TIMEOUT, turns.lock()).await.map_err(|_| {
            RedisError::from((redis::ErrorKind::Client, "too many writes wait for a replica"))
        })?;
        let answer = node.run_script(script).await?;
        let replicas: u64 = node.run_command(redis::cmd("WAIT").arg(1).arg(wait_ms)).await?;
        if replicas == 0 {
            return Err((redis::ErrorKind::Client, "no replica confirmed the write in time").into());
        }
        Ok(answer)
    }

    pub(super) fn is_up_to_date(&self) -> bool {
        self.missing().is_none()
    }

    /// The value to pass to [`Self::caught_up`] once the master has got all changes; `None` if it has.
    pub(super) fn missing(&self) -> Option<u64> {
        let owed = self.required.load(Ordering::Acquire);
        (self.applied.load(Ordering::Acquire) != owed).then_some(owed)
    }

    /// Records that the master has got all changes up to `owed`.
    pub(super) fn caught_up(&self, owed: u64) {
        self.applied.store(owed, Ordering::Release);
    }

    pub(super) fn begin_change(&self) -> PendingChange<'_> {
        PendingChange(self)
    }
}

/// A change that is being applied to the master. If this is dropped before [`Self::applied`], for any reason,
/// the master's answers are invalid until it has caught up.
pub(super) struct PendingChange<'a>(&'a Master);

impl PendingChange<'_> {
    pub(super) fn applied(self) {
        mem::forget(self);
    }
}

impl Drop for PendingChange<'_> {
    fn drop(&mut self) {
        self.0.required.fetch_add(1, Ordering::AcqRel);
    }
}
