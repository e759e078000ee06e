//! The full-text index of shown messages.

use lodge_domain::board::{Body, Word};

use super::ChannelRow;
use crate::{Failure, Tx};

/// A full-text index of messages; each database has its own implementation.
pub trait WordIndex: Send + Sync {
    /// Adds the words of the message in a row.
    fn add(
        &self,
        tx: &mut dyn Tx,
        row: i64,
        channel: ChannelRow,
        body: &Body,
    ) -> Result<(), Failure>;

    /// Removes every trace of the words of a message; `body` must be the text that was added.
    fn remove(
        &self,
        tx: &mut dyn Tx,
        row: i64,
        channel: ChannelRow,
        body: &Body,
    ) -> Result<(), Failure>;

    /// Returns the rows of at most `limit` messages that contain all the words, preferring those stored last.
    fn find(
        &self,
        tx: &mut dyn Tx,
        channel: Option<ChannelRow>,
        words: &[Word],
        limit: usize,
    ) -> Result<Vec<i64>, Failure>;
}
