//! A queue of links in RabbitMQ: a quorum queue with publisher confirms, whose batches are acknowledged
//! after they are stored.
//!
//! A message that cannot be parsed is dead-lettered: it goes to the queue `NAME.dead`, where an operator
//! can inspect it. A connection that breaks, or whose confirm times out, is replaced. Whether the queue
//! has the messages without a confirm is unknown, and their publishers get an error.

mod channel;
mod options;
mod queue;

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};

use crate::write_behind::LinkQueue;

pub use options::Options;

/// Returns the queue that the options name. [`LinkQueue::run_background`] makes the first connection.
pub fn queue(options: Options) -> Arc<dyn LinkQueue> {
    Arc::new(queue::RabbitQueue::new(options))
}

/// Connects to one of the nodes and disconnects; returns that node.
///
/// # Errors
///
/// [`lodge_domain::Error::Unavailable`] when no node can be used; the cause says why.
pub fn probe(options: &Options) -> BoxFuture<'_, lodge_domain::Result<String>> {
    channel::probe(options).boxed()
}
