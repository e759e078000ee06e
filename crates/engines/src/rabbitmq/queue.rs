//! The queue, which survives the loss of its connections.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{FutureExt as _, StreamExt as _};
use lapin::{
    Channel, Consumer,
    message::Delivery,
    options::{BasicAckOptions, BasicNackOptions},
};
use lodge_domain::{Error, Result, links::Link as ShortLink};
use parking_lot::RwLock;
use tokio::{
    sync::{Mutex, Notify, Semaphore},
    time::{sleep, timeout},
};

use super::{Options, channel::RabbitConnection};
use crate::write_behind::{Batch, LinkQueue, Receipt, Received};

/// Messages that may await a confirm. Further ones wait, and are refused after [`WINDOW_TIMEOUT`].
const WINDOW: usize = 4_096;
const WINDOW_TIMEOUT: Duration = Duration::from_secs(1);

/// Links in one batch.
const BATCH_MAX: usize = 256;

/// How often the connection is checked when no event arrives.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// Pause before another node is tried.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// A queue of links over a connection that is replaced when it breaks.
pub(super) struct RabbitQueue {
    options: Options,
    link: RwLock<Option<Arc<RabbitConnection>>>,
    /// Whether the queue did not exist when this process first looked for it, or later.
    is_new: AtomicBool,
    window: Semaphore,
    receiving: Mutex<Option<QueueConsumer>>,
    /// Notified when the connection is lost.
    trouble: Notify,
}

/// A worker's consumer.
struct QueueConsumer {
    link: Arc<RabbitConnection>,
    channel: Channel,
    consumer: Consumer,
    /// Delivery numbers dead-lettered since the last acknowledgement: to acknowledge one of them would
    /// close the channel.
    dead_lettered: Vec<u64>,
}

impl RabbitQueue {
    pub(super) fn new(options: Options) -> Self {
        Self {
            options,
            link: RwLock::default(),
            is_new: AtomicBool::new(false),
            window: Semaphore::new(WINDOW),
            receiving: Mutex::default(),
            trouble: Notify::new(),
        }
    }

    fn link(&self) -> Result<Arc<RabbitConnection>> {
        let link = self.link.read().clone().filter(|link| link.is_usable());
        link.ok_or_else(|| {
            self.trouble.notify_one();
            Error::unavailable("no connection to RabbitMQ")
        })
    }

    /// Connects to the first usable node, beginning with number `turn`.
    async fn connect(&self, turn: &mut usize) {
        for _ in 0..self.options.nodes.len() {
            let node = &self.options.nodes[*turn % self.options.nodes.len()];
            match RabbitConnection::open(&self.options, node, &self.is_new).await {
                Ok(link) => {
                    tracing::info!(node, "RabbitMQ reached");
                    *self.link.write() = Some(Arc::new(link));
                    return;
                }
                Err(error) => {
                    tracing::warn!(node, %error, "RabbitMQ cannot be used");
                    *turn += 1;
                }
            }
        }
    }
}

impl QueueConsumer {
    async fn begin(link: Arc<RabbitConnection>) -> Result<Self> {
        let (channel, consumer) = link.consume().await?;
        Ok(Self { link, channel, consumer, dead_lettered: Vec::new() })
    }

    /// Waits for a message, then returns the messages that have arrived.
    async fn next(&mut self) -> Result<Batch> {
        let gone = || Error::unavailable("the connection to RabbitMQ is lost");
        let mut batch = Vec::new();
        while batch.is_empty() {
            let first = self.consumer.next().await.ok_or_else(gone)?.map_err(Error::unavailable)?;
            batch.extend(self.read(first).await?);
            while batch.len() < BATCH_MAX {
                let Some(Some(next)) = self.consumer.next().now_or_never() else { break };
                batch.extend(self.read(next.map_err(Error::unavailable)?).await?);
            }
        }
        Ok(Batch(batch))
    }

    /// Parses a message; dead-letters it and returns `None` if it is not a link.
    async fn read(&mut self, message: Delivery) -> Result<Option<Received>> {
        match serde_json::from_slice(&message.data) {
            Ok(link) => {
                let (connection, number) = (self.link.id, message.delivery_tag);
                Ok(Some(Received { link, receipt: Receipt { connection, number } }))
            }
            Err(error) => {
                tracing::error!(%error, "a message that cannot be parsed is dead-lettered");
                metrics::counter!("lodge_links_dead_letters_total").increment(1);
                self.dead_letter(message.delivery_tag).await?;
                Ok(None)
            }
        }
    }

    async fn dead_letter(&mut self, number: u64) -> Result<()> {
        self.dead_lettered.push(number);
        let bury = BasicNackOptions { requeue: false, multiple: false };
        self.channel.basic_nack(number, bury).await.map_err(Error::unavailable)
    }

    /// Acknowledges a batch, except its dead-lettered links.
    async fn acknowledge(&mut self, batch: &Batch) -> Result<()> {
        let numbers = batch.0.iter().map(|received| received.receipt.number);
        let last = numbers.filter(|number| !self.dead_lettered.contains(number)).max();
        self.dead_lettered.clear();
        let Some(last) = last else { return Ok(()) };
        let all_until = BasicAckOptions { multiple: true };
        self.channel.basic_ack(last, all_until).await.map_err(Error::unavailable)
    }
}

#[async_trait]
impl LinkQueue for RabbitQueue {
    async fn is_new(&self) -> Result<bool> {
        self.link()?;
        Ok(self.is_new.load(Ordering::Acquire))
    }

    async fn publish(&self, link: &ShortLink) -> Result<()> {
        let message = serde_json::to_vec(link).map_err(Error::internal)?;
        let _place = timeout(WINDOW_TIMEOUT, self.window.acquire())
            .await
            .map_err(|_| Error::unavailable("too many messages wait for confirms"))?
            .map_err(Error::internal)?;
        let published = self.link()?.publish(&message).await;
        if published.is_err() {
            self.trouble.notify_one();
        }
        published
    }

    async fn receive(&self) -> Result<Batch> {
        let link = self.link()?;
        let mut receiving = self.receiving.lock().await;
        let mut current = match receiving.take().filter(|current| Arc::ptr_eq(&current.link, &link))
        {
            Some(current) => current,
            None => QueueConsumer::begin(link).await?,
        };
        let batch = current.next().await?;
        *receiving = Some(current);
        Ok(batch)
    }

    async fn acknowledge(&self, batch: Batch) -> Result<()> {
        let Some(last) = batch.0.last() else { return Ok(()) };
        let mut receiving = self.receiving.lock().await;
        match current(receiving.as_mut(), last.receipt) {
            Some(current) => current.acknowledge(&batch).await,
            // They are redelivered; storing them again changes nothing.
            None => Ok(()),
        }
    }

    async fn dead_letter(&self, receipt: Receipt) -> Result<()> {
        let mut receiving = self.receiving.lock().await;
        match current(receiving.as_mut(), receipt) {
            Some(current) => current.dead_letter(receipt.number).await,
            None => Ok(()),
        }
    }

    async fn waiting(&self) -> Result<u64> {
        self.link()?.waiting().await
    }

    async fn run_background(&self) {
        let mut turn = 0;
        loop {
            if self.link.read().as_ref().is_none_or(|link| !link.is_usable()) {
                self.connect(&mut turn).await;
            }
            let _ = timeout(CHECK_PERIOD, self.trouble.notified()).await;
            sleep(RECONNECT_PAUSE).await;
        }
    }
}

/// The consumer that a receipt is from, if it is still open.
fn current(receiving: Option<&mut QueueConsumer>, receipt: Receipt) -> Option<&mut QueueConsumer> {
    receiving.filter(|current| current.link.id == receipt.connection)
}
