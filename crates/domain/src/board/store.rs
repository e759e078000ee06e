//! The ports of the board.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Actor, Amended, Channel, ChannelChange, Cursor, Event, EventId, EventsPage, Message,
    MessagesPage, NewMessage, PersonId, Posted, Profile, Reach, Slug, Version, Visibility, Wish,
};
use crate::{
    Result,
    accounts::{AccountId, Username},
    pictures::{PictureId, Pictured},
};

/// Most events, or messages, in a page.
pub const PAGE_MAX: usize = 500;

/// Which messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagesQuery {
    /// Where.
    pub channel: Slug,
    /// Only those that stand before this one.
    pub before: Option<EventId>,
    /// At most so many, 1 to [`PAGE_MAX`].
    pub limit: usize,
    /// Whose signs are their own.
    pub reader: PersonId,
}

/// A word that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Letters and digits.
    pub text: String,
    /// Whether words are meant that begin so.
    pub is_beginning: bool,
}

/// A search for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageSearch {
    /// In this channel alone.
    pub channel: Option<Slug>,
    /// All of these are to be in the message, in upper or lower case.
    pub words: Vec<Word>,
    /// At most so many, 1 to [`PAGE_MAX`]; the newest of all.
    pub limit: usize,
    /// Whose signs are their own.
    pub reader: PersonId,
}

/// Tells what happened in channels.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Events, at most `limit` of them, as they may be told now.
    async fn events(&self, channel: Slug, reach: Reach, limit: usize) -> Result<EventsPage>;
}

/// Keeps what happens in channels, and what follows from it.
#[async_trait]
pub trait BoardLog: EventLog {
    /// Stores a message, unless its author has given its client id before: then it is that message, or
    /// [`crate::Error::KeyReused`] if it said something else. `check_post` judges in the same transaction. A
    /// [`crate::Error::NotFound`] if there is no such channel, or in it no message that it could answer.
    async fn post(&self, new: NewMessage, by: Actor, now: Timestamp) -> Result<Posted>;
    /// What would come of a message if it was posted now, before more is done for it: the message that it is, or
    /// nothing; or the error that [`post`](Self::post) would answer with.
    async fn foresee(&self, new: NewMessage, by: Actor, now: Timestamp) -> Result<Option<Event>>;
    /// Does something with a message, and stores what happened; nothing if it was so already. `judge` judges in the
    /// same transaction.
    async fn amend(
        &self,
        channel: Slug,
        message: EventId,
        wish: Wish,
        by: Actor,
        now: Timestamp,
    ) -> Result<Option<Amended>>;
    /// The last messages, as they stand.
    async fn messages(&self, query: MessagesQuery) -> Result<MessagesPage>;
    /// One message, as it stands; whoever keeps order sees it also if it is hidden.
    async fn message(&self, channel: Slug, id: EventId, reader: Actor) -> Result<Option<Message>>;
    /// What a message that can be read was before, the first first.
    async fn history(&self, channel: Slug, id: EventId) -> Result<Vec<Version>>;
    /// Messages that can be read and have these words, the newest first.
    async fn search(&self, search: MessageSearch) -> Result<Vec<Message>>;
    /// Everything that an account wrote, for its owner: those after a place, by the order of storing.
    async fn written_by(
        &self,
        author: PersonId,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Message)>>;
}

/// Keeps channels.
#[async_trait]
pub trait Channels: Send + Sync {
    /// All of them, the lobby first, then by name.
    async fn list(&self) -> Result<Vec<Channel>>;
    /// The one of that name.
    async fn find(&self, slug: Slug) -> Result<Option<Channel>>;
    /// Makes it, unless it is there, and says whether it was made. [`crate::Error::Conflict`] if there are as many as
    /// there may be.
    async fn create(&self, channel: Channel) -> Result<(Channel, bool)>;
    /// Changes it; `None` if there is none.
    async fn change(&self, slug: Slug, change: ChannelChange) -> Result<Option<Channel>>;
}

/// What somebody has not read of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Where.
    pub channel: Slug,
    /// Messages by others, [`UNREAD_MAX`] at most.
    pub messages: u32,
    /// Those of them that name the reader, [`UNREAD_MAX`] at most.
    pub mentions: u32,
}

/// How far somebody has read a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadNote {
    /// Who.
    pub person: PersonId,
    /// Where.
    pub channel: Slug,
    /// What they have read.
    pub cursor: Cursor,
}

/// Beyond so many unread messages it is not counted further.
pub const UNREAD_MAX: u32 = 100;

/// Somebody who was here, and whether they may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// What others see of them.
    pub profile: Profile,
    /// Since when they are banned from the board.
    pub banned_at: Option<Timestamp>,
}

/// Keeps who was here.
#[async_trait]
pub trait BoardPeople: Send + Sync {
    /// Notes what somebody is called; says whether that is new.
    async fn note(&self, profile: Profile) -> Result<bool>;
    /// Somebody who was here.
    async fn find(&self, person: PersonId) -> Result<Option<Known>>;
    /// Somebody with an account who was here, by its name.
    async fn named(&self, username: Username) -> Result<Option<Known>>;
    /// Bans somebody since then, or not any more; `None` if they were never here.
    async fn ban(&self, person: PersonId, since: Option<Timestamp>) -> Result<Option<Known>>;
    /// Everybody who is banned.
    async fn banned(&self) -> Result<Vec<Known>>;
    /// Accounts that were here, by number, those after `after`.
    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>>;
    /// Forgets what an account that is deleted was called, and what it had read; what it wrote stays.
    async fn forget(&self, former: AccountId) -> Result<()>;
}

/// Keeps how far people have read. A note counts at once, and is stored a moment later.
#[async_trait]
pub trait ReadPositions: Send + Sync {
    /// Notes how far a person has read a channel; what they had read before stays read. [`crate::Error::Unavailable`]
    /// if too many notes wait to be stored.
    fn note(&self, note: ReadNote) -> Result<()>;
    /// Stores the notes that wait; to be called about once a second. A note of a channel that is not there, or of an
    /// account that is forgotten, is dropped.
    async fn store(&self) -> Result<()>;
    /// What a person has read of a channel, of each origin; `None` if they were never there.
    async fn read_so_far(&self, person: PersonId, channel: Slug) -> Result<Option<Cursor>>;
    /// What a person has not read, of each channel that is not archived; where they never were, that is all of it.
    async fn unread(&self, reader: Profile) -> Result<Vec<Unread>>;
}

/// Knows the pictures of messages.
#[async_trait]
pub trait MessagePictures: Pictured {
    /// Whether the message can be read that has this picture, if there is one.
    async fn visibility(&self, picture: PictureId) -> Result<Option<Visibility>>;
    /// Takes pictures out of the messages of an account that is deleted, at most `limit` of them; which these were.
    async fn take_from(&self, former: AccountId, limit: usize) -> Result<Vec<PictureId>>;
}

/// A message that somebody wants looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its number.
    pub id: i64,
    /// The message, which whoever keeps order sees also if it is hidden.
    pub message: Message,
    /// Who wants that.
    pub by: Profile,
    /// Why: at most 500 characters.
    pub reason: String,
    /// Since when.
    pub at: Timestamp,
}

/// Keeps what people want looked at.
#[async_trait]
pub trait Reports: Send + Sync {
    /// Adds one, unless this person has reported the message before, and it was not changed since that was settled;
    /// false if there is no such message.
    async fn add(
        &self,
        channel: Slug,
        message: EventId,
        by: Profile,
        reason: String,
        at: Timestamp,
    ) -> Result<bool>;
    /// Those that nobody has settled, the oldest first, as `reader` sees their messages.
    async fn open(&self, reader: PersonId, limit: usize) -> Result<Vec<Report>>;
    /// How many these are, counted up to `limit`.
    async fn count(&self, limit: u32) -> Result<u32>;
    /// Settles all reports of a report's message; false if there is none.
    async fn settle(&self, id: i64, by: PersonId, at: Timestamp) -> Result<bool>;
    /// Messages that are hidden, with what they say, the newest first.
    async fn hidden(&self, reader: PersonId, limit: usize) -> Result<Vec<Message>>;
}
