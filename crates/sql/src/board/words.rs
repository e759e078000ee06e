//! The words of messages that can be read.

use lodge_domain::board::{Body, Word};

use super::ChannelRow;
use crate::{Failure, Tx};

/// Finds messages by their words. Each database has an index of its own kind.
pub trait WordIndex: Send + Sync {
    /// Adds the words of the message in that row.
    fn add(
        &self,
        tx: &mut dyn Tx,
        row: i64,
        channel: ChannelRow,
        body: &Body,
    ) -> Result<(), Failure>;

    /// Removes every trace of the words of a message; `body` is what it was added with.
    fn remove(
        &self,
        tx: &mut dyn Tx,
        row: i64,
        channel: ChannelRow,
        body: &Body,
    ) -> Result<(), Failure>;

    /// The rows of at most `limit` messages that have all of the words: of more, those that were stored last.
    fn find(
        &self,
        tx: &mut dyn Tx,
        channel: Option<ChannelRow>,
        words: &[Word],
        limit: usize,
    ) -> Result<Vec<i64>, Failure>;
}
