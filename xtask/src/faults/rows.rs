//! The faults, and the promise for each.

use std::time::Duration;

use anyhow::{Context as _, Result};
use lodge_testbed::{
    Cluster,
    Deployment::{self, WriteBehind, WriteThrough},
    Kind, Member,
};
use rand::{rngs::StdRng, seq::IndexedRandom as _};

use self::Victims::{AllOfRedis, AllProcesses, QueueLeader, RedisMaster, RedisReplica};
use super::fault::Fault::{
    self, CutFromRedis, DiskLost, FailoverThenAllKilled, Flushed, FlushedUndrained, Hung, Killed,
    OldMasterBack,
};

/// One line of the table.
pub(crate) struct Row {
    /// Its name for `--only`.
    pub(crate) name: &'static str,
    /// Its name in the table.
    pub(crate) title: &'static str,
    /// How the web processes are deployed.
    pub(crate) deployment: Deployment,
    pub(crate) fault: Fault,
    pub(crate) promise: Promise,
}

/// What a row promises in addition to the promises of all rows: no acknowledged link is lost or duplicated,
/// no existing link gets 404, and no redirect fails for a link that its route has redirected before.
pub(crate) struct Promise {
    pub(crate) writes: Writes,
    /// Whether links that a process has not cached may be refused with 503.
    pub(crate) may_refuse_new: bool,
    /// Whether an edit may become visible late: while the store does not answer, cached links are served.
    pub(crate) may_be_stale: bool,
    /// Whether redirects that may be out of date must have been counted.
    pub(crate) counts_stale: bool,
    /// The longest wait for a redirect, and for a write.
    pub(crate) redirect_wait: Duration,
    pub(crate) write_wait: Duration,
}

/// The promised outcomes of writes.
#[derive(PartialEq, Eq)]
pub(crate) enum Writes {
    /// All writes are done.
    Done,
    /// All `PUT`s are done; other writes are refused with 503.
    PutsDone,
    /// Some are refused with 503.
    Refused,
    /// Some connections break: the balancer must not retry a write, because its outcome is unknown.
    BrokenOff,
}

/// The processes that a fault hits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Victims {
    /// This number of processes of a kind.
    Any(u8, Kind),
    RedisMaster,
    RedisReplica,
    AllOfRedis,
    QueueLeader,
    AllProcesses,
}

impl Victims {
    /// Returns the processes, selected by `random` if there is a choice.
    pub(crate) fn choose(self, cluster: &Cluster, random: &mut StdRng) -> Result<Vec<Member>> {
        let master = cluster.redis_master();
        let (from, count): (Vec<Member>, u8) = match self {
            Self::Any(count, kind) => (Member::of(kind).collect(), count),
            Self::RedisMaster => (vec![master.context("the sentinels report no Redis master")?], 1),
            Self::RedisReplica => {
                (Member::of(Kind::Redis).filter(|redis| Some(*redis) != master).collect(), 1)
            }
            Self::AllOfRedis => {
                (Member::of(Kind::Redis).chain(Member::of(Kind::Sentinel)).collect(), 6)
            }
            Self::QueueLeader => (vec![cluster.queue_leader()?], 1),
            Self::AllProcesses => (Member::all().collect(), u8::MAX),
        };
        Ok(from.sample(random, count.into()).copied().collect())
    }
}

const WEB: Victims = Victims::Any(1, Kind::Web);
const CASSANDRA: Victims = Victims::Any(1, Kind::Cassandra);
const TWO_CASSANDRA: Victims = Victims::Any(2, Kind::Cassandra);
const TWO_SENTINELS: Victims = Victims::Any(2, Kind::Sentinel);
const RABBITMQ: Victims = Victims::Any(1, Kind::Rabbitmq);
const ALL_OF_RABBITMQ: Victims = Victims::Any(3, Kind::Rabbitmq);
const HAPROXY: Victims = Victims::Any(1, Kind::Haproxy);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// No refusals, and short waits only.
const NO_REFUSALS: Promise = Promise {
    writes: Writes::Done,
    may_refuse_new: false,
    may_be_stale: false,
    counts_stale: false,
    redirect_wait: seconds(2),
    write_wait: seconds(2),
};

/// No refusals; a write may wait up to 5 s, to which the pauses and the load of the client add.
const BRIDGED: Promise =
    Promise { redirect_wait: seconds(6), write_wait: seconds(6), ..NO_REFUSALS };

/// Without a quorum writes are refused, and links that a process knows are served.
const READ_ONLY: Promise = Promise {
    writes: Writes::Refused,
    may_refuse_new: true,
    may_be_stale: true,
    counts_stale: true,
    redirect_wait: seconds(6),
    write_wait: seconds(60),
};

/// No process answers; all acknowledged links exist when the processes are back.
const ALL_DOWN: Promise = Promise { counts_stale: false, ..READ_ONLY };

/// The balancer drops a killed process within 1 s.
const WEB_KILLED: Promise =
    Promise { writes: Writes::BrokenOff, redirect_wait: seconds(1), ..NO_REFUSALS };

/// The balancer drops a hung process within 3 s.
const WEB_HUNG: Promise = Promise {
    writes: Writes::BrokenOff,
    redirect_wait: seconds(3),
    write_wait: seconds(20),
    ..NO_REFUSALS
};

/// Without a quorum of the store no link is stored, but `PUT`s are queued.
const PUTS_QUEUED: Promise = Promise { writes: Writes::PutsDone, ..READ_ONLY };

/// The pending writes cannot be read for a while; unknown shorts get 503 then, not 404.
const PENDING_UNREADABLE: Promise = Promise { may_refuse_new: true, ..BRIDGED };

const fn row(name: &'static str, title: &'static str, fault: Fault, promise: Promise) -> Row {
    Row { name, title, deployment: WriteThrough, fault, promise }
}

/// A row with web processes in write-behind mode.
const fn write_behind_row(
    name: &'static str,
    title: &'static str,
    fault: Fault,
    promise: Promise,
) -> Row {
    Row { name, title, deployment: WriteBehind, fault, promise }
}

/// All rows.
pub(crate) const ROWS: [Row; 32] = [
    row("redis-master-killed", "Redis master killed", Killed(RedisMaster), NO_REFUSALS),
    row("cassandra-killed", "one Cassandra node killed", Killed(CASSANDRA), BRIDGED),
    row("cassandra-hung", "one Cassandra node hangs", Hung(CASSANDRA), BRIDGED),
    row(
        "two-cassandra-killed",
        "two of three Cassandra nodes killed",
        Killed(TWO_CASSANDRA),
        READ_ONLY,
    ),
    row("two-cassandra-hung", "two of three Cassandra nodes hang", Hung(TWO_CASSANDRA), READ_ONLY),
    row("cassandra-disk-lost", "a Cassandra node has lost its disk", DiskLost, BRIDGED),
    row("web-killed", "a web process killed", Killed(WEB), WEB_KILLED),
    row("web-hung", "a web process hangs", Hung(WEB), WEB_HUNG),
    row("redis-master-hung", "Redis master hangs", Hung(RedisMaster), NO_REFUSALS),
    row("redis-replica-killed", "a Redis replica killed", Killed(RedisReplica), NO_REFUSALS),
    row("redis-replica-hung", "a Redis replica hangs", Hung(RedisReplica), NO_REFUSALS),
    row("sentinels-killed", "two of three Sentinels killed", Killed(TWO_SENTINELS), NO_REFUSALS),
    row("sentinels-hung", "two of three Sentinels hang", Hung(TWO_SENTINELS), NO_REFUSALS),
    row("redis-killed", "all of Redis and the Sentinels killed", Killed(AllOfRedis), NO_REFUSALS),
    row("redis-hung", "all of Redis and the Sentinels hang", Hung(AllOfRedis), NO_REFUSALS),
    row("redis-cut", "one web process cut off from Redis", CutFromRedis, NO_REFUSALS),
    row("redis-flushed", "Redis flushed", Flushed, NO_REFUSALS),
    row(
        "redis-old-master-back",
        "a Redis master replaced, and back as the master that it was",
        OldMasterBack,
        NO_REFUSALS,
    ),
    row(
        "redis-failover-then-killed",
        "a Redis master replaced, then all of Redis killed",
        FailoverThenAllKilled,
        NO_REFUSALS,
    ),
    row("haproxy-killed", "HAProxy killed", Killed(HAPROXY), NO_REFUSALS),
    row("all-killed", "every process killed", Killed(AllProcesses), ALL_DOWN),
    write_behind_row(
        "behind-rabbitmq-leader-killed",
        "write-behind: the RabbitMQ node that leads the queue killed",
        Killed(QueueLeader),
        BRIDGED,
    ),
    write_behind_row(
        "behind-rabbitmq-leader-hung",
        "write-behind: the RabbitMQ node that leads the queue hangs",
        Hung(QueueLeader),
        BRIDGED,
    ),
    write_behind_row(
        "behind-rabbitmq-one-killed",
        "write-behind: one of three RabbitMQ nodes killed",
        Killed(RABBITMQ),
        BRIDGED,
    ),
    write_behind_row(
        "behind-rabbitmq-killed",
        "write-behind: all of RabbitMQ killed",
        Killed(ALL_OF_RABBITMQ),
        BRIDGED,
    ),
    write_behind_row(
        "behind-rabbitmq-hung",
        "write-behind: all of RabbitMQ hangs",
        Hung(ALL_OF_RABBITMQ),
        BRIDGED,
    ),
    write_behind_row(
        "behind-cassandra-killed",
        "write-behind: two of three Cassandra nodes killed",
        Killed(TWO_CASSANDRA),
        PUTS_QUEUED,
    ),
    write_behind_row(
        "behind-redis-flushed",
        "write-behind: two of three Cassandra nodes killed, and Redis flushed before anything is stored",
        FlushedUndrained,
        PUTS_QUEUED,
    ),
    write_behind_row(
        "behind-redis-master-killed",
        "write-behind: Redis master killed",
        Killed(RedisMaster),
        PENDING_UNREADABLE,
    ),
    write_behind_row(
        "behind-redis-killed",
        "write-behind: all of Redis and the Sentinels killed",
        Killed(AllOfRedis),
        PENDING_UNREADABLE,
    ),
    write_behind_row(
        "behind-web-killed",
        "write-behind: a web process killed",
        Killed(WEB),
        WEB_KILLED,
    ),
    write_behind_row(
        "behind-all-killed",
        "write-behind: every process killed",
        Killed(AllProcesses),
        ALL_DOWN,
    ),
];

/// The number of rows in every `cargo xtask test`, the first ones: a Redis master killed.
pub(crate) const FIXED: usize = 1;

/// The number of other rows in each `cargo xtask test`, in rotation, except those that take minutes.
pub(crate) const ROTATING: usize = 1;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_of_rows_are_unique() {
        let names: HashSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
    }
}
