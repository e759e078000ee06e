//! The cluster's processes by name.

use std::{fmt, str::FromStr};

use anyhow::{Context, Error, Result};

/// What a process is.
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
    /// A MariaDB server.
    Mariadb,
    /// The load balancer.
    Haproxy,
    /// A web process of Lodge.
    Web,
}

impl Kind {
    /// All of them, in the order in which they are started.
    pub const ALL: [Self; 7] = [
        Self::Redis,
        Self::Sentinel,
        Self::Cassandra,
        Self::Rabbitmq,
        Self::Mariadb,
        Self::Haproxy,
        Self::Web,
    ];

    /// How many processes there are of it.
    pub const fn count(self) -> u8 {
        match self {
            Self::Mariadb | Self::Haproxy => 1,
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
            Self::Haproxy => "haproxy",
            Self::Web => "web",
        }
    }
}

/// One process of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member {
    /// What it is.
    pub kind: Kind,
    /// 1, 2, 3, … among its kind.
    pub number: u8,
}

impl Member {
    /// All of them, in the order in which they are started.
    pub fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().flat_map(Self::of)
    }

    /// Those of one kind.
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
            format!("{name} is none of {}", names.join(", "))
        })
    }
}
