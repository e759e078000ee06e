//! Searches for messages, of which the store does one at a time: nobody has all places of those that wait.

use std::{sync::Arc, time::Duration};

use lodge_domain::{
    Result,
    board::{Actor, Board, Message, PersonId, Slug},
};

use crate::edge::each::Each;

/// Searches of one person that are under way or wait.
const EACH_MAX: usize = 2;

/// When to ask again.
const RETRY: Duration = Duration::from_secs(1);

/// The searches.
pub(crate) struct Searches {
    board: Arc<Board>,
    under_way: Arc<Each<PersonId>>,
}

impl Searches {
    /// Searches of this board.
    pub(super) fn new(board: Arc<Board>) -> Self {
        Self { board, under_way: Each::new(EACH_MAX, RETRY) }
    }

    /// Messages that have all the words of a text; [`lodge_domain::Error::TooMany`] for whoever searches already.
    pub(super) async fn search(
        &self,
        by: &Actor,
        channel: Option<Slug>,
        text: &str,
        limit: usize,
    ) -> Result<Vec<Message>> {
        let _place = self.under_way.take(by.id())?;
        self.board.search(by, channel, text, limit).await
    }
}
