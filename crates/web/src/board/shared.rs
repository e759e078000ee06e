//! What the streams of all channels share.

use std::{collections::HashMap, mem, sync::Arc};

use bytes::Bytes;
use lodge_domain::{
    Error, Result,
    accounts::AccountsClient,
    board::{Board, News, PersonId, Presence, Profile, Slug},
};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    feed::{Feed, Frame},
    follow::follow,
    rooms::Rooms,
};
use crate::edge::stream::FULL_RETRY;

/// Streams that one person may have open.
pub(super) const PER_PERSON_MAX: usize = 20;

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

impl Shared {
    /// Of these, without a stream yet.
    pub(super) fn new(board: Arc<Board>, accounts: AccountsClient, rooms: Rooms) -> Self {
        Self { board, accounts, rooms, listeners: Mutex::default() }
    }

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

    /// How many people have a stream.
    #[cfg(test)]
    pub(super) fn people_listening(&self) -> usize {
        self.listeners.lock().len()
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
    /// Takes one of them; [`Error::TooMany`] if the person has all.
    pub(super) fn take(shared: &Arc<Shared>, person: PersonId) -> Result<Self> {
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
