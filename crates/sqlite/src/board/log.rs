//! What happens on the board.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    board::{
        Actor, Amended, BoardLog, Event, EventId, EventsPage, Message, MessageSearch, MessagesPage,
        MessagesQuery, NewMessage, PersonId, Posted, Reach, Slug, Version, Wish,
    },
};
use lodge_sql::App;

use super::{SqliteBoard, amend, events, messages, post, search};

#[async_trait]
impl BoardLog for SqliteBoard {
    async fn post(&self, new: NewMessage, by: Actor, now: Timestamp) -> Result<Posted> {
        let origin = self.origin;
        self.write(move |connection| post::post(connection, origin, new, &by, now)).await
    }

    async fn foresee(&self, new: NewMessage, by: Actor, now: Timestamp) -> Result<Option<Event>> {
        let origin = self.origin;
        self.read(move |connection| post::foresee(connection, origin, &new, &by, now)).await
    }

    async fn amend(
        &self,
        channel: Slug,
        message: EventId,
        wish: Wish,
        by: Actor,
        now: Timestamp,
    ) -> Result<Option<Amended>> {
        let origin = self.origin;
        self.write(move |connection| {
            amend::amend(connection, origin, &channel, message, wish, &by, now)
        })
        .await
    }

    async fn events(&self, channel: Slug, reach: Reach, limit: usize) -> Result<EventsPage> {
        self.read(move |connection| events::page(connection, &channel, reach, limit)).await
    }

    async fn messages(&self, query: MessagesQuery) -> Result<MessagesPage> {
        self.read(move |connection| messages::page(connection, &query)).await
    }

    async fn message(&self, channel: Slug, id: EventId, reader: Actor) -> Result<Option<Message>> {
        self.read(move |connection| messages::one(connection, &channel, id, &reader)).await
    }

    async fn history(&self, channel: Slug, id: EventId) -> Result<Vec<Version>> {
        self.read(move |connection| messages::history(connection, &channel, id)).await
    }

    async fn search(&self, search: MessageSearch) -> Result<Vec<Message>> {
        self.engine
            .board_searches
            .read(App::Board, move |connection| search::search(connection, &search))
            .await
    }

    async fn written_by(
        &self,
        author: PersonId,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Message)>> {
        let scan = move |connection: &_| messages::written_by(connection, author, after, limit);
        self.engine.scans.read(App::Board, scan).await
    }
}
