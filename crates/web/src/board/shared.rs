//! The state that the streams of all channels share.

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

/// The most streams that one account or bot may have open.
pub(super) const PER_PERSON_MAX: usize = 20;

/// The shared state of all streams.
pub(super) struct Shared {
    pub(super) board: Arc<Board>,
    pub(super) accounts: AccountsClient,
    pub(super) rooms: Rooms,
    listeners: Mutex<HashMap<PersonId, Streaming>>,
}

/// The kind of client of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// API clients: events contain the text of messages.
    Programs,
    /// Pages: events contain the rendered HTML of messages.
    Pages,
}

/// The streams of one account or bot.
#[derive(Default)]
struct Streaming {
    count: usize,
    banned: CancellationToken,
}

impl Shared {
    /// Starts without streams.
    pub(super) fn new(board: Arc<Board>, accounts: AccountsClient, rooms: Rooms) -> Self {
        Self { board, accounts, rooms, listeners: Mutex::default() }
    }

    /// Enters a channel with a stream; returns the guard that leaves it on drop, a subscription and the `people` frame.
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
            // Subscribe before the task starts, so that it misses no ban.
            let news = self.board.news();
            let following = follow(Arc::clone(self), channel.clone(), frames, news);
            AbortOnDropHandle::new(tokio::spawn(following))
        })
    }

    /// Returns the number of accounts and bots with a stream.
    #[cfg(test)]
    pub(super) fn people_listening(&self) -> usize {
        self.listeners.lock().len()
    }

    /// Applies news about a member to a channel.
    pub(super) fn hear(&self, channel: &Slug, news: News) {
        match news {
            News::Changed(profile) => self.rooms.rename(channel, profile),
            News::Gone(profile) => self.rooms.gone(channel, profile),
            News::Banned(person) => {
                if let Some(streaming) = self.listeners.lock().get_mut(&person) {
                    // A new token, for streams after the ban is lifted.
                    mem::take(&mut streaming.banned).cancel();
                }
            }
        }
    }
}

/// The presence of a member by a stream; dropping it leaves the channel.
pub(super) struct Stay {
    shared: Arc<Shared>,
    channel: Slug,
    person: PersonId,
    pub(super) feed: Arc<Feed>,
    /// Whether the stream ended because the member was signed out or banned.
    pub(super) has_signed_out: bool,
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.shared.rooms.leave(&self.channel, self.person, self.has_signed_out);
    }
}

/// One of the [`PER_PERSON_MAX`] streams of an account or bot, released on drop.
pub(super) struct Own {
    shared: Arc<Shared>,
    person: PersonId,
    /// Cancelled by a ban, for all streams of the account or bot.
    pub(super) banned: CancellationToken,
}

impl Own {
    /// Takes a slot; [`Error::TooMany`] if all are taken.
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
