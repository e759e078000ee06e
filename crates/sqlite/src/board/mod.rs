//! The board's store.

pub(crate) mod amend;
pub(crate) mod channels;
pub(crate) mod events;
pub(crate) mod hooks;
pub(crate) mod messages;
pub(crate) mod origins;
pub(crate) mod people;
pub(crate) mod pictures;
pub(crate) mod post;
pub(crate) mod reports;
mod row;
pub(crate) mod search;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    board::{
        Actor, Amended, BoardLog, Event, EventId, EventsPage, Message, MessageSearch, MessagesPage,
        MessagesQuery, NewMessage, Origin, PersonId, Posted, Reach, Slug, Version, Wish,
    },
};
use lodge_sql::App;
use rusqlite::Connection;

use crate::{engine::Engine, failure::Failure};

/// The board in the database, written by one origin.
pub(crate) struct SqliteBoard {
    pub(crate) engine: Arc<Engine>,
    pub(crate) origin: Origin,
}

impl SqliteBoard {
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        // All that one question looks at is of one moment.
        let at_once = |connection: &Connection| {
            let moment = connection.unchecked_transaction()?;
            let found = work(&moment)?;
            moment.finish()?;
            Ok(found)
        };
        self.engine.board.read(at_once).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.engine.writer.write(App::Board, work).await
    }
}

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
        self.engine.board_searches.read(move |connection| search::search(connection, &search)).await
    }

    async fn written_by(
        &self,
        author: PersonId,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Message)>> {
        let scan = move |connection: &_| messages::written_by(connection, author, after, limit);
        self.engine.scans.read(scan).await
    }
}

/// A number of the domain as the database has it.
fn number(number: u64) -> Result<i64, Failure> {
    i64::try_from(number).map_err(|error| Error::internal(error).into())
}

/// A limit as the database has it.
fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn no_channel() -> Error {
    Error::not_found("there is no such channel")
}

/// Statements that must find their way by an index.
#[cfg(test)]
pub(crate) fn statements() -> impl Iterator<Item = &'static str> {
    amend::STATEMENTS
        .into_iter()
        .chain(channels::STATEMENTS)
        .chain(hooks::STATEMENTS)
        .chain(messages::STATEMENTS)
        .chain(origins::STATEMENTS)
        .chain(people::STATEMENTS)
        .chain(pictures::STATEMENTS)
        .chain(post::STATEMENTS)
        .chain(reports::STATEMENTS)
        .chain(row::STATEMENTS)
        .chain(search::STATEMENTS)
}

/// Those that are put together.
#[cfg(test)]
pub(crate) fn written_statements() -> Vec<String> {
    let others = [post::one_event(), messages::one_sql(), reports::message_sql(), search::sql()];
    let own = [reports::open_sql(), reports::COUNT.to_owned(), reports::hidden_sql()];
    let paged = pages().into_iter().filter(|sql| !own.contains(sql));
    paged.chain(others).collect()
}

/// Those whose rows come in the order of an index; open reports and what is hidden are indexes of their own.
#[cfg(test)]
pub(crate) fn pages() -> Vec<String> {
    let of_messages = [false, true].map(messages::page_sql);
    let of_events = [false, true].map(events::sql);
    of_messages
        .into_iter()
        .chain(of_events)
        .chain([messages::written_sql(), reports::COUNT.to_owned()])
        .chain([reports::open_sql(), reports::hidden_sql()])
        .collect()
}
