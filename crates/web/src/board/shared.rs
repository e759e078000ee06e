//! The state that the streams of all channels share.

use std::{collections::HashMap, mem, sync::Arc};

use bytes::Bytes;
use lodge_domain::{
    Error, Result,
    accounts::AccountsClient,
    board::{Board, MemberUpdate, PersonId, Presence, Profile, Slug},
};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    feed::{Feed, Frame},
    follow::follow,
    presence::ChannelStates,
};
use crate::edge::stream::FULL_RETRY;

/// The most streams that one account or bot may have open.
pub(super) const STREAMS_PER_PERSON_MAX: usize = 20;

/// The shared state of all streams.
pub(super) struct StreamState {
    pub(super) board: Arc<Board>,
    pub(super) accounts: AccountsClient,
    pub(super) rooms: ChannelStates,
    listeners: Mutex<HashMap<PersonId, OpenStreams>>,
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
struct OpenStreams {
    count: usize,
    banned: CancellationToken,
}

impl StreamState {
    /// Starts without streams.
    pub(super) fn new(board: Arc<Board>, accounts: AccountsClient, rooms: ChannelStates) -> Self {
        Self { board, accounts, rooms, listeners: Mutex::default() }
    }

    /// Enters a channel with a stream; returns the guard that leaves it on drop, a subscription and the `people` frame.
    pub(super) fn enter(
        self: &Arc<Self>,
        channel: &Slug,
        profile: &Profile,
    ) -> (PresenceGuard, broadcast::Receiver<Frame>, Bytes) {
        self.rooms.record_presence(channel, profile, Presence::enter);
        let (feed, frames) = self.feed(channel);
        let (shared, person) = (Arc::clone(self), profile.person);
        let stay =
            PresenceGuard { shared, channel: channel.clone(), person, feed, has_signed_out: false };
        (stay, frames, self.rooms.people(channel).frame())
    }

    fn feed(self: &Arc<Self>, channel: &Slug) -> (Arc<Feed>, broadcast::Receiver<Frame>) {
        self.rooms.feed(channel, |frames| {
            // Subscribe before the task starts, so that it misses no ban.
            let news = self.board.member_updates();
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
    pub(super) fn apply_news(&self, channel: &Slug, news: MemberUpdate) {
        match news {
            MemberUpdate::Changed(profile) => self.rooms.rename(channel, profile),
            MemberUpdate::Deleted(profile) => self.rooms.remove_account(channel, profile),
            MemberUpdate::Banned(person) => {
                if let Some(streaming) = self.listeners.lock().get_mut(&person) {
                    // A new token, for streams after the ban is lifted.
                    mem::take(&mut streaming.banned).cancel();
                }
            }
        }
    }
}

/// The presence of a member by a stream; dropping it leaves the channel.
pub(super) struct PresenceGuard {
    shared: Arc<StreamState>,
    channel: Slug,
    person: PersonId,
    pub(super) feed: Arc<Feed>,
    /// Whether the stream ended because the member was signed out or banned.
    pub(super) has_signed_out: bool,
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        self.shared.rooms.leave(&self.channel, self.person, self.has_signed_out);
    }
}

/// One of the [`STREAMS_PER_PERSON_MAX`] streams of an account or bot, released on drop.
pub(super) struct PersonStreamSlot {
    shared: Arc<StreamState>,
    person: PersonId,
    /// Cancelled by a ban, for all streams of the account or bot.
    pub(super) banned: CancellationToken,
}

impl PersonStreamSlot {
    /// Takes a slot; [`Error::TooMany`] if all are taken.
    pub(super) fn acquire(shared: &Arc<StreamState>, person: PersonId) -> Result<Self> {
        let mut listeners = shared.listeners.lock();
        let streaming = listeners.entry(person).or_default();
        if streaming.count >= STREAMS_PER_PERSON_MAX {
            return Err(Error::TooMany { retry_after: FULL_RETRY });
        }
        streaming.count += 1;
        let banned = streaming.banned.clone();
        Ok(Self { shared: Arc::clone(shared), person, banned })
    }
}

impl Drop for PersonStreamSlot {
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
