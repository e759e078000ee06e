//! Events of a channel, and the messages that they add up to.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Body, ClientId, Cursor, EventId, EventSortKey, Profile, Reaction, Slug, Stamp};
use crate::{accounts::Username, pictures::PictureId};

/// Whether a message can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// All readers can read it.
    #[default]
    Shown,
    /// A moderator hid it; only staff can read it until it is shown again.
    Hidden,
    /// The author deleted it; its text is erased.
    Deleted,
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardEventContent {
    /// A new message.
    Message {
        /// The text; `None` if the message is hidden or deleted.
        body: Option<Body>,
        /// The message that it replies to.
        reply_to: Option<EventId>,
        /// The attached picture; `None` without one, and if the message is hidden or deleted.
        picture: Option<PictureId>,
        /// Whether the message can be read at the time of this answer.
        visibility: Visibility,
    },
    /// The author edited a message.
    Edit {
        /// The message.
        target: EventId,
        /// The new text; `None` if the message is hidden or deleted.
        body: Option<Body>,
    },
    /// The author deleted a message.
    Delete {
        /// The message.
        target: EventId,
    },
    /// A member added a reaction to a message, or removed their own.
    Reaction {
        /// The message.
        target: EventId,
        /// The reaction.
        reaction: Reaction,
        /// Whether the reaction was removed.
        is_removed: bool,
    },
    /// A moderator hid a message, or showed it again.
    Hide {
        /// The message.
        target: EventId,
        /// Whether the message is hidden from now on.
        is_hidden: bool,
    },
}

impl BoardEventContent {
    /// The message that the event refers to; `None` if the event is itself a message.
    pub fn target(&self) -> Option<EventId> {
        match self {
            Self::Message { .. } => None,
            Self::Edit { target, .. }
            | Self::Delete { target }
            | Self::Reaction { target, .. }
            | Self::Hide { target, .. } => Some(*target),
        }
    }

    /// The event's `kind` in the API.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Message { .. } => "message",
            Self::Edit { .. } => "edit",
            Self::Delete { .. } => "delete",
            Self::Reaction { .. } => "reaction",
            Self::Hide { .. } => "hide",
        }
    }
}

/// An event of a channel as a reader may see it now: the text of hidden and deleted messages is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardEvent {
    /// The event's id, unique in its channel.
    pub id: EventId,
    /// The event's hybrid logical time.
    pub at: Stamp,
    /// The event's author, with their current profile.
    pub by: Profile,
    /// The event's content.
    pub content: BoardEventContent,
}

impl BoardEvent {
    /// The sort key of the order that every reader shows.
    pub fn sort_key(&self) -> EventSortKey {
        (self.at, self.id)
    }
}

/// A page of events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventsPage {
    /// The events, in order; without a gap for each origin.
    pub events: Vec<BoardEvent>,
    /// The cursor just before the first event.
    pub start: Cursor,
    /// The cursor after the last event: the next page starts here.
    pub cursor: Cursor,
    /// Whether there are more events in the requested direction.
    pub more: bool,
}

/// The part of a channel's log to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventRange {
    /// The first events that this cursor does not include.
    After(Cursor),
    /// The last events that this cursor includes.
    Before(Cursor),
    /// The newest events.
    Tail,
}

/// The count of one reaction to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactionCount {
    /// The reaction.
    pub reaction: Reaction,
    /// The number of members who added it.
    pub count: u32,
    /// Whether the reader is one of them.
    pub is_mine: bool,
}

/// The current state of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The id of the event that posted it.
    pub id: EventId,
    /// The message's channel.
    pub channel: Slug,
    /// When the message was posted.
    pub at: Stamp,
    /// The author, with their current profile.
    pub by: Profile,
    /// The current text; `None` if the reader may not see it.
    pub body: Option<Body>,
    /// The members of the board whom the text mentions.
    pub mentions: BTreeSet<Username>,
    /// Whether it can be read.
    pub visibility: Visibility,
    /// The time of the last edit.
    pub edited_at: Option<Stamp>,
    /// A short form of the message that it replies to.
    pub reply_to: Option<Quote>,
    /// The attached picture.
    pub picture: Option<PictureId>,
    /// The reactions, in the order of [`Reaction::EMOJI`].
    pub reactions: Vec<ReactionCount>,
}

/// An earlier version of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The time from which the message had this text.
    pub at: Stamp,
    /// The text.
    pub body: Body,
}

/// A short form of a message that another one replies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// The message's id.
    pub id: EventId,
    /// The author's username.
    pub username: String,
    /// The author's nickname.
    pub nickname: String,
    /// The text; empty for a picture alone, `None` if the message is hidden or deleted.
    pub body: Option<Body>,
}

/// A page of messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessagesPage {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// The cursor after all events that happened before this read.
    pub cursor: Cursor,
    /// Whether there are earlier messages.
    pub more: bool,
    /// Whether there are later messages.
    pub has_newer: bool,
}

/// A message to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The channel to post in.
    pub channel: Slug,
    /// The client's id of the message, which makes a repetition detectable.
    pub client_id: ClientId,
    /// The text.
    pub body: Body,
    /// The message that it replies to.
    pub reply_to: Option<EventId>,
    /// A stored picture of the author's to attach.
    pub picture: Option<PictureId>,
}

/// An action on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Replace its text.
    Edit(Body),
    /// Delete it.
    Delete,
    /// Add a reaction, or remove one's own.
    React {
        /// The reaction.
        reaction: Reaction,
        /// Whether to remove it.
        is_removed: bool,
    },
    /// Hide the message (`true`) or show it again.
    Hide(bool),
}

/// The outcome of an action that changed a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The event that was stored.
    pub event: BoardEvent,
    /// The picture that was detached from the message.
    pub detached_picture: Option<PictureId>,
}

/// The outcome of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// The message was stored.
    New(BoardEvent),
    /// The author had already posted a message with this client id; the event is redacted as for any reader.
    Repeated(BoardEvent),
}

impl Posted {
    /// The event.
    pub fn event(&self) -> &BoardEvent {
        match self {
            Self::New(event) | Self::Repeated(event) => event,
        }
    }
}
