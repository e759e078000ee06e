//! Folders and addresses of a cluster.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    authority::Authority,
    galera::Node,
    mariadb::Mariadb,
    member::{Kind, Member},
    redis, s3,
};

/// A cluster's folder and its block of loopback addresses. Clusters in different blocks can run at the same time.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
    cache: PathBuf,
    block: u8,
}

impl Layout {
    /// Returns the layout of the checkout at `workspace`, on 127.77.*.* unless `TESTBED_BLOCK` sets another block.
    pub fn of(workspace: &Path) -> Self {
        Self::in_block(workspace, Self::wanted_block().unwrap_or(77))
    }

    /// Returns the layout of the checkout at `workspace`, on 127.`block`.*.*.
    pub fn in_block(workspace: &Path, block: u8) -> Self {
        let folder = workspace.join("target/testbed");
        let root = folder.join(format!("cluster-{block}"));
        Self { root, cache: folder.join("cache"), block }
    }

    /// Returns the block of addresses in `TESTBED_BLOCK`; `None` if it is unset or not a number up to 255.
    pub fn wanted_block() -> Option<u8> {
        std::env::var("TESTBED_BLOCK").ok()?.parse().ok()
    }

    /// Returns the cluster's block of addresses.
    pub fn block(&self) -> u8 {
        self.block
    }

    /// Returns the folder with all of the cluster's state.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder for downloads and templates, shared by all clusters of the checkout.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Returns a MariaDB server, on its own or of the Galera cluster.
    pub fn mariadb(&self, member: Member) -> Mariadb {
        let server = Mariadb::new(self.folder(member), self.address(member));
        if member.kind != Kind::Galera {
            return server;
        }
        let nodes = Member::of(Kind::Galera).map(|node| self.ip(node)).collect();
        let copies_at = SocketAddr::new(self.ip(member), self.local_port(member));
        server.in_galera(Node::new(member.number, nodes, copies_at))
    }

    /// Returns the folder of a process.
    pub fn folder(&self, member: Member) -> PathBuf {
        self.root.join(member.to_string())
    }

    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.root.join("log").join(format!("{name}.log"))
    }

    pub(crate) fn record(&self, name: &str) -> PathBuf {
        self.root.join("run").join(name)
    }

    /// Returns the address on which a process serves its clients.
    pub fn address(&self, member: Member) -> SocketAddr {
        let port = match member.kind {
            Kind::Redis => 6379,
            Kind::Sentinel => 26379,
            Kind::Cassandra => 9042,
            Kind::Rabbitmq => 5672,
            Kind::Mariadb | Kind::Galera => 3306,
            Kind::S3 => 9000,
            Kind::Accounts => 7070,
            Kind::Haproxy | Kind::Web => 8080,
        };
        SocketAddr::new(self.ip(member), port)
    }

    /// Returns the loopback address that stands for a process's host.
    pub fn ip(&self, member: Member) -> IpAddr {
        let net = match member.kind {
            // Each sentinel shares the address of a server, as on a real host.
            Kind::Redis | Kind::Sentinel => 1,
            Kind::Cassandra => 2,
            Kind::Rabbitmq => 3,
            Kind::Web => 4,
            Kind::Haproxy => 5,
            Kind::Mariadb => 6,
            Kind::Galera => 7,
            Kind::S3 => 8,
            Kind::Accounts => 9,
        };
        Ipv4Addr::new(127, self.block, net, member.number).into()
    }

    /// Returns a port that is unique over all clusters, for a program that can only use 127.0.0.1, or that looks for
    /// its own port on all addresses.
    pub(crate) fn local_port(&self, member: Member) -> u16 {
        let first = match member.kind {
            Kind::Rabbitmq => 20_003,
            Kind::Web => 20_006,
            Kind::Galera => 17_000,
            _ => 20_000,
        };
        first + 10 * u16::from(self.block) + u16::from(member.number)
    }

    /// Returns the port of Erlang's name server (epmd), which always listens on 127.0.0.1, too.
    pub(crate) fn epmd_port(&self) -> u16 {
        4_292 + u16::from(self.block)
    }

    /// Returns the group id of a web process or a Galera node if root starts it. iptables distinguishes what they send
    /// to others by group, because it all has the same source address.
    pub(crate) fn group(&self, member: Member) -> u32 {
        u32::from(self.local_port(member))
    }

    /// Returns the network of the addresses of one kind.
    pub(crate) fn network(&self, kind: Kind) -> String {
        format!("{}/24", self.ip(Member { kind, number: 0 }))
    }

    /// Returns the name of the cluster's iptables chain.
    pub(crate) fn chain(&self) -> String {
        format!("LODGE-{}", self.block)
    }

    /// Returns the address of a Lodge process for metrics and health checks.
    pub fn ops(&self, member: Member) -> SocketAddr {
        SocketAddr::new(self.ip(member), 9090)
    }

    /// Returns the addresses of all processes of a kind.
    pub fn addresses(&self, kind: Kind) -> Vec<SocketAddr> {
        Member::of(kind).map(|member| self.address(member)).collect()
    }

    /// Returns the file with the password of Redis, RabbitMQ or MariaDB, the secret of S3, or the key of both tiers.
    pub fn secret_file(&self, kind: Kind) -> PathBuf {
        let kind = if kind == Kind::Galera { Kind::Mariadb } else { kind };
        self.root.join("secrets").join(Member { kind, number: 1 }.to_string())
    }

    /// Returns the settings, as environment variables, of a Lodge process that stores its links on this cluster.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LODGE_APPS", "links".to_owned()),
            ("LODGE_LINKS_STORE", "cassandra".to_owned()),
            ("LODGE_CASSANDRA_NODES", self.list(Kind::Cassandra)),
        ]
        .into_iter()
        .chain(self.redis_settings())
        .collect()
    }

    /// Returns the settings of a Lodge process that has copies in Redis.
    pub fn redis_settings(&self) -> [(&'static str, String); 4] {
        [
            ("LODGE_REDIS_SENTINELS", self.list(Kind::Sentinel)),
            ("LODGE_REDIS_USERNAME", redis::USER.to_owned()),
            ("LODGE_REDIS_PASSWORD_FILE", self.secret_path(Kind::Redis)),
            ("LODGE_REDIS_SENTINEL_PASSWORD_FILE", self.secret_path(Kind::Redis)),
        ]
    }

    /// Returns the additional settings of the cluster's web processes, which ask its accounts processes.
    pub(crate) fn web_settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.picture_settings();
        settings.extend([
            ("LODGE_APPS", "links,accounts".to_owned()),
            ("LODGE_ROLES", "web,worker".to_owned()),
            ("LODGE_ACCOUNTS_SERVERS", self.list(Kind::Accounts)),
            ("LODGE_ACCOUNTS_KEY_FILE", self.secret_path(Kind::Accounts)),
        ]);
        settings
    }

    /// Returns the settings of the cluster's accounts processes.
    pub fn accounts_tier_settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.account_settings();
        settings.extend(self.redis_settings());
        settings.extend([
            ("LODGE_APPS", "accounts".to_owned()),
            ("LODGE_ROLES", "accounts".to_owned()),
            ("LODGE_ACCOUNTS_KEY_FILE", self.secret_path(Kind::Accounts)),
        ]);
        settings
    }

    /// Returns the additional settings for write-behind.
    pub fn write_behind_settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LODGE_LINKS_MODE", "replace".to_owned()),
            ("LODGE_LINKS_WRITES", "behind".to_owned()),
            ("LODGE_RABBITMQ_NODES", self.list(Kind::Rabbitmq)),
            ("LODGE_RABBITMQ_PASSWORD_FILE", self.secret_path(Kind::Rabbitmq)),
        ]
    }

    /// Returns the settings of a Lodge process that stores accounts in MariaDB.
    pub fn account_settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LODGE_ACCOUNTS_STORE", "mariadb".to_owned()),
            ("LODGE_MARIADB_NODES", self.list(Kind::Galera)),
            ("LODGE_MARIADB_PASSWORD_FILE", self.secret_path(Kind::Mariadb)),
        ]
    }

    /// Returns the settings of a Lodge process that stores pictures in the bucket of this cluster.
    pub fn picture_settings(&self) -> Vec<(&'static str, String)> {
        let server = self.address(Member { kind: Kind::S3, number: 1 });
        vec![
            ("LODGE_PICTURES_STORE", "s3".to_owned()),
            ("LODGE_S3_ENDPOINT", format!("https://{server}")),
            ("LODGE_S3_REGION", s3::REGION.to_owned()),
            ("LODGE_S3_BUCKET", s3::BUCKET.to_owned()),
            ("LODGE_S3_ACCESS_KEY_ID", s3::ACCESS_KEY.to_owned()),
            ("LODGE_S3_SECRET_ACCESS_KEY_FILE", self.secret_path(Kind::S3)),
            ("LODGE_S3_CA_FILE", self.authority().root().display().to_string()),
        ]
    }

    /// Returns the addresses of all processes of a kind, separated by commas.
    fn list(&self, kind: Kind) -> String {
        let addresses: Vec<_> = self.addresses(kind).iter().map(ToString::to_string).collect();
        addresses.join(",")
    }

    fn secret_path(&self, kind: Kind) -> String {
        self.secret_file(kind).display().to_string()
    }

    /// Returns the certificates of the nodes with TLS.
    pub fn authority(&self) -> Authority {
        Authority::at(self.root.join("secrets"))
    }

    /// Returns the TLS address of a RabbitMQ node.
    pub fn tls_address(&self, member: Member) -> SocketAddr {
        SocketAddr::new(self.ip(member), 5671)
    }

    /// Reads the file of [`Self::secret_file`]. Fails if the cluster was never up.
    pub fn secret(&self, kind: Kind) -> Result<String> {
        let file = self.secret_file(kind);
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    }
}
