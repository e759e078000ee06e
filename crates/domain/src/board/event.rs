//! What happens in a channel, and what has become of its messages.

use serde::{Deserialize, Serialize};

use super::{Body, ClientId, Cursor, EventId, Place, Profile, Reaction, Slug, Stamp};
use crate::pictures::PictureId;

/// Whether a message can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// By everybody.
    #[default]
    Shown,
    /// Not, until whoever keeps order shows it again.
    Hidden,
    /// Never again: its author has deleted it, and its text is gone.
    Deleted,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Somebody wrote something.
    Message {
        /// What; nothing if it cannot be read any more.
        body: Option<Body>,
        /// The message that it answers.
        reply_to: Option<EventId>,
        /// A picture that belongs to it; none if it cannot be seen any more.
        picture: Option<PictureId>,
        /// Whether it can be read when this is said.
        visibility: Visibility,
    },
    /// Its author wrote it anew.
    Edit {
        /// Which message.
        target: EventId,
        /// What it says now; nothing if it cannot be read any more.
        body: Option<Body>,
    },
    /// Its author deleted it.
    Delete {
        /// Which message.
        target: EventId,
    },
    /// Somebody put a sign under it, or took theirs away.
    Reaction {
        /// Which message.
        target: EventId,
        /// The sign.
        reaction: Reaction,
        /// Whether it is taken away.
        is_removed: bool,
    },
    /// Whoever keeps order hid it, or shows it again.
    Hide {
        /// Which message.
        target: EventId,
        /// Whether it is hidden from now on.
        is_hidden: bool,
    },
}

impl What {
    /// The message that it is about, if it is none itself.
    pub fn target(&self) -> Option<EventId> {
        match self {
            Self::Message { .. } => None,
            Self::Edit { target, .. }
            | Self::Delete { target }
            | Self::Reaction { target, .. }
            | Self::Hide { target, .. } => Some(*target),
        }
    }

    /// What it is called in answers.
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

/// Something that happened in a channel, as it may be told now: what must not be read any more is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What it is called.
    pub id: EventId,
    /// When it happened.
    pub at: Stamp,
    /// Who did it, as they are called now.
    pub by: Profile,
    /// What.
    pub what: What,
}

impl Event {
    /// Its place in the order that every reader shows.
    pub fn place(&self) -> Place {
        (self.at, self.id)
    }
}

/// Events in order, and where they lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventsPage {
    /// By their places; of each origin without a gap.
    pub events: Vec<Event>,
    /// What a reader has who has had all before them.
    pub start: Cursor,
    /// The same with them: go on from here.
    pub cursor: Cursor,
    /// Whether there is more in the direction that was asked for.
    pub more: bool,
}

/// Which events of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// The first that a reader with this cursor does not have.
    After(Cursor),
    /// The last that they have.
    Before(Cursor),
    /// The last of all.
    Tail,
}

/// A sign under a message, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactionCount {
    /// The sign.
    pub reaction: Reaction,
    /// How many people put it there.
    pub count: u32,
    /// Whether whoever asks is one of them.
    pub is_mine: bool,
}

/// A message as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is called.
    pub id: EventId,
    /// Where.
    pub channel: Slug,
    /// When it was written.
    pub at: Stamp,
    /// By whom.
    pub by: Profile,
    /// What it says now; nothing if it cannot be read.
    pub body: Option<Body>,
    /// Whether it can be read.
    pub visibility: Visibility,
    /// When it was written anew for the last time.
    pub edited_at: Option<Stamp>,
    /// The message that it answers, in short.
    pub reply_to: Option<Quote>,
    /// A picture that belongs to it.
    pub picture: Option<PictureId>,
    /// The signs under it, in their order.
    pub reactions: Vec<ReactionCount>,
}

/// What a message was before it is what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Since when it said that.
    pub at: Stamp,
    /// What.
    pub body: Body,
}

/// A message that another one answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Which.
    pub id: EventId,
    /// What its author is called.
    pub nickname: String,
    /// How it begins; empty where it is a picture alone, and nothing if it cannot be read.
    pub body: Option<Body>,
}

/// Messages in order, as they stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessagesPage {
    /// By their places.
    pub messages: Vec<Message>,
    /// What a reader of the newest page has: everything that has happened up to this reading.
    pub cursor: Cursor,
    /// Whether there are earlier ones.
    pub more: bool,
}

/// A message to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Where.
    pub channel: Slug,
    /// What its author calls it.
    pub client_id: ClientId,
    /// What it says.
    pub body: Body,
    /// The message that it answers.
    pub reply_to: Option<EventId>,
    /// A picture of the author's that belongs to it.
    pub picture: Option<PictureId>,
}

/// What somebody wants to do with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Write it anew.
    Edit(Body),
    /// Delete it.
    Delete,
    /// Put a sign under it, or take one's own away.
    React {
        /// The sign.
        reaction: Reaction,
        /// Whether it is taken away.
        is_removed: bool,
    },
    /// Hide it, or show it again.
    Hide(bool),
}

/// What came of something that was done with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amended {
    /// What happened.
    pub event: Event,
    /// The picture that the message had and has no more.
    pub former: Option<PictureId>,
}

/// What came of a message that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It is stored.
    New(Event),
    /// It was before, by the same client id; this is what may be told of it now.
    Before(Event),
}

impl Posted {
    /// The event.
    pub fn event(&self) -> &Event {
        match self {
            Self::New(event) | Self::Before(event) => event,
        }
    }
}
