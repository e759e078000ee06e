//! A connection with its channels.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use futures_util::TryFutureExt as _;
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer,
    options::{
        BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
        QueueDeclareOptions,
    },
    protocol::{AMQPErrorKind, AMQPSoftError},
    runtime::default_runtime,
    tcp::OwnedTLSConfig,
    types::{AMQPValue, FieldTable, ShortString},
};
use lodge_domain::{Error, Result};
use tokio::time::timeout;
use uuid::Uuid;

use super::Options;

/// Timeout of connecting, with opening the channels.
const CONNECT: Duration = Duration::from_secs(5);

/// Timeout of a confirm. A hung node is noticed by the heartbeat only after twice its interval.
const CONFIRM: Duration = Duration::from_secs(3);

const LATE: &str = "RabbitMQ did not answer in time";

/// Unacknowledged messages that a worker may have.
const PREFETCH: u16 = 1_024;

/// Delivery mode of messages that are written to disk.
const PERSISTENT: u8 = 2;

/// An open connection on which the queue is declared.
pub(super) struct RabbitConnection {
    pub(super) id: Uuid,
    connection: Connection,
    publisher: Channel,
    inspector: Channel,
    queue: ShortString,
    is_lost: AtomicBool,
}

impl RabbitConnection {
    /// Connects to one node. Sets `is_new` as soon as the queue turns out not to exist.
    pub(super) async fn open(options: &Options, node: &str, is_new: &AtomicBool) -> Result<Self> {
        in_time(Self::try_open(options, node, is_new)).await
    }

    async fn try_open(options: &Options, node: &str, is_new: &AtomicBool) -> Result<Self> {
        let connection = connect(options, node).await?;
        declare(&connection, options, is_new).await.map_err(Error::unavailable)?;
        let channels = async {
            let publisher = connection.create_channel().await?;
            publisher.confirm_select(ConfirmSelectOptions::default()).await?;
            lapin::Result::Ok((publisher, connection.create_channel().await?))
        };
        let (publisher, looker) = channels.await.map_err(Error::unavailable)?;
        let (id, queue) = (Uuid::new_v4(), options.queue.as_str().into());
        let is_lost = AtomicBool::new(false);
        Ok(Self { id, connection, publisher, inspector: looker, queue, is_lost })
    }

    /// Whether the connection is usable.
    pub(super) fn is_usable(&self) -> bool {
        !self.is_lost.load(Ordering::Acquire) && self.connection.status().connected()
    }

    /// Marks the connection unusable.
    pub(super) fn give_up(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    /// Publishes a message, and waits for the confirm of a majority of the queue's replicas.
    pub(super) async fn publish(&self, message: &[u8]) -> Result<()> {
        let published = async {
            // Mandatory: a message that is routed to no queue is returned, and confirmed nevertheless.
            let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
            let properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
            let queue = self.queue.clone();
            self.publisher
                .basic_publish("".into(), queue, options, message, properties)
                .await?
                .await
        };
        match self.with_timeout(published, "RabbitMQ did not confirm the message in time").await? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) => Err(Error::unavailable("the queue does not exist")),
            _ => Err(Error::unavailable("the queue refused the message; it may be full")),
        }
    }

    /// Waits for an answer; marks the connection unusable if none arrives in time.
    async fn with_timeout<T>(
        &self,
        answer: impl Future<Output = lapin::Result<T>>,
        late: &'static str,
    ) -> Result<T> {
        let answer = match timeout(CONFIRM, answer).await {
            Ok(answer) => answer.map_err(Error::unavailable),
            Err(_) => Err(Error::unavailable(late)),
        };
        answer.inspect_err(|_| self.give_up())
    }

    /// The number of messages that wait to be received.
    pub(super) async fn waiting(&self) -> Result<u64> {
        let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::durable() };
        let declared =
            self.inspector.queue_declare(self.queue.clone(), options, FieldTable::default());
        let queue = self.with_timeout(declared, LATE).await?;
        Ok(u64::from(queue.message_count()))
    }

    /// Starts a consumer on a new channel.
    pub(super) async fn consume(&self) -> Result<(Channel, Consumer)> {
        let consume = async {
            let channel = self.connection.create_channel().await?;
            channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
            let (queue, tag) = (self.queue.clone(), self.id.to_string().into());
            let options = BasicConsumeOptions::default();
            let consumer =
                channel.basic_consume(queue, tag, options, FieldTable::default()).await?;
            lapin::Result::Ok((channel, consumer))
        };
        in_time(consume.map_err(Error::unavailable)).await
    }
}

/// Fails if connecting takes longer than [`CONNECT`].
async fn in_time<T>(connecting: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(CONNECT, connecting).await.unwrap_or_else(|_| Err(Error::unavailable(LATE)))
}

/// Connects to one of the nodes and disconnects; returns that node.
pub(super) async fn probe(options: &Options) -> Result<String> {
    let mut last = Error::unavailable("rabbitmq.nodes is empty");
    for node in &options.nodes {
        match in_time(connect(options, node)).await {
            Ok(connection) => {
                let _ = connection.close(200, "probed".into()).await;
                return Ok(node.clone());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn connect(options: &Options, node: &str) -> Result<Connection> {
    let runtime = default_runtime().map_err(Error::unavailable)?;
    let authorities = options.tls.as_ref().and_then(|tls| tls.authorities_pem.clone());
    let tls = OwnedTLSConfig { identity: None, cert_chain: authorities };
    let properties = ConnectionProperties::default().with_connection_name("lodge".into());
    let uri = options.uri(node)?;
    let connected = Connection::connect_uri_with_config(uri, properties, tls, runtime).await;
    connected.map_err(Error::unavailable)
}

/// Declares the queues. Sets `is_new` before it creates the main queue: the answer may be lost.
async fn declare(
    connection: &Connection,
    options: &Options,
    is_new: &AtomicBool,
) -> lapin::Result<()> {
    let name: ShortString = options.queue.as_str().into();
    let dead = format!("{}.dead", options.queue);
    // A failed passive declaration closes its channel.
    let channel = connection.create_channel().await?;
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::durable() };
    match channel.queue_declare(name.clone(), passive, FieldTable::default()).await {
        Ok(_) => return Ok(()),
        Err(error) if is_not_found(&error) => is_new.store(true, Ordering::Release),
        Err(error) => return Err(error),
    }
    let channel = connection.create_channel().await?;
    let mut quorum = FieldTable::default();
    quorum.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    let copies = i32::from(options.copies);
    quorum.insert("x-quorum-initial-group-size".into(), AMQPValue::LongInt(copies));
    let durable = QueueDeclareOptions::durable();
    channel.queue_declare(dead.as_str().into(), durable, quorum.clone()).await?;
    quorum.insert("x-max-length".into(), AMQPValue::LongLongInt(options.length_max.into()));
    quorum.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
    quorum.insert("x-dead-letter-exchange".into(), AMQPValue::LongString("".into()));
    quorum.insert("x-dead-letter-routing-key".into(), AMQPValue::LongString(dead.into()));
    channel.queue_declare(name, durable, quorum).await?;
    Ok(())
}

fn is_not_found(error: &lapin::Error) -> bool {
    let lapin::ErrorKind::ProtocolError(error) = error.kind() else { return false };
    *error.kind() == AMQPErrorKind::Soft(AMQPSoftError::NOTFOUND)
}
