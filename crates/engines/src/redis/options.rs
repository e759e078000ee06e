//! Connection options of Redis.

use std::{sync::Arc, time::Duration};

use lodge_domain::{Error, Result};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _,
    ProtocolVersion, RedisConnectionInfo, TlsCertificates,
};
use secrecy::{ExposeSecret as _, SecretString};

use crate::Tls;

/// Timeout of connecting.
const CONNECT: Duration = Duration::from_millis(300);

/// Timeout of a sentinel's answer.
pub(super) const SENTINEL: Duration = Duration::from_millis(300);

/// How to reach the sentinels and the servers that they monitor.
#[derive(Debug, Clone)]
pub struct Options {
    /// The sentinels, as `host:port`.
    pub sentinels: Vec<String>,
    /// The names of the masters in Sentinel; with several, links are divided among them by hash.
    pub masters: Vec<String>,
    /// The login for the servers.
    pub login: Login,
    /// The login for the sentinels.
    pub sentinel_login: Login,
    /// TLS for servers and sentinels; `None` for plain connections.
    pub tls: Option<Tls>,
    /// Deadline of a server's answer; past it another server or the store is read.
    pub deadline: Duration,
    /// Connections for writes that wait for a replica; 0 without write-behind.
    pub writers: usize,
    /// Prefix of every key, so that several deployments can share a Redis.
    pub prefix: String,
}

/// A user and a password, both optional.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// The user; empty for Redis's default user.
    pub username: String,
    /// The password.
    pub password: Option<SecretString>,
}

/// The address of a server or sentinel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Address {
    host: String,
    port: u16,
}

impl Address {
    pub(super) fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// Parses `host:port`; an IPv6 host is in brackets.
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
    /// The sentinels' parsed addresses.
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
        // RESP3 carries pub/sub messages and answers on one connection.
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

/// The settings of a connection with this response timeout.
pub(super) fn connection(deadline: Duration) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(deadline))
}
