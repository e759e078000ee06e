//! The event log of the board, and reads of messages.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    board::{
        Actor, Amended, BoardLog, Event, EventId, EventLog, EventsPage, Message, MessageSearch,
        MessagesPage, MessagesQuery, NewMessage, PersonId, Posted, Reach, Slug, Version, Wish,
    },
};

use super::{SqlBoard, amend, events, messages, post};
use crate::{App, Database, Reads};

#[async_trait]
impl<D: Database> EventLog for SqlBoard<D> {
    async fn events(&self, channel: Slug, reach: Reach, limit: usize) -> Result<EventsPage> {
        self.read(move |tx| events::page(tx, &channel, &reach, limit)).await
    }
}

#[async_trait]
impl<D: Database> BoardLog for SqlBoard<D> {
    async fn post(&self, new: NewMessage, by: Actor, now: Timestamp) -> Result<Posted> {
        let (origin, words) = (self.origin, self.words);
        self.write(move |tx| post::post(tx, words, origin, &new, &by, now)).await
    }

    async fn foresee(&self, new: NewMessage, by: Actor, now: Timestamp) -> Result<Option<Event>> {
        let origin = self.origin;
        self.read(move |tx| post::foresee(tx, origin, &new, &by, now)).await
    }

    async fn amend(
        &self,
        channel: Slug,
        message: EventId,
        wish: Wish,
        by: Actor,
        now: Timestamp,
    ) -> Result<Option<Amended>> {
        let (origin, words) = (self.origin, self.words);
        let amend = move |tx: &mut dyn crate::Tx| {
            amend::amend(tx, words, origin, (&channel, message), &wish, &by, now)
        };
        self.write(amend).await
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
        self.database.read(App::Board, Reads::Search, find).await
    }

    async fn written_by(
        &self,
        author: PersonId,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Message)>> {
        let scan = move |tx: &mut dyn crate::Tx| messages::written_by(tx, author, after, limit);
        self.database.read(App::Board, Reads::Many, scan).await
    }
}
