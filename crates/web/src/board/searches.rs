//! Message searches. The store runs one at a time; a limit per account or bot keeps its queue open to others.

use std::{sync::Arc, time::Duration};

use lodge_domain::{
    Result,
    board::{Actor, Board, Message, PersonId, Slug},
};

use crate::edge::per_key::PerKeyLimit;

/// The most searches of one account or bot that run or wait.
const SEARCHES_PER_PERSON_MAX: usize = 2;

/// The `Retry-After` of a refused search.
const RETRY: Duration = Duration::from_secs(1);

/// The search service with its limit.
pub(crate) struct Searches {
    board: Arc<Board>,
    under_way: Arc<PerKeyLimit<PersonId>>,
}

impl Searches {
    /// Searches `board`.
    pub(super) fn new(board: Arc<Board>) -> Self {
        Self { board, under_way: PerKeyLimit::new(SEARCHES_PER_PERSON_MAX, RETRY) }
    }

    /// Returns the messages with all words of `text`; [`lodge_domain::Error::TooMany`] past [`SEARCHES_PER_PERSON_MAX`] searches.
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
