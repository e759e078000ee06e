//! Starting and ending faults.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use lodge_testbed::{Cluster, Kind, Member, wait_until};

use super::victims::Victims;

/// How long the sentinels may take to name another master.
const FAILOVER: Duration = Duration::from_secs(30);

/// How long writes are pending before Redis is flushed.
const UNDRAINED: Duration = Duration::from_secs(4);

/// A kind of fault.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// SIGKILL, then a restart.
    Killed(Victims),
    /// SIGSTOP, then SIGCONT.
    Hung(Victims),
    /// No packet between a Galera node and the other nodes and clients arrives.
    CutOff(Victims),
    /// SIGKILL; then a person has the node that is left serve alone, and starts the others.
    Bootstrapped(Victims),
    /// No packet of a web process reaches Redis or the sentinels.
    CutFromRedis,
    /// Redis is flushed.
    Flushed,
    /// Cassandra accepts no writes, and Redis is flushed while writes are pending.
    FlushedUndrained,
    /// The master is killed, and after its replacement starts again as a master.
    OldMasterBack,
    /// The master is killed, and after its replacement all other Redis servers and sentinels are.
    FailoverThenAllKilled,
    /// A Cassandra node is killed, and replaced by one with an empty disk.
    DiskLost,
}

impl Fault {
    /// Whether a row with it takes minutes. `cargo xtask test` leaves such rows to `cargo xtask nightly`.
    pub(crate) fn takes_minutes(self) -> bool {
        matches!(self, Self::DiskLost)
    }
}

/// A fault with its victims.
pub(crate) struct ChosenFault<'a> {
    cluster: &'a Cluster,
    fault: Fault,
    /// The processes that it hits.
    pub(crate) victims: Vec<Member>,
}

impl<'a> ChosenFault<'a> {
    /// Selects the victims by the seed if there is a choice.
    pub(crate) fn choose(cluster: &'a Cluster, fault: Fault, seed: u64) -> Result<Self> {
        let who = match fault {
            Fault::Killed(who)
            | Fault::Hung(who)
            | Fault::CutOff(who)
            | Fault::Bootstrapped(who) => who,
            Fault::CutFromRedis => Victims::Any(1, Kind::Web),
            Fault::Flushed | Fault::OldMasterBack | Fault::FailoverThenAllKilled => {
                Victims::RedisMaster
            }
            Fault::DiskLost => Victims::Any(1, Kind::Cassandra),
            Fault::FlushedUndrained => Victims::Any(2, Kind::Cassandra),
        };
        Ok(Self { cluster, fault, victims: who.choose(cluster, seed)? })
    }

    /// The victims from which no client can expect an answer.
    pub(crate) fn unresponsive(&self) -> Vec<Member> {
        let is_mute = |member: &&Member| {
            matches!(member.kind, Kind::Web | Kind::Haproxy)
                && !matches!(self.fault, Fault::CutFromRedis)
        };
        self.victims.iter().filter(is_mute).copied().collect()
    }

    /// Starts the fault. Returns the time until another master was named, if the fault hits the master.
    pub(crate) fn begin(&self) -> Result<Option<Duration>> {
        let began = Instant::now();
        match self.fault {
            Fault::Killed(_) | Fault::Bootstrapped(_) | Fault::DiskLost => {
                self.cluster.kill_all(self.victims.iter().copied())?;
            }
            Fault::FlushedUndrained => {
                self.cluster.kill_all(self.victims.iter().copied())?;
                thread::sleep(UNDRAINED);
                self.cluster.flush_redis()?;
            }
            Fault::Hung(_) => self.each(Cluster::pause)?,
            Fault::CutFromRedis => self.each(Cluster::cut_from_redis)?,
            Fault::CutOff(_) => self.each(Cluster::cut_off)?,
            Fault::Flushed => self.cluster.flush_redis()?,
            Fault::OldMasterBack | Fault::FailoverThenAllKilled => {
                self.each(Cluster::kill)?;
                let replaced = self.replaced(began)?;
                if matches!(self.fault, Fault::OldMasterBack) {
                    self.each(Cluster::start_in_former_role)?;
                } else {
                    let is_up = |redis: &Member| self.cluster.pid(*redis).is_some();
                    self.cluster.kill_all(Self::of_redis().filter(is_up))?;
                }
                return Ok(Some(replaced));
            }
        }
        let is_replaced = matches!(
            self.fault,
            Fault::Killed(Victims::RedisMaster) | Fault::Hung(Victims::RedisMaster)
        );
        is_replaced.then(|| self.replaced(began)).transpose()
    }

    /// Ends the fault.
    pub(crate) fn end(&self) -> Result<()> {
        match self.fault {
            Fault::Killed(_) | Fault::FlushedUndrained => {
                self.cluster.start_all(self.victims.iter().copied())
            }
            Fault::Hung(_) => self.each(Cluster::resume),
            Fault::CutFromRedis | Fault::CutOff(_) => self.cluster.heal(),
            Fault::Bootstrapped(_) => {
                let left = Member::of(Kind::Galera).find(|node| !self.victims.contains(node));
                self.cluster.bootstrap(left.context("no node is left")?)?;
                self.cluster.start_all(self.victims.iter().copied())
            }
            Fault::Flushed | Fault::OldMasterBack => Ok(()),
            Fault::FailoverThenAllKilled => self.cluster.start_all(Self::of_redis()),
            Fault::DiskLost => {
                self.each(Cluster::lose_disk)?;
                self.each(Cluster::replace)
            }
        }
    }

    fn each(&self, act: impl Fn(&Cluster, Member) -> Result<()>) -> Result<()> {
        self.victims.iter().try_for_each(|member| act(self.cluster, *member))
    }

    fn of_redis() -> impl Iterator<Item = Member> {
        Member::of(Kind::Redis).chain(Member::of(Kind::Sentinel))
    }

    /// Waits until the sentinels name another master than the victim.
    fn replaced(&self, began: Instant) -> Result<Duration> {
        let old = self.victims.first().context("the fault has no victim")?;
        wait_until(&format!("the replacement of {old}"), FAILOVER, || {
            self.cluster.redis_master().is_some_and(|master| master != *old)
        })?;
        Ok(began.elapsed())
    }
}

/// Ends all faults, so that the next row begins with a complete cluster.
pub(crate) fn restore(cluster: &Cluster) -> Result<()> {
    cluster.heal()?;
    for member in Member::all().filter(|member| cluster.pid(*member).is_some()) {
        cluster.resume(member)?;
    }
    cluster.start_all(Member::all())
}
