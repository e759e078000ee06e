//! A master, and what it must be told before it is believed.

use std::{
    mem,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use redis::{FromRedisValue, RedisError, RedisResult, ScriptInvocation};
use tokio::{sync::Mutex, time::timeout};

use super::node::Node;

/// How long a write may wait for those before it.
const PATIENCE: Duration = Duration::from_millis(500);

/// A master, and whether it has been told of everything that this process knows to have changed.
pub(super) struct Master {
    pub(super) node: Node,
    /// What tells this run of the server from any other.
    pub(super) run_id: String,
    /// Connections for those who wait for a replica, each for one at a time.
    writers: Vec<(Mutex<()>, Node)>,
    turn: AtomicUsize,
    /// Rises when it may have missed something.
    owed: AtomicU64,
    /// What `owed` was when it was last told all that it may have missed.
    told: AtomicU64,
}

impl Master {
    pub(super) fn new(node: Node, run_id: String, writers: Vec<Node>) -> Self {
        let writers = writers.into_iter().map(|node| (Mutex::default(), node)).collect();
        let (turn, owed, told) = (AtomicUsize::new(0), AtomicU64::new(1), AtomicU64::new(0));
        Self { node, run_id, writers, turn, owed, told }
    }

    /// Whether all of its connections are worth using.
    pub(super) fn is_well(&self) -> bool {
        self.node.is_well() && self.writers.iter().all(|(_, node)| node.is_well())
    }

    /// Writes, and waits at most `wait_ms` until a replica has it.
    pub(super) async fn write<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
        wait_ms: u64,
    ) -> RedisResult<T> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let Some((turns, node)) = self.writers.get(turn % self.writers.len().max(1)) else {
            return Err((redis::ErrorKind::Client, "there is no connection for writes").into());
        };
        let _turn = timeout(PATIENCE, turns.lock()).await.map_err(|_| {
            RedisError::from((redis::ErrorKind::Client, "too many writes wait for a replica"))
        })?;
        let answer = node.run(script).await?;
        let replicas: u64 = node.ask(redis::cmd("WAIT").arg(1).arg(wait_ms)).await?;
        if replicas == 0 {
            return Err((redis::ErrorKind::Client, "no replica has taken the write in time").into());
        }
        Ok(answer)
    }

    pub(super) fn is_told(&self) -> bool {
        self.owed().is_none()
    }

    /// What is to be told for the master to be believed; nothing if it is.
    pub(super) fn owed(&self) -> Option<u64> {
        let owed = self.owed.load(Ordering::Acquire);
        (self.told.load(Ordering::Acquire) != owed).then_some(owed)
    }

    /// Says that it has been told all that was owed.
    pub(super) fn caught_up(&self, owed: u64) {
        self.told.store(owed, Ordering::Release);
    }

    pub(super) fn debt(&self) -> Debt<'_> {
        Debt(self)
    }
}

/// Something that the master must be told. Dropped unpaid, for whatever reason, the master is not
/// believed until it has caught up.
pub(super) struct Debt<'a>(&'a Master);

impl Debt<'_> {
    pub(super) fn pay(self) {
        mem::forget(self);
    }
}

impl Drop for Debt<'_> {
    fn drop(&mut self) {
        self.0.owed.fetch_add(1, Ordering::AcqRel);
    }
}
