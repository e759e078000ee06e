//! The processes that a fault hits.

use anyhow::{Context as _, Result};
use lodge_testbed::{Cluster, Kind, Member};

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
    /// Returns the processes. If there is a choice, each seed begins with the next of them, so that as many seeds as there
    /// are processes hit each.
    pub(crate) fn choose(self, cluster: &Cluster, seed: u64) -> Result<Vec<Member>> {
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
        let count = from.len().min(count.into());
        let first = usize::try_from(seed.saturating_sub(1))? % from.len().max(1);
        Ok(from.iter().cycle().skip(first).take(count).copied().collect())
    }
}
