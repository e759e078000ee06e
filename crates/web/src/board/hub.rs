//! Streams of channel events. One task follows each channel that has a stream, and all its streams share what the task
//! reads.

use std::sync::Arc;

use axum::response::Response;
use futures_util::stream;
use lodge_domain::{
    Clock, Result,
    accounts::AccountsClient,
    board::{Board, Cursor, EventRange, Presence, Profile, Slug},
};
use tokio_util::sync::CancellationToken;

use super::{
    caller::BoardCaller,
    event_stream::EventStream,
    presence::{ChannelStates, People},
    shared::{Audience, PersonStreamSlot, StreamState},
};
use crate::edge::{
    address::Client,
    stream::{StreamLimits, Streams},
};

/// The board's streams.
pub(crate) struct Hub {
    shared: Arc<StreamState>,
    streams: Streams,
}

impl Hub {
    /// Streams run until `end`, and use at most half of `connections_max`.
    pub(crate) fn new(
        board: Arc<Board>,
        accounts: AccountsClient,
        clock: Arc<dyn Clock>,
        connections_max: usize,
        end: CancellationToken,
    ) -> Self {
        let streams = Streams::new("board", StreamLimits::half_of(connections_max), end);
        let rooms = ChannelStates::new(clock);
        Self { shared: Arc::new(StreamState::new(board, accounts, rooms)), streams }
    }

    /// Returns a stream of an existing channel: from the cursor `from`, or of new events only.
    pub(crate) async fn open_stream(
        &self,
        visitor: &BoardCaller,
        channel: Slug,
        from: Option<Cursor>,
        client: Client,
        audience: Audience,
    ) -> Result<Response> {
        let place = self.streams.acquire(client)?;
        let own = PersonStreamSlot::acquire(&self.shared, visitor.actor.id())?;
        let is_new = from.is_none();
        let cursor = match from {
            Some(cursor) => cursor,
            None => self.shared.board.events(channel.clone(), EventRange::Tail, 1).await?.cursor,
        };
        let listener =
            EventStream::new(&self.shared, visitor, channel, cursor, own, is_new, audience);
        // A ban may have been set before the stream subscribed to bans.
        self.shared.board.admit(&visitor.actor.profile).await?;
        let told = stream::unfold(listener, |mut listener| async move {
            Some((listener.next().await?, listener))
        });
        Ok(place.answer(told))
    }

    /// Returns the members in a channel.
    pub(crate) fn people(&self, channel: &Slug) -> Arc<People> {
        self.shared.rooms.people(channel)
    }

    /// Records that a member without a stream is active in an existing channel.
    pub(crate) fn record_activity(&self, channel: &Slug, profile: &Profile) {
        self.shared.rooms.record_presence(channel, profile, Presence::record_activity);
    }
}

#[cfg(test)]
mod tests;
