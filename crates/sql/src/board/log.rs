//! The event log of the board, and reads of messages.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    board::{
        Action, Actor, Applied, BoardEvent, BoardLog, EventId, EventLog, EventRange, EventsPage,
        Message, MessageSearch, MessagesPage, MessagesQuery, NewMessage, PersonId, Posted, Slug,
        Version,
    },
};

use super::{SqlBoard, apply, events, messages, post};
use crate::{App, ReadKind};

#[async_trait]
impl EventLog for SqlBoard {
    async fn events(&self, channel: Slug, reach: EventRange, limit: usize) -> Result<EventsPage> {
        self.read(move |tx| events::page(tx, &channel, &reach, limit)).await
    }
}

#[async_trait]
impl BoardLog for SqlBoard {
    async fn post(&self, new: NewMessage, by: Actor, now: Timestamp) -> Result<Posted> {
        let (origin, words) = (self.origin, self.words);
        self.write(move |tx| post::post(tx, words, origin, &new, &by, now)).await
    }

    async fn dry_run(
        &self,
        new: NewMessage,
        by: Actor,
        now: Timestamp,
    ) -> Result<Option<BoardEvent>> {
        let origin = self.origin;
        self.read(move |tx| post::dry_run(tx, origin, &new, &by, now)).await
    }

    async fn apply(
        &self,
        channel: Slug,
        message: EventId,
        action: Action,
        by: Actor,
        now: Timestamp,
    ) -> Result<Option<Applied>> {
        let (origin, words) = (self.origin, self.words);
        let apply_one = move |tx: &mut dyn crate::Tx| {
            apply::apply(tx, words, origin, (&channel, message), &action, &by, now)
        };
        self.write(apply_one).await
    }

    async fn messages(&self, query: MessagesQuery) -> Result<MessagesPage> {
        self.read(move |tx| messages::page(tx, &query)).await
    }

    async fn message(&self, channel: Slug, id: EventId, reader: Actor) -> Result<Option<Message>> {
        self.read(move |tx| messages::one(tx, &channel, id, &reader)).await
    }

    async fn history(&self, channel: Slug, id: EventId) -> Result<Vec<Version>> {
        self.read(move |tx| messages::history(tx, &channel, id)).await
    }

    async fn search(&self, search: MessageSearch) -> Result<Vec<Message>> {
        let words = self.words;
        let find = move |tx: &mut dyn crate::Tx| messages::search(tx, words, &search);
        self.database.read(App::Board, ReadKind::Search, find).await
    }

    async fn written_by(
        &self,
        author: PersonId,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Message)>> {
        let page = move |tx: &mut dyn crate::Tx| messages::written_by(tx, author, after, limit);
        self.database.read(App::Board, ReadKind::Export, page).await
    }
}
