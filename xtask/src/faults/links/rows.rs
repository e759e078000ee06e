//! The faults under clients of links, and the promise for each.

use std::time::Duration;

use lodge_testbed::{
    Deployment::{WriteBehind, WriteThrough},
    Kind,
};

use crate::faults::{
    fault::Fault::{
        self, CutFromRedis, DiskLost, FailoverThenAllKilled, Flushed, FlushedUndrained, Hung,
        Killed, OldMasterBack,
    },
    row::Row,
    victims::Victims::{self, AllOfRedis, AllProcesses, QueueLeader, RedisMaster, RedisReplica},
};

/// What a row promises in addition to the promises of all rows: no acknowledged link is lost or duplicated,
/// no existing link gets 404, and no redirect fails for a link that its route has redirected before.
pub(crate) struct LinksPromise {
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
const NO_REFUSALS: LinksPromise = LinksPromise {
    writes: Writes::Done,
    may_refuse_new: false,
    may_be_stale: false,
    counts_stale: false,
    redirect_wait: seconds(2),
    write_wait: seconds(2),
};

/// No refusals; a write may wait up to 5 s, to which the pauses and the load of the client add.
const BRIDGED: LinksPromise =
    LinksPromise { redirect_wait: seconds(6), write_wait: seconds(6), ..NO_REFUSALS };

/// Without a quorum writes are refused, and links that a process knows are served.
const READ_ONLY: LinksPromise = LinksPromise {
    writes: Writes::Refused,
    may_refuse_new: true,
    may_be_stale: true,
    counts_stale: true,
    redirect_wait: seconds(6),
    write_wait: seconds(60),
};

/// No process answers; all acknowledged links exist when the processes are back.
const ALL_DOWN: LinksPromise = LinksPromise { counts_stale: false, ..READ_ONLY };

/// The balancer drops a killed process within 1 s.
const WEB_KILLED: LinksPromise =
    LinksPromise { writes: Writes::BrokenOff, redirect_wait: seconds(1), ..NO_REFUSALS };

/// The balancer drops a hung process within 3 s.
const WEB_HUNG: LinksPromise = LinksPromise {
    writes: Writes::BrokenOff,
    redirect_wait: seconds(3),
    write_wait: seconds(20),
    ..NO_REFUSALS
};

/// Without a quorum of the store no link is stored, but `PUT`s are queued.
const PUTS_QUEUED: LinksPromise = LinksPromise { writes: Writes::PutsDone, ..READ_ONLY };

/// The pending writes cannot be read for a while; unknown shorts get 503 then, not 404.
const PENDING_UNREADABLE: LinksPromise = LinksPromise { may_refuse_new: true, ..BRIDGED };

const fn row(
    name: &'static str,
    title: &'static str,
    fault: Fault,
    promise: LinksPromise,
) -> (Row, LinksPromise) {
    (Row { name, title, deployment: WriteThrough, fault }, promise)
}

/// A row with web processes in write-behind mode.
const fn write_behind_row(
    name: &'static str,
    title: &'static str,
    fault: Fault,
    promise: LinksPromise,
) -> (Row, LinksPromise) {
    (Row { name, title, deployment: WriteBehind, fault }, promise)
}

/// The rows with clients of links.
pub(crate) const ROWS: [(Row, LinksPromise); 32] = [
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
