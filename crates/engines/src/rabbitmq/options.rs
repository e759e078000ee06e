//! Connection options of RabbitMQ.

use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use lodge_domain::{Error, Result};
use secrecy::{ExposeSecret as _, SecretString};

use crate::Tls;

/// AMQP heartbeat interval in seconds; after two missed ones a node requeues what the client has received.
const HEARTBEAT_S: u16 = 5;

/// How to reach the nodes, and which queue to use.
#[derive(Debug, Clone)]
pub struct Options {
    /// The nodes, as `host:port`; the first usable one is connected to.
    pub nodes: Vec<String>,
    /// The virtual host.
    pub vhost: String,
    /// The user.
    pub username: String,
    /// The user's password.
    pub password: SecretString,
    /// TLS; `None` for a plain connection.
    pub tls: Option<Tls>,
    /// The queue's name.
    pub queue: String,
    /// Replicas of the queue when it is created; 3 survive the loss of one node.
    pub copies: u8,
    /// Maximum length of the queue when it is created; further links are refused.
    pub length_max: u32,
}

impl Options {
    /// The URI of a node with the login: never to be printed.
    pub(super) fn uri(&self, node: &str) -> Result<AMQPUri> {
        let refused = || Error::invalid("rabbitmq.nodes", "must be host:port");
        let (host, port) = node.rsplit_once(':').ok_or_else(refused)?;
        let (username, password) =
            (self.username.clone(), self.password.expose_secret().to_owned());
        Ok(AMQPUri {
            scheme: if self.tls.is_some() { AMQPScheme::AMQPS } else { AMQPScheme::AMQP },
            authority: AMQPAuthority {
                userinfo: AMQPUserInfo { username, password },
                host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
                port: port.parse().map_err(|_| refused())?,
            },
            vhost: self.vhost.clone(),
            query: AMQPQueryString { heartbeat: Some(HEARTBEAT_S), ..AMQPQueryString::default() },
        })
    }
}
