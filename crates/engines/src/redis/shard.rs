//! One master with its replicas, and whether their answers are valid.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use jiff::Timestamp;
use lodge_domain::links::Short;
use parking_lot::RwLock;
use redis::RedisResult;
use tokio::sync::Notify;
use uuid::Uuid;

use super::{
    keys::Keys,
    master::Master,
    node::{Node, channel},
    options::{Address, Options},
    own_writes::OwnWrites,
    scripts::{FILL, LEASE},
};

/// Longest TTL of a copy; the change feed reaches further back.
const COPY_MS: u64 = 480_000;

/// How long a lease lasts: longer than a lookup in the store may take.
const LEASE_MS: u64 = 5_000;

/// How long a heartbeat is valid. Its process knows every change that was acknowledged longer ago.
const HEARTBEAT_TTL_MS: u64 = 900;

/// Links whose keys one command names.
const KEYS_AT_ONCE: usize = 500;

/// One master and its replicas, as this process sees them.
pub(super) struct Shard {
    /// The master's name in Sentinel.
    pub(super) name: String,
    pub(super) options: Arc<Options>,
    pub(super) sentinels: Arc<[Address]>,
    pub(super) keys: Keys,
    pub(super) servers: RwLock<Servers>,
    turn: AtomicUsize,
    began: Instant,
    /// The latest heartbeat that the master has stored; 0 for none.
    heartbeat: AtomicU64,
    own_writes: OwnWrites,
    /// Notified when a server is lost, or a sentinel announces a switch.
    pub(super) server_lost: Arc<Notify>,
    /// Notified when another process publishes a change.
    pub(super) wakeup: Arc<Notify>,
}

#[derive(Default, Clone)]
pub(super) struct Servers {
    pub(super) master: Option<Arc<Master>>,
    pub(super) replicas: Arc<[Arc<Node>]>,
}

/// The result of a lookup in the cache.
pub(super) enum Lookup {
    /// A valid copy.
    Copy(Vec<u8>),
    /// No valid copy; the holder of the lease may fill it.
    Miss(Option<Lease>),
}

/// The right to fill a missing copy.
pub(super) struct Lease {
    token: String,
    master: Arc<Master>,
}

/// When a read of the change feed began.
#[derive(Debug, Clone, Copy)]
pub(super) struct FeedRead {
    /// The heartbeat to write once the changes are applied.
    heartbeat: u64,
    at: Timestamp,
}

impl Shard {
    pub(super) fn new(
        name: String,
        options: Arc<Options>,
        sentinels: Arc<[Address]>,
        wakeup: Arc<Notify>,
    ) -> Self {
        Self {
            name,
            sentinels,
            keys: Keys::new(&options.prefix),
            options,
            servers: RwLock::default(),
            turn: AtomicUsize::new(0),
            began: Instant::now(),
            heartbeat: AtomicU64::new(0),
            own_writes: OwnWrites::default(),
            server_lost: Arc::default(),
            wakeup,
        }
    }

    /// Looks up the copy of a link, on a replica if that may be valid, else on the master.
    pub(super) async fn find(&self, short: &Short) -> Lookup {
        let servers = self.servers.read().clone();
        let Some(master) = servers.master.filter(|master| self.is_valid(master)) else {
            return Lookup::Miss(None);
        };
        let keys = (self.keys.copy(short), self.keys.lease(short));
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let well: Vec<_> = servers.replicas.iter().filter(|replica| replica.is_usable()).collect();
        if self.own_writes.is_covered_by(self.latest_heartbeat(), short)
            && let Some(replica) = well.get(turn % well.len().max(1))
        {
            let read = redis::cmd("MGET").arg(&keys.0).arg(&self.keys.heartbeat).clone();
            let answer: RedisResult<(Option<Vec<u8>>, Option<u64>)> =
                replica.run_command(&read).await;
            match answer {
                Ok((Some(copy), heartbeat)) if self.is_valid_answer(&master, heartbeat) => {
                    return Lookup::Copy(copy);
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "a Redis replica does not answer; reading from the master");
                }
            }
        }
        let token = Uuid::new_v4().to_string();
        let mut script = LEASE.prepare_invoke();
        script.key(&[&keys.0, &keys.1, &self.keys.heartbeat]).arg(&token).arg(LEASE_MS);
        let answer: RedisResult<(Option<u64>, Option<Vec<u8>>, bool)> =
            master.node.run_script(&script).await;
        match answer {
            Ok((heartbeat, Some(copy), _)) if self.is_valid_answer(&master, heartbeat) => {
                Lookup::Copy(copy)
            }
            Ok((_, None, true)) => Lookup::Miss(Some(Lease { token, master })),
            Ok(_) => Lookup::Miss(None),
            Err(error) => {
                tracing::debug!(%error, "the Redis master does not answer; reading from the store");
                Lookup::Miss(None)
            }
        }
    }

    /// Stores a copy of the store's link, unless a change has dropped the lease meanwhile.
    pub(super) async fn fill(&self, short: &Short, lease: Lease, copy: &[u8]) {
        // Jitter, so that copies of one moment do not all expire at once.
        let kept_ms = COPY_MS - u64::from(lease.token.as_bytes()[0]) * (COPY_MS / 1_024);
        let mut script = FILL.prepare_invoke();
        script
            .key(self.keys.copy(short))
            .key(self.keys.lease(short))
            .key(&self.keys.feed_applied_until);
        script.arg(&lease.token).arg(copy).arg(kept_ms);
        if let Err(error) = lease.master.node.run_script::<bool>(&script).await {
            tracing::debug!(%error, "a link could not be cached in Redis");
        }
    }

    /// A copy from any server, even an invalid one.
    pub(super) async fn find_stale(&self, short: &Short) -> Option<Vec<u8>> {
        let servers = self.servers.read().clone();
        let read = redis::cmd("GET").arg(self.keys.copy(short)).clone();
        let replicas = servers.replicas.iter().map(|replica| &**replica);
        let nodes = servers.master.iter().map(|master| &master.node).chain(replicas);
        for node in nodes.filter(|node| node.is_usable()) {
            if let Ok(Some(copy)) = node.run_command(&read).await {
                return Some(copy);
            }
        }
        None
    }

    /// Drops the copies of links that this process has written, and publishes the change if `tell`.
    pub(super) async fn forget(&self, shorts: &[Short], tell: bool) {
        let Some(master) = self.servers.read().master.clone() else { return };
        let debt = master.begin_change();
        let dropped = self.drop_copies(&master, shorts).await;
        if dropped.is_ok() {
            self.own_writes.record(shorts, || self.heartbeat_now());
            debt.applied();
            if tell {
                let publish =
                    redis::cmd("PUBLISH").arg(channel(&self.options.prefix)).arg("").clone();
                // Only a wake-up: the other processes get the change from the feed.
                let _: RedisResult<()> = master.node.run_command(&publish).await;
            }
        }
    }

    /// The heartbeat and time for a read of the change feed that begins now.
    pub(super) fn begin_feed_read(&self) -> FeedRead {
        FeedRead { heartbeat: self.heartbeat_now(), at: Timestamp::now() }
    }

    /// Drops the copies of the changed links, and then writes the heartbeat.
    pub(super) async fn apply_changes(&self, asked: FeedRead, changed: &[Short]) {
        let Some(master) = self.servers.read().master.clone() else { return };
        let debt = master.begin_change();
        if let Err(error) = self.drop_copies(&master, changed).await {
            tracing::debug!(%error, "changes could not be applied to Redis");
            return;
        }
        debt.applied();
        let has_beaten =
            master.is_up_to_date() && self.write_heartbeat(&master, asked).await.is_ok();
        // A lagging replica may still have a copy that was dropped now, with the previous heartbeat.
        self.heartbeat.store(if has_beaten { asked.heartbeat } else { 0 }, Ordering::Release);
        if has_beaten {
            self.own_writes.forget_before(asked.heartbeat);
        }
    }

    /// Makes all answers invalid until the next heartbeat.
    pub(super) fn invalidate(&self) {
        self.heartbeat.store(0, Ordering::Release);
    }

    async fn write_heartbeat(&self, master: &Master, asked: FeedRead) -> RedisResult<()> {
        let mut pipe = redis::pipe();
        pipe.cmd("SET")
            .arg(&self.keys.heartbeat)
            .arg(asked.heartbeat)
            .arg("PX")
            .arg(10 * HEARTBEAT_TTL_MS)
            .ignore();
        pipe.cmd("SET").arg(&self.keys.feed_applied_until).arg(asked.at.as_millisecond()).ignore();
        master.node.run_pipeline(&pipe).await
    }

    pub(super) async fn drop_copies(&self, master: &Master, shorts: &[Short]) -> RedisResult<()> {
        for shorts in shorts.chunks(KEYS_AT_ONCE) {
            let mut drop = redis::cmd("UNLINK");
            for short in shorts {
                drop.arg(self.keys.copy(short)).arg(self.keys.lease(short));
            }
            let _: u64 = master.node.run_command(&drop).await?;
        }
        Ok(())
    }

    fn is_valid_answer(&self, master: &Master, heartbeat: Option<u64>) -> bool {
        self.is_valid(master)
            && heartbeat.is_some_and(|heartbeat| heartbeat >= self.latest_heartbeat())
    }

    /// Whether the latest heartbeat is fresh and the master has got all changes.
    fn is_valid(&self, master: &Master) -> bool {
        let newest = self.latest_heartbeat();
        newest > 0
            && self.now_ms() < newest + HEARTBEAT_TTL_MS
            && master.node.is_usable()
            && master.is_up_to_date()
    }

    fn latest_heartbeat(&self) -> u64 {
        self.heartbeat.load(Ordering::Acquire)
    }

    /// The heartbeat that begins now: milliseconds since the shard began, plus one, because 0 means no heartbeat.
    fn heartbeat_now(&self) -> u64 {
        self.now_ms() + 1
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
