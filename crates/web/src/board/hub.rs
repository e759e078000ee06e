//! Streams of what happens in channels: one task follows a channel while anybody listens to it, and all share what
//! it reads.

use std::{collections::HashMap, mem, sync::Arc};

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use lodge_domain::{
    Error, Result,
    accounts::AccountsClient,
    board::{Board, Cursor, News, PersonId, Presence, Profile, Reach, Slug},
};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    app::Visitor,
    feed::{Feed, Frame},
    follow::follow,
    listener::Listener,
    rooms::{People, Rooms},
};
use crate::edge::{
    address::Client,
    stream::{Bounds, FULL_RETRY, Streams},
};

/// Streams that one person may have open.
const PER_PERSON_MAX: usize = 20;

/// The streams.
pub(crate) struct Hub {
    shared: Arc<Shared>,
    streams: Streams,
}

/// What the streams share.
pub(super) struct Shared {
    pub(super) board: Arc<Board>,
    pub(super) accounts: AccountsClient,
    pub(super) rooms: Rooms,
    listeners: Mutex<HashMap<PersonId, Streaming>>,
}

/// For whom a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Programs, which show events in their own way.
    Programs,
    /// Pages, which show what they are given.
    Pages,
}

/// The streams of one person.
#[derive(Default)]
struct Streaming {
    count: usize,
    banned: CancellationToken,
}

impl Hub {
    /// Streams until `end`, half of so many connections at most.
    pub(crate) fn new(
        board: Arc<Board>,
        accounts: AccountsClient,
        connections_max: usize,
        end: CancellationToken,
    ) -> Self {
        let streams = Streams::new("board", Bounds::half_of(connections_max), end);
        let rooms = Rooms::new(Arc::clone(&board.clock));
        let shared = Shared { board, accounts, rooms, listeners: Mutex::default() };
        Self { shared: Arc::new(shared), streams }
    }

    /// Answers a listener to a channel that is there: from a cursor on, or from now on.
    pub(crate) async fn answer(
        &self,
        visitor: &Visitor,
        channel: Slug,
        from: Option<Cursor>,
        client: Client,
        audience: Audience,
    ) -> Result<Response> {
        let place = self.streams.place(client)?;
        let own = Own::take(&self.shared, visitor.actor.id())?;
        let is_new = from.is_none();
        let cursor = match from {
            Some(cursor) => cursor,
            None => self.shared.board.log.events(channel.clone(), Reach::Tail, 1).await?.cursor,
        };
        let listener = Listener::new(&self.shared, visitor, channel, cursor, own, is_new, audience);
        // They may have been banned before anybody listened for it.
        self.shared.board.admit(&visitor.actor.profile).await?;
        let told = stream::unfold(listener, |mut listener| async move {
            Some((listener.next().await?, listener))
        });
        Ok(place.answer(told))
    }

    /// Who is in a channel.
    pub(crate) fn here(&self, channel: &Slug) -> Arc<People> {
        self.shared.rooms.here(channel)
    }

    /// Somebody without a stream gives a sign of life in a channel that is there.
    pub(crate) fn seen(&self, channel: &Slug, profile: &Profile) {
        self.shared.rooms.come(channel, profile, Presence::seen);
    }
}

impl Shared {
    /// Begins a stream of somebody's: what they listen to, who is here, and the end of it when it is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        channel: &Slug,
        profile: &Profile,
    ) -> (Stay, broadcast::Receiver<Frame>, Bytes) {
        self.rooms.come(channel, profile, Presence::enter);
        let (feed, frames) = self.feed(channel);
        let (shared, person) = (Arc::clone(self), profile.person);
        let stay = Stay { shared, channel: channel.clone(), person, feed, has_signed_out: false };
        (stay, frames, self.rooms.here(channel).frame())
    }

    fn feed(self: &Arc<Self>, channel: &Slug) -> (Arc<Feed>, broadcast::Receiver<Frame>) {
        self.rooms.feed(channel, |frames| {
            // From here on: whoever is banned after this is heard of.
            let news = self.board.news();
            let following = follow(Arc::clone(self), channel.clone(), frames, news);
            AbortOnDropHandle::new(tokio::spawn(following))
        })
    }

    /// Passes on what has become of somebody to a channel.
    pub(super) fn hear(&self, channel: &Slug, news: News) {
        match news {
            News::Changed(profile) => self.rooms.rename(channel, profile),
            News::Gone(profile) => self.rooms.gone(channel, profile),
            News::Banned(person) => {
                if let Some(streaming) = self.listeners.lock().get_mut(&person) {
                    // Once they are let in again, another counts.
                    mem::take(&mut streaming.banned).cancel();
                }
            }
        }
    }
}

/// That somebody is in a channel by a stream.
pub(super) struct Stay {
    shared: Arc<Shared>,
    channel: Slug,
    person: PersonId,
    pub(super) feed: Arc<Feed>,
    /// Whether they may not be here any more.
    pub(super) has_signed_out: bool,
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.shared.rooms.leave(&self.channel, self.person, self.has_signed_out);
    }
}

/// One of the streams that somebody may have.
pub(super) struct Own {
    shared: Arc<Shared>,
    person: PersonId,
    /// Ends all of them.
    pub(super) banned: CancellationToken,
}

impl Own {
    fn take(shared: &Arc<Shared>, person: PersonId) -> Result<Self> {
        let mut listeners = shared.listeners.lock();
        let streaming = listeners.entry(person).or_default();
        if streaming.count >= PER_PERSON_MAX {
            return Err(Error::TooMany { retry_after: FULL_RETRY });
        }
        streaming.count += 1;
        let banned = streaming.banned.clone();
        Ok(Self { shared: Arc::clone(shared), person, banned })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let mut listeners = self.shared.listeners.lock();
        if let Some(streaming) = listeners.get_mut(&self.person) {
            streaming.count -= 1;
            if streaming.count == 0 {
                listeners.remove(&self.person);
            }
        }
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod streams;
