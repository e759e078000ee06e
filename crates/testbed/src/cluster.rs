//! The cluster as a whole.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use rand::{RngExt as _, distr::Alphanumeric};
use rustix::process::Signal;

use crate::{
    cassandra,
    files::{remove, write_secret},
    haproxy,
    layout::Layout,
    member::{Kind, Member},
    process::{self, Tracked, wait_until},
    rabbitmq, redis,
    web::{self, Witness},
};

/// How long a process may take to be ready.
const START: Duration = Duration::from_mins(3);

/// How nice a process is while it starts that has much to do then.
const STARTING: i32 = 5;

/// How long one may take that first has to fetch all that it lost: it settles every transaction that may
/// be open before, which takes a minute and more beside a load.
const REPLACEMENT: Duration = Duration::from_mins(5);

/// How long one may take to end by itself.
const END: Duration = Duration::from_secs(10);

/// Where web processes that write behind have their links: a keyspace has one mode for ever.
const KEYSPACE_BEHIND: &str = "lodge_later";

/// A cluster, up or not.
#[derive(Debug, Clone)]
pub struct Cluster {
    layout: Layout,
    lodge: PathBuf,
    deployment: Deployment,
}

/// What the web processes are told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deployment {
    /// To claim, and to store what they acknowledge before.
    #[default]
    WriteThrough,
    /// To replace, and to store later; everything is in a keyspace of its own.
    WriteBehind,
}

impl Cluster {
    /// The cluster at a place, with this Lodge as its web processes.
    pub fn new(layout: Layout, lodge: impl Into<PathBuf>) -> Self {
        Self { layout, lodge: lodge.into(), deployment: Deployment::default() }
    }

    /// The same cluster, with web processes that are deployed so.
    #[must_use]
    pub fn deployed(&self, deployment: Deployment) -> Self {
        Self { deployment, ..self.clone() }
    }

    /// The cluster of a checkout of Lodge, with the Lodge that was built there in release mode.
    pub fn of(workspace: &Path) -> Self {
        Self::new(Layout::of(workspace), workspace.join("target/release/lodge"))
    }

    /// The same, if all of it that is wanted is up. Fails when one of `wanted` is down; it says how the
    /// cluster is brought up.
    pub fn up_with(workspace: &Path, wanted: impl IntoIterator<Item = Member>) -> Result<Self> {
        let cluster = Self::of(workspace);
        for member in wanted {
            if cluster.pid(member).is_none() {
                bail!("{member} is down: cargo xtask cluster up");
            }
        }
        Ok(cluster)
    }

    /// What its web processes are told.
    pub fn deployment(&self) -> Deployment {
        self.deployment
    }

    /// The Lodge that its web processes are.
    pub fn lodge(&self) -> &Path {
        &self.lodge
    }

    /// Where everything is.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Brings up what is not, and waits until all of it can be used. Fails when something cannot be
    /// downloaded or started, or is not ready in three minutes; its log says why.
    pub fn up(&self) -> Result<()> {
        cassandra::download(&self.layout)?;
        self.prepare(Member::all())?;
        self.start_all(Member::all())?;
        wait_until("the sentinels' meeting", START, || redis::can_fail_over(&self.layout))?;
        self.wait_balanced()
    }

    /// Brings up these alone, which need no other. Fails as [`Self::up`] does.
    pub fn up_alone(&self, members: &[Member]) -> Result<()> {
        self.prepare(members.iter().copied())?;
        self.start_all(members.iter().copied())
    }

    /// Starts those that are down, and waits until they are ready. Fails when one is not ready in three
    /// minutes; its log says why.
    pub fn start_all(&self, members: impl IntoIterator<Item = Member>) -> Result<()> {
        let members: Vec<Member> = members.into_iter().collect();
        // A Redis server asks the sentinels who is master; the web processes need all others.
        let order = |member: &Member| match member.kind {
            Kind::Sentinel => 0,
            Kind::Web => 2,
            _ => 1,
        };
        for step in 0..=2 {
            let members: Vec<Member> =
                members.iter().filter(|member| order(member) == step).copied().collect();
            self.launch_all(&members)?;
        }
        Ok(())
    }

    fn launch_all(&self, members: &[Member]) -> Result<()> {
        for member in members.iter().filter(|member| self.pid(**member).is_none()) {
            self.launch(*member, self.command(*member))?;
        }
        members.iter().try_for_each(|member| self.wait_ready(*member, START))
    }

    /// Ends the web processes, however they are deployed, and starts those of this cluster. Fails when one
    /// does not end in 10 s, or is not ready in three minutes; its log says why.
    pub fn restart_webs(&self) -> Result<()> {
        for process in Member::of(Kind::Web).filter_map(|web| self.tracked(web)) {
            process.signal(Signal::TERM)?;
            process.wait_gone(END)?;
        }
        self.start_all(Member::of(Kind::Web))?;
        self.wait_balanced()
    }

    /// Waits until the balancer knows of a web process that is up.
    fn wait_balanced(&self) -> Result<()> {
        let balancer = self.layout.address(Member { kind: Kind::Haproxy, number: 1 });
        wait_until("the balancer's first checks", START, || web::is_well(balancer, "/"))
    }

    /// Starts a Lodge that has nothing but the store. Fails when it is not ready in 30 s.
    pub fn witness(&self) -> Result<Witness> {
        Witness::start(&self.layout, Witness::MEMBER, self.web(Witness::MEMBER))
    }

    /// Ends every process and removes the cluster's folder. Fails when a process withstands SIGKILL, or the
    /// folder cannot be removed.
    pub fn down(&self) -> Result<()> {
        self.mend()?;
        let names =
            Member::all().map(|member| member.to_string()).chain([rabbitmq::EPMD.to_owned()]);
        let running: Vec<Tracked> =
            names.filter_map(|name| Tracked::find(&self.layout.record(&name))).collect();
        for process in running.iter().rev() {
            // A stopped process would not hear of it.
            process.signal(Signal::CONT)?;
            process.signal(Signal::TERM)?;
        }
        for process in running {
            if process.wait_gone(END).is_err() {
                process.signal(Signal::KILL)?;
                process.wait_gone(END)?;
            }
        }
        remove(self.layout.root())
    }

    /// The process id of one that runs.
    pub fn pid(&self, member: Member) -> Option<u32> {
        self.tracked(member).map(Tracked::pid)
    }

    /// Starts one that is down, and waits until it is ready. Fails when it runs already, the cluster was
    /// never up, or it is not ready in three minutes.
    pub fn start(&self, member: Member) -> Result<()> {
        self.start_as(member, self.command(member), START)
    }

    /// Starts a Redis server that is down as what it was, though another may be master now: no sentinel is
    /// asked. Fails as [`Self::start`] does.
    pub fn start_plainly(&self, redis: Member) -> Result<()> {
        self.start_as(redis, redis::plain_server(&self.layout, redis), START)
    }

    /// Takes away what a Cassandra node that is down has stored. Fails when its files cannot be removed.
    pub fn lose_disk(&self, node: Member) -> Result<()> {
        cassandra::lose_disk(&self.layout, node)
    }

    /// Starts a Cassandra node that has lost its disk; the others give it what it is to have. Fails as
    /// [`Self::start`] does, but after five minutes.
    pub fn replace(&self, node: Member) -> Result<()> {
        self.start_as(node, cassandra::replacement(&self.layout, node), REPLACEMENT)?;
        cassandra::make_seed(&self.layout, node)
    }

    /// Kills one with SIGKILL. Fails when it is down.
    pub fn kill(&self, member: Member) -> Result<()> {
        self.kill_all([member])
    }

    /// Kills several at once. Fails when one of them is down; then all live.
    pub fn kill_all(&self, members: impl IntoIterator<Item = Member>) -> Result<()> {
        let processes = members.into_iter().map(|member| self.running(member));
        let processes: Vec<Tracked> = processes.collect::<Result<_>>()?;
        processes.iter().try_for_each(|process| process.signal(Signal::KILL))?;
        processes.iter().try_for_each(|process| process.wait_gone(END))
    }

    /// Makes one hang with SIGSTOP. Fails when it is down.
    pub fn pause(&self, member: Member) -> Result<()> {
        self.running(member)?.signal(Signal::STOP)
    }

    /// Lets one that hangs go on. Fails when it is down.
    pub fn resume(&self, member: Member) -> Result<()> {
        self.running(member)?.signal(Signal::CONT)
    }

    /// The Redis master, as the sentinels say.
    pub fn redis_master(&self) -> Option<Member> {
        let address = redis::master(&self.layout)?;
        Member::of(Kind::Redis).find(|member| self.layout.address(*member) == address)
    }

    /// The RabbitMQ node that leads the queue of what is to be stored later. Fails when there is no such
    /// queue, or no node says who leads it.
    pub fn queue_leader(&self) -> Result<Member> {
        rabbitmq::leader(&self.layout, &format!("{KEYSPACE_BEHIND}.links"))
    }

    /// Empties Redis. Fails when no master is known, or it does not obey.
    pub fn flush_redis(&self) -> Result<()> {
        redis::flush(&self.layout)
    }

    /// Waits until Redis can take the next failure of a master: a failed failover, or a stop of the
    /// sentinels, leaves them idle for up to half a minute. Fails when it takes three minutes.
    pub fn wait_settled(&self) -> Result<()> {
        wait_until("Redis' coming to rest", START, || redis::is_settled(&self.layout))
    }

    fn tracked(&self, member: Member) -> Option<Tracked> {
        Tracked::find(&self.layout.record(&member.to_string()))
    }

    fn running(&self, member: Member) -> Result<Tracked> {
        self.tracked(member).with_context(|| format!("{member} is down"))
    }

    fn start_as(&self, member: Member, command: Command, patience: Duration) -> Result<()> {
        if self.pid(member).is_some() {
            bail!("{member} is up");
        }
        self.launch(member, command)?;
        self.wait_ready(member, patience)
    }

    fn launch(&self, member: Member, mut command: Command) -> Result<()> {
        let layout = &self.layout;
        if member.kind == Kind::Rabbitmq {
            rabbitmq::start_epmd(layout)?;
        }
        // Where a crash leaves its dump.
        command.current_dir(layout.folder(member));
        let name = member.to_string();
        let process = Tracked::start(&mut command, &layout.log(&name), &layout.record(&name))
            .with_context(|| format!("{member} cannot be started; is the cluster up?"))?;
        if matches!(member.kind, Kind::Cassandra | Kind::Rabbitmq) {
            // On a machine of its own it would take nobody's processor while it starts.
            process.set_niceness(STARTING);
        }
        Ok(())
    }

    fn command(&self, member: Member) -> Command {
        let layout = &self.layout;
        match member.kind {
            Kind::Redis => redis::server(layout, member),
            Kind::Sentinel => redis::sentinel(layout, member),
            Kind::Cassandra => cassandra::server(layout, member, &[]),
            Kind::Rabbitmq => rabbitmq::server(layout, member),
            Kind::Mariadb => layout.mariadb(member).command(),
            Kind::Haproxy => haproxy::server(layout, member),
            Kind::Web => self.web(member),
        }
    }

    fn web(&self, member: Member) -> Command {
        let mut command = web::server(&self.layout, member, &self.lodge);
        match self.deployment {
            Deployment::WriteThrough => {}
            Deployment::WriteBehind => {
                command.envs(self.layout.settings_behind());
                command.env("LODGE_CASSANDRA_KEYSPACE", KEYSPACE_BEHIND);
            }
        }
        command
    }

    fn wait_ready(&self, member: Member, patience: Duration) -> Result<()> {
        let log = self.layout.log(&member.to_string());
        let ready = || match member.kind {
            Kind::Redis | Kind::Sentinel => redis::is_ready(&self.layout, member),
            Kind::Web => web::is_ready(&self.layout, member),
            _ => process::listens(self.layout.address(member)),
        };
        let mut died = false;
        let mut ready_or_dead = || {
            died = self.pid(member).is_none();
            died || ready()
        };
        let waited = wait_until(&member.to_string(), patience, &mut ready_or_dead);
        if died {
            bail!("{member} ended at once; its log ends: {}", end_of(&log));
        }
        waited.with_context(|| format!("its log ends: {}", end_of(&log)))?;
        if let Some(process) = self.tracked(member) {
            process.set_niceness(0);
        }
        Ok(())
    }

    /// Makes the folders, secrets and configurations of those that have none.
    fn prepare(&self, members: impl Iterator<Item = Member>) -> Result<()> {
        let layout = &self.layout;
        for folder in ["log", "run", "secrets"] {
            fs::create_dir_all(layout.root().join(folder))?;
        }
        fs::set_permissions(layout.root().join("secrets"), fs::Permissions::from_mode(0o700))?;
        for kind in [Kind::Redis, Kind::Rabbitmq, Kind::Mariadb] {
            make_secret(&layout.secret_file(kind))?;
        }
        if !layout.authority().key().exists() {
            let of_tls = Member::all()
                .filter(|member| matches!(member.kind, Kind::Cassandra | Kind::Rabbitmq));
            layout.authority().make(of_tls.map(|member| layout.ip(member)))?;
        }
        for member in members.filter(|member| !layout.folder(*member).exists()) {
            fs::create_dir_all(layout.folder(member))?;
            match member.kind {
                Kind::Redis => redis::prepare_server(layout, member),
                Kind::Sentinel => redis::prepare_sentinel(layout, member),
                Kind::Cassandra => cassandra::prepare(layout, member),
                Kind::Rabbitmq => rabbitmq::prepare(layout, member),
                Kind::Mariadb => {
                    let password = layout.secret(Kind::Mariadb)?;
                    layout.mariadb(member).prepare(layout.cache(), &password, None)
                }
                Kind::Haproxy => haproxy::prepare(layout, member),
                Kind::Web => Ok(()),
            }
            .with_context(|| format!("{member} cannot be configured"))?;
        }
        Ok(())
    }
}

/// The last lines of a log.
fn end_of(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(2_000)..]).into_owned();
    text.trim_end().to_owned()
}

fn make_secret(file: &Path) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    let secret: String = rand::rng().sample_iter(Alphanumeric).take(32).map(char::from).collect();
    write_secret(file, &secret)
}
