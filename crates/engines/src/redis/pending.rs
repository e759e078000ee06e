//! Pending writes in Redis: links that are acknowledged and not stored yet.
//!
//! Keys, each after the prefix: `held:SHORT` (a hash: `at` in milliseconds since 1970, `target`, `link`,
//! and `stored` once it is stored; it expires only then); `held-at` (a sorted set of shorts by the time
//! at which they were added); `whole` (the run id of the server that is known to have lost no pending
//! write), or `lost:RUN-ID` (since when one may be lost); `worker:ID` (the number of links that a worker
//! has in flight, and the time of the oldest).

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    links::{Link, Short},
};
use redis::{RedisResult, ScriptInvocation};
use uuid::Uuid;

use super::{
    master::Master,
    scripts::{ADD_PENDING, LOST_SINCE, MARK_COMPLETE, REMOVE_STORED},
    shard::Shard,
    shards::Shards,
};
use crate::write_behind::{InFlight, Loss, PendingWrite, PendingWrites, ServerLoss};

/// How long a write may wait for a replica to acknowledge it.
const REPLICA_MS: u64 = 40;

/// How long a worker counts after its last heartbeat.
const WORKER_MS: u64 = 60_000;

/// TTL of `lost:RUN-ID`; each read renews it.
const LOST_MS: u64 = 600_000;

/// How long a stored link is remembered: longer than a `PUT` may be delayed.
const STORED_MS: u64 = 60_000;

/// Overdue links that are read in one call.
const OVERDUE_MAX: isize = 100;

/// The pending writes on every master.
pub(super) struct RedisPendingWrites(pub(super) Arc<Shards>);

#[async_trait]
impl PendingWrites for RedisPendingWrites {
    async fn add(&self, link: &Link) -> Result<Option<Link>> {
        let shard = self.0.of(link.short.as_str());
        let master = shard.usable_master()?;
        let mut script = ADD_PENDING.prepare_invoke();
        add_link_args(&mut script, shard, link)?.arg(Timestamp::now().as_millisecond());
        // On a connection for writes: a command that waits for a replica delays all commands after it.
        let newer: Option<Vec<u8>> =
            master.write(&script, REPLICA_MS).await.map_err(Error::unavailable)?;
        newer.map(|json| serde_json::from_slice(&json).map_err(Error::internal)).transpose()
    }

    async fn find(&self, short: &Short) -> Result<PendingWrite> {
        let shard = self.0.of(short.as_str());
        let master = shard.usable_master()?;
        let mut read = redis::pipe();
        read.cmd("HMGET").arg(shard.keys.pending(short)).arg("link").arg("stored");
        read.cmd("GET").arg(&shard.keys.complete);
        let answer: RedisResult<((Option<Vec<u8>>, Option<u8>), Option<String>)> =
            master.node.run_pipeline(&read).await;
        let ((link, stored), whole) = answer.map_err(Error::unavailable)?;
        let is_whole = whole.as_ref() == Some(&master.run_id);
        let link = link.map(|json| serde_json::from_slice(&json).map_err(Error::internal));
        Ok(match (link.transpose()?.map(Arc::new), stored, is_whole) {
            (Some(link), None, _) => PendingWrite::Pending(link),
            (_, _, false) => PendingWrite::Unknown,
            (Some(link), Some(_), true) => PendingWrite::Stored(link),
            (None, _, true) => PendingWrite::Absent,
        })
    }

    async fn remove_stored(&self, link: &Link) -> Result<()> {
        let shard = self.0.of(link.short.as_str());
        let mut script = REMOVE_STORED.prepare_invoke();
        add_link_args(&mut script, shard, link)?.arg(STORED_MS);
        shard.usable_master()?.node.run_script(&script).await.map_err(Error::unavailable)
    }

    async fn overdue(&self, since: Timestamp) -> Result<Vec<Link>> {
        let overdue = try_join_all(self.0.shards.iter().map(|shard| overdue(shard, since))).await?;
        Ok(overdue.into_iter().flatten().collect())
    }

    async fn loss(&self) -> Result<Option<Loss>> {
        let servers = try_join_all(self.0.shards.iter().map(server_loss)).await?;
        let since = servers.iter().flatten().map(|server| server.since).max();
        Ok(since.map(|since| Loss { since, servers }))
    }

    async fn mark_complete(&self, loss: &Loss) -> Result<()> {
        let servers = self.0.shards.iter().zip(&loss.servers);
        let marked =
            servers.filter_map(|(shard, server)| Some(mark_complete(shard, server.as_ref()?)));
        try_join_all(marked).await.map(drop)
    }

    async fn heartbeat(&self, worker: Uuid, in_flight: InFlight) -> Result<InFlight> {
        let Some(shard) = self.0.shards.first() else { return Ok(in_flight) };
        let node = &shard.usable_master()?.node;
        let mine = shard.keys.worker(worker);
        let mut write = redis::pipe();
        write
            .cmd("SET")
            .arg(&mine)
            .arg(encode_in_flight(in_flight))
            .arg("PX")
            .arg(WORKER_MS)
            .ignore();
        write
            .cmd("ZADD")
            .arg(&shard.keys.workers)
            .arg(Timestamp::now().as_millisecond())
            .arg(&mine)
            .ignore();
        let long_ago = Timestamp::now().as_millisecond() - WORKER_MS.cast_signed();
        write.cmd("ZREMRANGEBYSCORE").arg(&shard.keys.workers).arg("-inf").arg(long_ago).ignore();
        write.cmd("ZRANGE").arg(&shard.keys.workers).arg(0).arg(-1);
        let (workers,): (Vec<String>,) =
            node.run_pipeline(&write).await.map_err(Error::unavailable)?;
        let read = redis::cmd("MGET").arg(workers).clone();
        let notes: Vec<Option<String>> =
            node.run_command(&read).await.map_err(Error::unavailable)?;
        let mut in_flights = notes.iter().flatten().map(|note| parse_in_flight(note));
        in_flights.try_fold(InFlight::default(), |sum, in_flight| Ok(sum.plus(in_flight?)))
    }
}

/// The value of `worker:ID`: the number of links in flight, and the time of the oldest.
fn encode_in_flight(InFlight { count, oldest }: InFlight) -> String {
    let oldest = oldest.map(|oldest| oldest.as_millisecond().to_string()).unwrap_or_default();
    format!("{count} {oldest}")
}

fn parse_in_flight(note: &str) -> Result<InFlight> {
    let unreadable = || Error::internal(format!("invalid value of a worker key: {note:?}"));
    let (count, oldest) = note.split_once(' ').ok_or_else(unreadable)?;
    let count = count.parse().map_err(|_| unreadable())?;
    let oldest = (!oldest.is_empty()).then(|| oldest.parse().map_err(|_| unreadable()));
    Ok(InFlight { count, oldest: oldest.transpose()?.map(timestamp).transpose()? })
}

fn timestamp(milliseconds: i64) -> Result<Timestamp> {
    Timestamp::from_millisecond(milliseconds).map_err(Error::internal)
}

/// Adds the keys and arguments of a link that `HOLD` and `RELEASE` share.
fn add_link_args<'a, 'b>(
    script: &'a mut ScriptInvocation<'b>,
    shard: &Shard,
    link: &Link,
) -> Result<&'a mut ScriptInvocation<'b>> {
    let json = serde_json::to_vec(link).map_err(Error::internal)?;
    script.key(shard.keys.pending(&link.short)).key(&shard.keys.pending_since);
    script.arg(link.short.as_str()).arg(link.changed_at.as_millisecond());
    Ok(script.arg(link.target.as_str()).arg(json))
}

async fn server_loss(shard: &Shard) -> Result<Option<ServerLoss>> {
    let master = shard.usable_master()?;
    let mut script = LOST_SINCE.prepare_invoke();
    script.key(&shard.keys.complete).key(shard.keys.lost(&master.run_id));
    script.arg(&master.run_id).arg(Timestamp::now().as_millisecond()).arg(LOST_MS);
    let since: Option<i64> = master.node.run_script(&script).await.map_err(Error::unavailable)?;
    let since = since.map(timestamp).transpose()?;
    Ok(since.map(|since| ServerLoss { run_id: master.run_id.clone(), since }))
}

async fn mark_complete(shard: &Shard, loss: &ServerLoss) -> Result<()> {
    let mut script = MARK_COMPLETE.prepare_invoke();
    script.key(&shard.keys.complete).key(shard.keys.lost(&loss.run_id));
    script.arg(&loss.run_id).arg(loss.since.as_millisecond());
    let node = &shard.usable_master()?.node;
    node.run_script::<()>(&script).await.map_err(Error::unavailable)
}

async fn overdue(shard: &Shard, since: Timestamp) -> Result<Vec<Link>> {
    let node = &shard.usable_master()?.node;
    let range = redis::cmd("ZRANGE")
        .arg(&shard.keys.pending_since)
        .arg("-inf")
        .arg(since.as_millisecond())
        .arg("BYSCORE")
        .arg("LIMIT")
        .arg(0)
        .arg(OVERDUE_MAX)
        .clone();
    let shorts: Vec<String> = node.run_command(&range).await.map_err(Error::unavailable)?;
    let mut links = Vec::new();
    for short in shorts {
        let read =
            redis::cmd("HGET").arg(shard.keys.pending(&Short::stored(short))).arg("link").clone();
        let json: Option<Vec<u8>> = node.run_command(&read).await.map_err(Error::unavailable)?;
        if let Some(json) = json {
            links.push(serde_json::from_slice(&json).map_err(Error::internal)?);
        }
    }
    Ok(links)
}

impl Shard {
    /// The master: pending writes are read from no replica.
    fn usable_master(&self) -> Result<Arc<Master>> {
        let master = self.servers.read().master.clone();
        let well = master.filter(|master| master.node.is_usable());
        well.ok_or_else(|| Error::unavailable("no Redis master can be reached"))
    }
}
