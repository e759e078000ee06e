//! Where RabbitMQ is, and how it is spoken to.

use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use lodge_domain::{Error, Result};
use secrecy::{ExposeSecret as _, SecretString};

use crate::Tls;

/// Seconds between two signs of life; after two without, a node takes back what a client holds.
const HEARTBEAT_S: u16 = 5;

/// Where the nodes are, and what of them is ours.
#[derive(Debug, Clone)]
pub struct Options {
    /// The nodes, as `host:port`; any one will do.
    pub nodes: Vec<String>,
    /// The virtual host.
    pub vhost: String,
    /// The user.
    pub username: String,
    /// The user's password.
    pub password: SecretString,
    /// Speak TLS.
    pub tls: Option<Tls>,
    /// The queue's name.
    pub queue: String,
    /// How many copies the queue has, if it is yet to be made; 3 survive the loss of one node.
    pub copies: u8,
    /// How many links may wait, if the queue is yet to be made; further ones are refused.
    pub length_max: u32,
}

impl Options {
    /// The address of one of the nodes, with everything that is needed to sign in: never printed.
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
