//! A queue of links in RabbitMQ: a quorum queue, confirmed publishing, batches that are acknowledged
//! when they are stored.
//!
//! A message that cannot be read is poison: it goes to a queue of its own (`NAME.dead`), where an operator
//! can look at it. A connection that breaks, or a channel on which a confirm stays away, is given up and
//! made anew; what was published there without a confirm may or may not have come in, and whoever
//! published it is told so.

mod channel;
mod options;
mod queue;

use std::sync::Arc;

use crate::behind::LinkQueue;

pub use options::Options;

/// The queue that the options name; nothing is connected before it is kept.
pub fn queue(options: Options) -> Arc<dyn LinkQueue> {
    Arc::new(queue::RabbitQueue::new(options))
}

/// Connects to one of the nodes and lets go again; which one.
///
/// # Errors
///
/// [`lodge_domain::Error::Unavailable`] when no node can be used; the cause says why.
pub async fn probe(options: &Options) -> lodge_domain::Result<String> {
    channel::probe(options).await
}
