//! The cluster: starting, stopping and breaking its processes.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use rand::{RngExt as _, distr::Alphanumeric};
use rustix::process::Signal;

use crate::{
    accounts, cassandra,
    files::{remove, write_secret},
    haproxy,
    layout::Layout,
    member::{Kind, Member},
    process::{self, Tracked, wait_until},
    rabbitmq, redis, s3,
    web::{self, UncachedLodge},
};

/// Timeout for a process to be ready.
const START: Duration = Duration::from_mins(3);

/// The niceness of a process with an expensive start, while it starts.
const STARTING: i32 = 5;

/// Timeout for a Cassandra node that bootstraps: it first settles every transaction that may be open, which takes a
/// minute and more under load.
const REPLACEMENT: Duration = Duration::from_mins(5);

/// Timeout for a process to end by itself.
const END: Duration = Duration::from_secs(10);

/// The keyspace of web processes with write-behind: the mode of a keyspace never changes.
const KEYSPACE_BEHIND: &str = "lodge_later";

/// A cluster, whether it is up or down.
#[derive(Debug, Clone)]
pub struct Cluster {
    layout: Layout,
    lodge: PathBuf,
    deployment: Deployment,
}

/// The configuration of the web processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deployment {
    /// Mode `claim`, write-through.
    #[default]
    WriteThrough,
    /// Mode `replace`, write-behind, in a keyspace of its own.
    WriteBehind,
}

impl Cluster {
    /// Creates the handle of a cluster whose web processes run the binary `lodge`.
    pub fn new(layout: Layout, lodge: impl Into<PathBuf>) -> Self {
        Self { layout, lodge: lodge.into(), deployment: Deployment::default() }
    }

    /// Returns the same cluster with another configuration of its web processes.
    #[must_use]
    pub fn deployed(&self, deployment: Deployment) -> Self {
        Self { deployment, ..self.clone() }
    }

    /// Returns the cluster of a checkout, with the release binary that was built there.
    pub fn of(workspace: &Path) -> Self {
        Self::new(Layout::of(workspace), workspace.join("target/release/lodge"))
    }

    /// As [`Self::of`], but fails if one of `wanted` is down; the error says how to start the cluster.
    pub fn up_with(workspace: &Path, wanted: impl IntoIterator<Item = Member>) -> Result<Self> {
        let cluster = Self::of(workspace);
        for member in wanted {
            if cluster.pid(member).is_none() {
                bail!("{member} is down; run `cargo xtask cluster up`");
            }
        }
        Ok(cluster)
    }

    /// Returns the configuration of the web processes.
    pub fn deployment(&self) -> Deployment {
        self.deployment
    }

    /// Returns the binary of the web processes.
    pub fn lodge(&self) -> &Path {
        &self.lodge
    }

    /// Returns the folders and addresses of the cluster.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Starts all processes that are down and waits until the cluster is usable. Fails if a download or a start
    /// fails, or a process is not ready within three minutes; the error ends with its log.
    pub fn up(&self) -> Result<()> {
        cassandra::download(&self.layout)?;
        s3::build(&self.layout)?;
        self.prepare(Member::all())?;
        self.start_all(Member::all())?;
        wait_until("sentinel discovery", START, || redis::can_fail_over(&self.layout))?;
        self.wait_balanced()
    }

    /// Starts only these processes, which must not depend on others. Fails as [`Self::up`] does.
    pub fn up_alone(&self, members: &[Member]) -> Result<()> {
        if members.iter().any(|member| member.kind == Kind::S3) {
            s3::build(&self.layout)?;
        }
        self.prepare(members.iter().copied())?;
        self.start_all(members.iter().copied())
    }

    /// Starts one Cassandra node without data that requires logins. Its superuser is `cassandra`, with the same word as
    /// password. Fails as [`Self::up`] does.
    pub fn up_with_logins(&self, node: Member) -> Result<()> {
        self.prepare([node].into_iter())?;
        cassandra::require_logins(&self.layout, node)?;
        self.start_all([node])
    }

    /// Starts the processes that are down and waits until they are ready. Fails if one is not ready within three
    /// minutes; the error ends with its log.
    pub fn start_all(&self, members: impl IntoIterator<Item = Member>) -> Result<()> {
        let members: Vec<Member> = members.into_iter().collect();
        // A Redis server asks the sentinels for the master; the accounts processes need the engines, and the web
        // processes all other servers.
        let order = |member: &Member| match member.kind {
            Kind::Sentinel => 0,
            Kind::Accounts => 2,
            Kind::Web => 3,
            _ => 1,
        };
        for step in 0..=3 {
            let members: Vec<Member> =
                members.iter().filter(|member| order(member) == step).copied().collect();
            self.launch_all(&members)?;
        }
        Ok(())
    }

    fn launch_all(&self, members: &[Member]) -> Result<()> {
        for member in members.iter().filter(|member| self.pid(**member).is_none()) {
            self.launch(*member, self.command(*member)?)?;
        }
        members.iter().try_for_each(|member| self.wait_ready(*member, START))
    }

    /// Stops the running web processes and starts them with this cluster's configuration. Fails if one does not end
    /// within 10 s or is not ready within three minutes; the error ends with its log.
    pub fn restart_webs(&self) -> Result<()> {
        for process in Member::of(Kind::Web).filter_map(|web| self.tracked(web)) {
            process.signal(Signal::TERM)?;
            process.wait_gone(END)?;
        }
        self.start_all(Member::of(Kind::Web))?;
        self.wait_balanced()
    }

    /// Waits until the load balancer has a live web process.
    fn wait_balanced(&self) -> Result<()> {
        let balancer = self.layout.address(Member { kind: Kind::Haproxy, number: 1 });
        wait_until("the load balancer's first health checks", START, || web::is_well(balancer, "/"))
    }

    /// Starts a Lodge process without caches and queues. Fails if it is not ready within 30 s.
    pub fn start_uncached(&self) -> Result<UncachedLodge> {
        UncachedLodge::start(&self.layout, UncachedLodge::MEMBER, self.web(UncachedLodge::MEMBER))
    }

    /// Stops every process and removes the cluster's folder. Fails if a process survives SIGKILL or the folder
    /// cannot be removed.
    pub fn down(&self) -> Result<()> {
        self.heal()?;
        let names =
            Member::all().map(|member| member.to_string()).chain([rabbitmq::EPMD.to_owned()]);
        let running: Vec<Tracked> =
            names.filter_map(|name| Tracked::find(&self.layout.record(&name))).collect();
        for process in running.iter().rev() {
            // A stopped process does not receive SIGTERM before SIGCONT.
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

    /// Returns the process id; `None` if the process is down.
    pub fn pid(&self, member: Member) -> Option<u32> {
        self.tracked(member).map(Tracked::pid)
    }

    /// Starts a process and waits until it is ready. Fails if it runs already, the cluster was never up, or it is not
    /// ready within three minutes.
    pub fn start(&self, member: Member) -> Result<()> {
        if self.pid(member).is_some() {
            bail!("{member} is already up");
        }
        self.start_as(member, self.command(member)?, START)
    }

    /// Starts a Redis server in its former role without asking the sentinels, even if another server is master now.
    /// Fails as [`Self::start`] does.
    pub fn start_in_former_role(&self, redis: Member) -> Result<()> {
        self.start_as(redis, redis::plain_server(&self.layout, redis), START)
    }

    /// Deletes the data of a Cassandra node that is down. Fails if its files cannot be removed.
    pub fn lose_disk(&self, node: Member) -> Result<()> {
        cassandra::lose_disk(&self.layout, node)
    }

    /// Starts a Cassandra node that has lost its disk; it bootstraps from the other nodes. Fails as [`Self::start`]
    /// does, but after five minutes.
    pub fn replace(&self, node: Member) -> Result<()> {
        self.start_as(node, cassandra::replacement(&self.layout, node), REPLACEMENT)?;
        cassandra::make_seed(&self.layout, node)
    }

    /// Kills a process with SIGKILL. Fails if it is down.
    pub fn kill(&self, member: Member) -> Result<()> {
        self.kill_all([member])
    }

    /// Kills several processes at once. If one of them is down, fails and kills none.
    pub fn kill_all(&self, members: impl IntoIterator<Item = Member>) -> Result<()> {
        let processes = members.into_iter().map(|member| self.running(member));
        let processes: Vec<Tracked> = processes.collect::<Result<_>>()?;
        processes.iter().try_for_each(|process| process.signal(Signal::KILL))?;
        processes.iter().try_for_each(|process| process.wait_gone(END))
    }

    /// Suspends a process with SIGSTOP. Fails if it is down.
    pub fn pause(&self, member: Member) -> Result<()> {
        self.running(member)?.signal(Signal::STOP)
    }

    /// Resumes a suspended process with SIGCONT. Fails if it is down.
    pub fn resume(&self, member: Member) -> Result<()> {
        self.running(member)?.signal(Signal::CONT)
    }

    /// Returns the Redis master that the sentinels report.
    pub fn redis_master(&self) -> Option<Member> {
        let address = redis::master(&self.layout)?;
        Member::of(Kind::Redis).find(|member| self.layout.address(*member) == address)
    }

    /// Returns the RabbitMQ node that leads the write-behind queue. Fails if the queue does not exist or no node
    /// reports its leader.
    pub fn queue_leader(&self) -> Result<Member> {
        rabbitmq::leader(&self.layout, &format!("{KEYSPACE_BEHIND}.links"))
    }

    /// Creates a database in the Galera cluster, whose name begins with `lodge`. Fails if it exists or the first node is
    /// down.
    pub fn create_database(&self, name: &str) -> Result<()> {
        let member = Member { kind: Kind::Galera, number: 1 };
        self.layout.mariadb(member).create_database(name, &self.layout.secret(Kind::Mariadb)?)
    }

    /// Has a Galera node that is left without a majority serve clients alone, as a person would decide. Fails if it is
    /// down.
    pub fn bootstrap(&self, node: Member) -> Result<()> {
        self.layout.mariadb(node).bootstrap(&self.layout.secret(Kind::Mariadb)?)
    }

    /// Returns the number that a query of the Galera cluster yields; `None` if the query fails.
    pub fn number(&self, query: &str) -> Option<u64> {
        self.answer_of(Member { kind: Kind::Galera, number: 1 }, query)?.parse().ok()
    }

    /// Returns what a query of a Galera node yields; `None` if the query fails.
    pub fn answer_of(&self, node: Member, query: &str) -> Option<String> {
        let password = self.layout.secret(Kind::Mariadb).ok()?;
        let output = self.layout.mariadb(node).client(query, &password).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    }

    /// Runs FLUSHALL on the Redis master. Fails if no master is known or the command fails.
    pub fn flush_redis(&self) -> Result<()> {
        redis::flush(&self.layout)
    }

    /// Waits until Redis can fail over again (after a failed failover or a suspension the sentinels are inactive for up
    /// to half a minute), and all Galera nodes and accounts processes that run are ready. Fails after three minutes.
    pub fn wait_settled(&self) -> Result<()> {
        wait_until("recovery of Redis replication", START, || redis::is_settled(&self.layout))?;
        for member in Member::of(Kind::Galera).chain(Member::of(Kind::Accounts)) {
            if self.pid(member).is_some() {
                self.wait_ready(member, START)?;
            }
        }
        Ok(())
    }

    fn tracked(&self, member: Member) -> Option<Tracked> {
        Tracked::find(&self.layout.record(&member.to_string()))
    }

    fn running(&self, member: Member) -> Result<Tracked> {
        self.tracked(member).with_context(|| format!("{member} is down"))
    }

    fn start_as(&self, member: Member, command: Command, patience: Duration) -> Result<()> {
        self.launch(member, command)?;
        self.wait_ready(member, patience)
    }

    fn launch(&self, member: Member, mut command: Command) -> Result<()> {
        let layout = &self.layout;
        if member.kind == Kind::Rabbitmq {
            rabbitmq::start_epmd(layout)?;
        }
        // Crash dumps are written to the working directory.
        command.current_dir(layout.folder(member));
        let name = member.to_string();
        let process = Tracked::start(&mut command, &layout.log(&name), &layout.record(&name))
            .with_context(|| format!("cannot start {member}; is the cluster up?"))?;
        if matches!(member.kind, Kind::Cassandra | Kind::Rabbitmq) {
            // In production it has a machine of its own; here its start must not slow down other processes.
            process.set_niceness(STARTING);
        }
        Ok(())
    }

    fn command(&self, member: Member) -> Result<Command> {
        let layout = &self.layout;
        Ok(match member.kind {
            Kind::Redis => redis::server(layout, member),
            Kind::Sentinel => redis::sentinel(layout, member),
            Kind::Cassandra => cassandra::server(layout, member, &[]),
            Kind::Rabbitmq => rabbitmq::server(layout, member),
            Kind::Mariadb => layout.mariadb(member).command(),
            Kind::Galera => {
                let mut command = layout.mariadb(member).command();
                if rustix::process::geteuid().is_root() {
                    command.gid(layout.group(member));
                }
                command
            }
            Kind::Haproxy => haproxy::server(layout, member),
            Kind::S3 => s3::server(layout, member)?,
            Kind::Accounts => accounts::server(layout, member, &self.lodge),
            Kind::Web => self.web(member),
        })
    }

    fn is_synced(&self, node: Member) -> bool {
        let password = self.layout.secret(Kind::Mariadb);
        password.is_ok_and(|password| self.layout.mariadb(node).is_synced(&password))
    }

    fn web(&self, member: Member) -> Command {
        let mut command = web::server(&self.layout, member, &self.lodge);
        match self.deployment {
            Deployment::WriteThrough => {}
            Deployment::WriteBehind => {
                command.envs(self.layout.write_behind_settings());
                command.env("LODGE_CASSANDRA_KEYSPACE", KEYSPACE_BEHIND);
            }
        }
        command
    }

    fn wait_ready(&self, member: Member, patience: Duration) -> Result<()> {
        let log = self.layout.log(&member.to_string());
        let ready = || match member.kind {
            Kind::Redis | Kind::Sentinel => redis::is_ready(&self.layout, member),
            Kind::Accounts | Kind::Web => web::is_ready(&self.layout, member),
            Kind::Galera => self.is_synced(member),
            _ => process::listens(self.layout.address(member)),
        };
        let mut died = false;
        let mut ready_or_dead = || {
            died = self.pid(member).is_none();
            died || ready()
        };
        let waited = wait_until(&member.to_string(), patience, &mut ready_or_dead);
        if died {
            bail!("{member} exited during its start; end of its log: {}", end_of(&log));
        }
        waited.with_context(|| format!("end of its log: {}", end_of(&log)))?;
        if let Some(process) = self.tracked(member) {
            process.set_niceness(0);
        }
        Ok(())
    }

    /// Creates missing folders, secrets and configurations.
    fn prepare(&self, members: impl Iterator<Item = Member>) -> Result<()> {
        let layout = &self.layout;
        for folder in ["log", "run", "secrets"] {
            fs::create_dir_all(layout.root().join(folder))?;
        }
        fs::set_permissions(layout.root().join("secrets"), fs::Permissions::from_mode(0o700))?;
        for kind in [Kind::Redis, Kind::Rabbitmq, Kind::Mariadb, Kind::S3, Kind::Accounts] {
            make_secret(&layout.secret_file(kind))?;
        }
        if !layout.authority().key().exists() {
            let of_tls = Member::all().filter(|member| {
                matches!(member.kind, Kind::Cassandra | Kind::Rabbitmq | Kind::S3)
            });
            layout.authority().make(of_tls.map(|member| layout.ip(member)))?;
        }
        for member in members.filter(|member| !layout.folder(*member).exists()) {
            fs::create_dir_all(layout.folder(member))?;
            match member.kind {
                Kind::Redis => redis::prepare_server(layout, member),
                Kind::Sentinel => redis::prepare_sentinel(layout, member),
                Kind::Cassandra => cassandra::prepare(layout, member),
                Kind::Rabbitmq => rabbitmq::prepare(layout, member),
                Kind::Mariadb | Kind::Galera => {
                    let password = layout.secret(Kind::Mariadb)?;
                    layout.mariadb(member).prepare(layout.cache(), &password, None)
                }
                Kind::S3 => s3::prepare(layout, member),
                Kind::Haproxy => haproxy::prepare(layout, member),
                Kind::Accounts | Kind::Web => Ok(()),
            }
            .with_context(|| format!("cannot configure {member}"))?;
        }
        Ok(())
    }
}

/// Returns the last 2,000 bytes of a log.
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
