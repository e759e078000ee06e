//! The cluster's processes by name.

use std::{fmt, str::FromStr};

use anyhow::{Context, Error, Result};

/// The kind of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A Redis server.
    Redis,
    /// A Redis Sentinel.
    Sentinel,
    /// A Cassandra node.
    Cassandra,
    /// A RabbitMQ node.
    Rabbitmq,
    /// A MariaDB server on its own.
    Mariadb,
    /// A MariaDB server in a Galera cluster.
    Galera,
    /// An object store.
    S3,
    /// An accounts process of Lodge.
    Accounts,
    /// The load balancer.
    Haproxy,
    /// A web process of Lodge.
    Web,
}

impl Kind {
    /// All kinds, in start order.
    pub const ALL: [Self; 10] = [
        Self::Redis,
        Self::Sentinel,
        Self::Cassandra,
        Self::Rabbitmq,
        Self::Mariadb,
        Self::Galera,
        Self::S3,
        Self::Accounts,
        Self::Haproxy,
        Self::Web,
    ];

    /// Returns the number of processes of this kind.
    pub const fn count(self) -> u8 {
        match self {
            Self::Mariadb | Self::S3 | Self::Haproxy => 1,
            Self::Accounts => 2,
            _ => 3,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Sentinel => "sentinel",
            Self::Cassandra => "cassandra",
            Self::Rabbitmq => "rabbitmq",
            Self::Mariadb => "mariadb",
            Self::Galera => "galera",
            Self::S3 => "s3",
            Self::Accounts => "accounts",
            Self::Haproxy => "haproxy",
            Self::Web => "web",
        }
    }
}

/// One process of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member {
    /// The kind of the process.
    pub kind: Kind,
    /// The number within its kind, from 1 on.
    pub number: u8,
}

impl Member {
    /// Returns all processes, in start order.
    pub fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().flat_map(Self::of)
    }

    /// Returns the processes of one kind.
    pub fn of(kind: Kind) -> impl Iterator<Item = Self> {
        (1..=kind.count()).map(move |number| Self { kind, number })
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.kind.name(), self.number)
    }
}

impl FromStr for Member {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Self::all().find(|member| member.to_string() == name).with_context(|| {
            let names: Vec<String> = Self::all().map(|member| member.to_string()).collect();
            format!("unknown process {name}; must be one of {}", names.join(", "))
        })
    }
}
