//! Where everything is: folders and addresses.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    authority::Authority,
    mariadb::Mariadb,
    member::{Kind, Member},
};

/// A cluster's folder and its block of loopback addresses, so that several can be up at once.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
    cache: PathBuf,
    block: u8,
}

impl Layout {
    /// The cluster of a checkout of Lodge at `workspace`, on 127.77.*.* unless `TESTBED_BLOCK` has
    /// another number, so that several can be up at once.
    pub fn of(workspace: &Path) -> Self {
        Self::in_block(workspace, Self::wanted_block().unwrap_or(77))
    }

    /// The cluster of a checkout of Lodge at `workspace`, on 127.`block`.*.*.
    pub fn in_block(workspace: &Path, block: u8) -> Self {
        let folder = workspace.join("target/testbed");
        let root = folder.join(format!("cluster-{block}"));
        Self { root, cache: folder.join("cache"), block }
    }

    /// The block of addresses that `TESTBED_BLOCK` asks for.
    pub fn wanted_block() -> Option<u8> {
        std::env::var("TESTBED_BLOCK").ok()?.parse().ok()
    }

    /// Its block of addresses.
    pub fn block(&self) -> u8 {
        self.block
    }

    /// The folder that holds all of the cluster's state.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where downloads and what is made once are kept.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// A database server.
    pub fn mariadb(&self, member: Member) -> Mariadb {
        Mariadb::new(self.folder(member), self.address(member))
    }

    /// The folder of one process.
    pub fn folder(&self, member: Member) -> PathBuf {
        self.root.join(member.to_string())
    }

    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.root.join("log").join(format!("{name}.log"))
    }

    pub(crate) fn record(&self, name: &str) -> PathBuf {
        self.root.join("run").join(name)
    }

    /// The address that a process listens on for its clients.
    pub fn address(&self, member: Member) -> SocketAddr {
        let port = match member.kind {
            Kind::Redis => 6379,
            Kind::Sentinel => 26379,
            Kind::Cassandra => 9042,
            Kind::Rabbitmq => 5672,
            Kind::Mariadb => 3306,
            Kind::Haproxy | Kind::Web => 8080,
        };
        SocketAddr::new(self.ip(member), port)
    }

    /// The address of a process's host, as it were.
    pub fn ip(&self, member: Member) -> IpAddr {
        let net = match member.kind {
            // A sentinel stands beside each server, as it would on a host of its own.
            Kind::Redis | Kind::Sentinel => 1,
            Kind::Cassandra => 2,
            Kind::Rabbitmq => 3,
            Kind::Web => 4,
            Kind::Haproxy => 5,
            Kind::Mariadb => 6,
        };
        Ipv4Addr::new(127, self.block, net, member.number).into()
    }

    /// A port that no other process of any cluster has, for what cannot be told another address than
    /// 127.0.0.1, or looks for itself on all of them.
    pub(crate) fn local_port(&self, member: Member) -> u16 {
        let kind = match member.kind {
            Kind::Rabbitmq => 3,
            Kind::Web => 6,
            _ => 0,
        };
        20_000 + 10 * u16::from(self.block) + kind + u16::from(member.number)
    }

    /// The port of Erlang's name server, which listens on 127.0.0.1 as well, whatever it is told.
    pub(crate) fn epmd_port(&self) -> u16 {
        4_292 + u16::from(self.block)
    }

    /// The group that a web process runs in, if root starts it, so that its packets can be told from
    /// those of others: they all leave from one address.
    pub(crate) fn group(&self, web: Member) -> u32 {
        u32::from(self.local_port(web))
    }

    /// The addresses of one kind, as a network.
    pub(crate) fn network(&self, kind: Kind) -> String {
        format!("{}/24", self.ip(Member { kind, number: 0 }))
    }

    /// The name of the chain of packet rules that is this cluster's own.
    pub(crate) fn chain(&self) -> String {
        format!("LODGE-{}", self.block)
    }

    /// Where a web process answers with its metrics.
    pub fn ops(&self, web: Member) -> SocketAddr {
        SocketAddr::new(self.ip(web), 9090)
    }

    /// The addresses of all of a kind.
    pub fn addresses(&self, kind: Kind) -> Vec<SocketAddr> {
        Member::of(kind).map(|member| self.address(member)).collect()
    }

    /// The file that holds the password of Redis, RabbitMQ or MariaDB.
    pub fn secret_file(&self, kind: Kind) -> PathBuf {
        self.root.join("secrets").join(Member { kind, number: 1 }.to_string())
    }

    /// The settings, as environment variables, of a Lodge that keeps its links on this cluster.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            // Accounts are kept in a data folder, of which none is shared here.
            ("LODGE_APPS", "links".to_owned()),
            ("LODGE_LINKS_STORE", "cassandra".to_owned()),
            ("LODGE_CASSANDRA_NODES", self.list(Kind::Cassandra)),
            ("LODGE_REDIS_SENTINELS", self.list(Kind::Sentinel)),
            ("LODGE_REDIS_PASSWORD_FILE", self.secret_path(Kind::Redis)),
            ("LODGE_REDIS_SENTINEL_PASSWORD_FILE", self.secret_path(Kind::Redis)),
        ]
    }

    /// What there is to set more for writes that are stored later.
    pub fn settings_behind(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LODGE_LINKS_MODE", "replace".to_owned()),
            ("LODGE_LINKS_WRITES", "behind".to_owned()),
            ("LODGE_RABBITMQ_NODES", self.list(Kind::Rabbitmq)),
            ("LODGE_RABBITMQ_PASSWORD_FILE", self.secret_path(Kind::Rabbitmq)),
        ]
    }

    /// The addresses of all of a kind, with commas between.
    fn list(&self, kind: Kind) -> String {
        let addresses: Vec<_> = self.addresses(kind).iter().map(ToString::to_string).collect();
        addresses.join(",")
    }

    fn secret_path(&self, kind: Kind) -> String {
        self.secret_file(kind).display().to_string()
    }

    /// The certificates of the nodes that speak TLS.
    pub fn authority(&self) -> Authority {
        Authority::at(self.root.join("secrets"))
    }

    /// Where a RabbitMQ node listens for those who speak TLS.
    pub fn tls_address(&self, member: Member) -> SocketAddr {
        SocketAddr::new(self.ip(member), 5671)
    }

    /// The password of Redis, RabbitMQ or MariaDB. Fails when the cluster was never up.
    pub fn secret(&self, kind: Kind) -> Result<String> {
        let file = self.secret_file(kind);
        fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))
    }
}
