//! The board's ports.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Action, Actor, Applied, BoardEvent, Channel, ChannelChange, Cursor, EventId, EventRange,
    EventsPage, Message, MessagesPage, NewMessage, PersonId, Posted, Profile, Slug, Version,
    Visibility,
};
use crate::{
    Result,
    accounts::{AccountId, Username},
    pictures::{PictureId, PictureOwners},
};

/// The most events, or messages, of a page.
pub const PAGE_MAX: usize = 500;

/// The part of a channel's messages to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageRange {
    /// The newest messages.
    #[default]
    Newest,
    /// The last messages before this one.
    Before(EventId),
    /// The first messages after this one.
    After(EventId),
    /// This message in the middle, unless there are too few on one side of it.
    Around(EventId),
}

/// A query for messages of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagesQuery {
    /// The channel to read.
    pub channel: Slug,
    /// The messages to read.
    pub range: MessageRange,
    /// The most messages to return, 1 to [`PAGE_MAX`].
    pub limit: usize,
    /// The reader, whose own reactions are marked.
    pub reader: PersonId,
}

/// A search term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Letters and digits.
    pub text: String,
    /// Whether the term matches words that begin with it.
    pub is_beginning: bool,
}

/// A full-text search for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageSearch {
    /// Only messages of this channel.
    pub channel: Option<Slug>,
    /// The terms; a message must contain all of them. Case is ignored.
    pub words: Vec<Word>,
    /// The most messages to return, 1 to [`PAGE_MAX`]; the newest match first.
    pub limit: usize,
    /// The reader, whose own reactions are marked.
    pub reader: PersonId,
}

/// Reads the event log of channels.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Returns at most `limit` events, redacted as of now.
    async fn events(&self, channel: Slug, reach: EventRange, limit: usize) -> Result<EventsPage>;
}

/// Stores events, and the messages that follow from them.
#[async_trait]
pub trait BoardLog: EventLog {
    /// Stores a message. A repeated client id of the author returns the original event, or
    /// [`crate::Error::KeyReused`] if the text or channel differs. `check_post` runs in the same transaction. Returns
    /// [`crate::Error::NotFound`] if the channel does not exist, or has no message `reply_to`.
    async fn post(&self, new: NewMessage, by: Actor, now: Timestamp) -> Result<Posted>;
    /// A dry run of [`post`](Self::post): returns its error, the original event of a repetition, or `None` if the
    /// message would be stored.
    async fn dry_run(
        &self,
        new: NewMessage,
        by: Actor,
        now: Timestamp,
    ) -> Result<Option<BoardEvent>>;
    /// Applies an action to a message and stores the event; `None` if nothing changes. `judge` runs in the same
    /// transaction.
    async fn apply(
        &self,
        channel: Slug,
        message: EventId,
        action: Action,
        by: Actor,
        now: Timestamp,
    ) -> Result<Option<Applied>>;
    /// Returns messages of a channel, in order. Returns [`crate::Error::NotFound`] if the channel does not have the
    /// message that the range names.
    async fn messages(&self, query: MessagesQuery) -> Result<MessagesPage>;
    /// Returns one message; staff also read the text of a hidden one.
    async fn message(&self, channel: Slug, id: EventId, reader: Actor) -> Result<Option<Message>>;
    /// Returns the earlier versions of a message, oldest first; none if the message is hidden or deleted.
    async fn history(&self, channel: Slug, id: EventId) -> Result<Vec<Version>>;
    /// Returns the messages that contain all terms, newest first, without hidden and deleted ones.
    async fn search(&self, search: MessageSearch) -> Result<Vec<Message>>;
    /// Returns the messages of an author for an export, in the order of storing, each with its position; `after` is the
    /// position of the last page's end.
    async fn written_by(
        &self,
        author: PersonId,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Message)>>;
}

/// Stores channels.
#[async_trait]
pub trait Channels: Send + Sync {
    /// Returns all channels: the lobby first, then by name.
    async fn list(&self) -> Result<Vec<Channel>>;
    /// Returns a channel.
    async fn find(&self, slug: Slug) -> Result<Option<Channel>>;
    /// Creates a channel unless it exists; the flag says whether it is new. Returns [`crate::Error::Conflict`] if the
    /// board has [`super::CHANNELS_MAX`] channels.
    async fn create(&self, channel: Channel) -> Result<(Channel, bool)>;
    /// Updates a channel; `None` if it does not exist.
    async fn change(&self, slug: Slug, change: ChannelChange) -> Result<Option<Channel>>;
}

/// A reader's unread counts of one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The channel.
    pub channel: Slug,
    /// Unread messages of other authors, at most [`UNREAD_MAX`].
    pub messages: u32,
    /// Those that mention the reader, at most [`UNREAD_MAX`].
    pub mentions: u32,
}

/// A reader's position in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPosition {
    /// The reader.
    pub person: PersonId,
    /// The channel.
    pub channel: Slug,
    /// The events that the reader has read.
    pub cursor: Cursor,
}

/// Unread messages are counted up to this number.
pub const UNREAD_MAX: u32 = 100;

/// A known member and their ban.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownMember {
    /// The member's latest profile.
    pub profile: Profile,
    /// Since when the member is banned from the board; `None` if not banned.
    pub banned_at: Option<Timestamp>,
}

/// Stores the members who have visited the board.
#[async_trait]
pub trait BoardMembers: Send + Sync {
    /// Stores a member's profile; returns whether it changed.
    async fn save_profile(&self, profile: Profile) -> Result<bool>;
    /// Finds a member.
    async fn find(&self, person: PersonId) -> Result<Option<KnownMember>>;
    /// Finds a member with an account by username.
    async fn find_by_username(&self, username: Username) -> Result<Option<KnownMember>>;
    /// Returns members whose name begins with `prefix`, by name, without banned ones.
    async fn with_prefix(&self, prefix: String, limit: usize) -> Result<Vec<Profile>>;
    /// Bans a member since `since`, or lifts the ban; `None` if the member is unknown.
    async fn ban(&self, person: PersonId, since: Option<Timestamp>) -> Result<Option<KnownMember>>;
    /// Returns all banned members.
    async fn banned(&self) -> Result<Vec<KnownMember>>;
    /// Returns a page of the known accounts after `after`, by number.
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>>;
    /// Erases the profile, the ban and the read positions of a deleted account; its messages stay.
    async fn forget(&self, former: AccountId) -> Result<()>;
}

/// Stores read positions. A position counts at once, and is written a moment later.
#[async_trait]
pub trait ReadPositions: Send + Sync {
    /// Records how far a member has read a channel; positions never go back. Returns [`crate::Error::Unavailable`] if
    /// too many positions are pending.
    fn record(&self, note: ReadPosition) -> Result<()>;
    /// Writes the pending positions; to be called about once a second. Positions of absent channels and deleted
    /// accounts are dropped.
    async fn flush(&self) -> Result<()>;
    /// Returns a member's cursor in a channel; `None` if they have never read it.
    async fn read_cursor(&self, person: PersonId, channel: Slug) -> Result<Option<Cursor>>;
    /// Returns the unread counts of all channels that are not archived; never-read channels are unread as a whole.
    async fn unread(&self, reader: Profile) -> Result<Vec<Unread>>;
}

/// Maps pictures to messages.
#[async_trait]
pub trait MessagePictures: PictureOwners {
    /// Returns the visibility of the message with this picture; `None` if no message has it.
    async fn visibility(&self, picture: PictureId) -> Result<Option<Visibility>>;
    /// Detaches at most `limit` pictures from the messages of a deleted account, and returns them.
    async fn take_from(&self, former: AccountId, limit: usize) -> Result<Vec<PictureId>>;
}

/// An open report of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The report's number.
    pub id: i64,
    /// The message, readable by staff even if hidden.
    pub message: Message,
    /// The member who reported it.
    pub by: Profile,
    /// The reason, at most 500 characters; may be empty.
    pub reason: String,
    /// When it was reported.
    pub at: Timestamp,
}

/// Stores reports of messages.
#[async_trait]
pub trait Reports: Send + Sync {
    /// Adds a report, unless the member has already reported the message and it has not changed since that report was
    /// settled. Returns false if there is no such message.
    async fn add(
        &self,
        channel: Slug,
        message: EventId,
        by: Profile,
        reason: String,
        at: Timestamp,
    ) -> Result<bool>;
    /// Returns open reports, oldest first; `reader`'s own reactions are marked.
    async fn open(&self, reader: PersonId, limit: usize) -> Result<Vec<Report>>;
    /// Counts open reports, up to `limit`.
    async fn count(&self, limit: u32) -> Result<u32>;
    /// Settles all reports of the report's message; false if the report does not exist.
    async fn settle(&self, id: i64, by: PersonId, at: Timestamp) -> Result<bool>;
    /// Returns hidden messages with their text, newest first.
    async fn hidden(&self, reader: PersonId, limit: usize) -> Result<Vec<Message>>;
}
