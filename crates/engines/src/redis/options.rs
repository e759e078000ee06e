//! Where Redis is, and how it is spoken to.

use std::{sync::Arc, time::Duration};

use lodge_domain::{Error, Result};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _,
    ProtocolVersion, RedisConnectionInfo, TlsCertificates,
};
use secrecy::{ExposeSecret as _, SecretString};

use crate::Tls;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_millis(300);

/// How long a sentinel may take to answer.
pub(super) const SENTINEL: Duration = Duration::from_millis(300);

/// Where the sentinels are, and what they watch for us.
#[derive(Debug, Clone)]
pub struct Options {
    /// The sentinels, as `host:port`.
    pub sentinels: Vec<String>,
    /// What they call the masters; with several, each holds the keys that hash to it.
    pub masters: Vec<String>,
    /// How to sign in to the servers.
    pub login: Login,
    /// How to sign in to the sentinels.
    pub sentinel_login: Login,
    /// Speak TLS, to servers and sentinels alike.
    pub tls: Option<Tls>,
    /// How long a server may take to answer; past it the answer is had elsewhere.
    pub deadline: Duration,
    /// Connections for writes that wait for a replica; 0 if nothing is written behind.
    pub writers: usize,
    /// What every key begins with, so that several deployments can share a Redis.
    pub prefix: String,
}

/// A user and a password, either of them empty if there is none.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// The user; empty for Redis's own default.
    pub username: String,
    /// The password.
    pub password: Option<SecretString>,
}

/// A server or sentinel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Address {
    host: String,
    port: u16,
}

impl Address {
    pub(super) fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// Takes `host:port`; an IPv6 host stands in brackets.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let refused = || Error::invalid("redis.sentinels", "must be host:port");
        let (host, port) = text.rsplit_once(':').ok_or_else(refused)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(refused());
        }
        Ok(Self::new(host, port.parse().map_err(|_| refused())?))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Options {
    /// The sentinels' addresses.
    pub(super) fn sentinel_addresses(&self) -> Result<Arc<[Address]>> {
        self.sentinels.iter().map(|text| Address::parse(text)).collect()
    }

    pub(super) fn server(&self, address: &Address) -> redis::RedisResult<Client> {
        self.client(address, &self.login)
    }

    pub(super) fn sentinel(&self, address: &Address) -> redis::RedisResult<Client> {
        self.client(address, &self.sentinel_login)
    }

    fn client(&self, address: &Address, login: &Login) -> redis::RedisResult<Client> {
        let Address { host, port } = address.clone();
        let address = match &self.tls {
            None => ConnectionAddr::Tcp(host, port),
            Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        };
        // Version 3 of the protocol brings messages and answers on one connection.
        let mut settings = RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3);
        if !login.username.is_empty() {
            settings = settings.set_username(&login.username);
        }
        if let Some(password) = &login.password {
            settings = settings.set_password(password.expose_secret());
        }
        let info: ConnectionInfo = address.into_connection_info()?.set_redis_settings(settings);
        match &self.tls {
            None => Client::open(info),
            Some(tls) => {
                let root_cert = tls.authorities_pem.clone().map(Into::into);
                Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
            }
        }
    }
}

/// How a connection is made whose answers take at most so long.
pub(super) fn connection(deadline: Duration) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(deadline))
}
