//! The processes that a fault hits.

use anyhow::{Context as _, Result};
use lodge_testbed::{Cluster, Kind, Member};
use rand::{rngs::StdRng, seq::IndexedRandom as _};

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
