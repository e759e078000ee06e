//! The board's service.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::{
    Action, Actor, Applied, BoardEvent, BoardEventContent, BoardLog, BoardMembers, Channel,
    ChannelChange, Channels, Cursor, EventId, EventRange, EventsPage, KnownMember, Message,
    MessagePictures, MessageSearch, MessagesPage, MessagesQuery, NewMessage, PersonId, Posted,
    Profile, ReadPosition, ReadPositions, Report, Reports, Slug, Topic, UNREAD_MAX, Unread,
    Version, Word,
    notifier::{MentionWatch, Notifier},
    rules,
};
use crate::{
    Clock, Error, Result,
    accounts::{AccountId, AccountsClient, Username},
    keys::Keys,
    pictures::PictureKeeper,
    security::{self, SecurityEventKind},
};

/// Pending member updates of a listener.
const MEMBER_UPDATES_MAX: usize = 1_024;

/// The longest reason of a report, in characters.
const REASON_CHARS_MAX: usize = 500;

/// The most names that complete a typed text.
const NAMES_MAX: usize = 8;

/// The longest text to complete, in characters.
const PREFIX_CHARS_MAX: usize = 30;

/// The most words of a search.
const WORDS_MAX: usize = 8;

/// The longest search, in characters.
const SEARCH_CHARS_MAX: usize = 200;

/// The board: posting, reading and moderation.
pub struct Board {
    pub(super) stores: BoardStores,
    pub(super) keeper: PictureKeeper,
    bots: Keys,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) notifier: Notifier,
    member_updates: broadcast::Sender<MemberUpdate>,
}

/// A change of a member, for pages that show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberUpdate {
    /// The member has a new name or picture.
    Changed(Profile),
    /// The member was banned.
    Banned(PersonId),
    /// The member's account was deleted; the last known profile.
    Deleted(Profile),
}

/// The board's stores.
pub struct BoardStores {
    /// Event log and messages.
    pub log: Arc<dyn BoardLog>,
    /// Channels.
    pub channels: Arc<dyn Channels>,
    /// Known members.
    pub people: Arc<dyn BoardMembers>,
    /// Read positions.
    pub positions: Arc<dyn ReadPositions>,
    /// Reports of messages.
    pub reports: Arc<dyn Reports>,
    /// Pictures of messages.
    pub pictures: Arc<dyn MessagePictures>,
}

impl Board {
    /// Creates a board over `stores`, with its pictures in `keeper`.
    pub fn new(
        stores: BoardStores,
        keeper: PictureKeeper,
        bots: Keys,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let member_updates = broadcast::Sender::new(MEMBER_UPDATES_MAX);
        Self { stores, keeper, bots, clock, notifier: Notifier::new(), member_updates }
    }

    /// The API keys of bots.
    pub fn bots(&self) -> &Keys {
        &self.bots
    }

    /// Subscribes to changes of members, as of now and in this process.
    pub fn member_updates(&self) -> broadcast::Receiver<MemberUpdate> {
        self.member_updates.subscribe()
    }

    /// Stores a member's profile, and publishes it if it changed.
    pub async fn save_profile(&self, profile: Profile) -> Result<()> {
        if self.stores.people.save_profile(profile.clone()).await? {
            // There may be no listener.
            let _ = self.member_updates.send(MemberUpdate::Changed(profile));
        }
        Ok(())
    }

    /// Subscribes to the channels that get new events, as of now and in this process. A wake-up only makes a listener
    /// read sooner; the log is the source of truth.
    pub fn wakeups(&self) -> broadcast::Receiver<Slug> {
        self.notifier.wakeups()
    }

    /// Watches the mentions of a member in all channels, as of now and in this process; `None` for a bot with a name
    /// that cannot be mentioned.
    pub fn watch_mentions(&self, member: &Profile) -> Option<MentionWatch> {
        Some(self.notifier.watch_mentions(Username::parse(&member.username).ok()?))
    }

    /// Returns the first `NAMES_MAX` members whose name begins with a typed text; none for an empty text.
    pub async fn members_with_prefix(&self, typed: &str) -> Result<Vec<Profile>> {
        let prefix = Username::prefix(typed);
        if prefix.is_empty() || prefix.chars().count() > PREFIX_CHARS_MAX {
            return Ok(Vec::new());
        }
        let mut members = self.stores.people.with_prefix(prefix, NAMES_MAX).await?;
        // A bot may have a name that cannot be mentioned.
        members.retain(|member| Username::parse(&member.username).is_ok());
        Ok(members)
    }

    /// Stores a message; a repetition returns the original event.
    pub async fn post(&self, by: &Actor, new: NewMessage) -> Result<Posted> {
        let channel = new.channel.clone();
        let posted = self.stores.log.post(new, by.clone(), self.clock.now()).await?;
        if let Posted::New(event) = &posted {
            self.notifier.notify(channel, event);
        }
        Ok(posted)
    }

    /// Returns events of a channel, in order.
    pub async fn events(
        &self,
        channel: Slug,
        reach: EventRange,
        limit: usize,
    ) -> Result<EventsPage> {
        self.stores.log.events(channel, reach, limit).await
    }

    /// Returns messages of a channel in their current state, in order; [`Error::NotFound`] if the channel does not have
    /// the message that the range names.
    pub async fn messages(&self, query: MessagesQuery) -> Result<MessagesPage> {
        self.stores.log.messages(query).await
    }

    /// Returns a message in its current state, if it exists.
    pub async fn find(&self, by: &Actor, channel: &Slug, id: EventId) -> Result<Option<Message>> {
        self.stores.log.message(channel.clone(), id, by.clone()).await
    }

    /// Returns a message in its current state with its earlier versions, which are readable while the message is.
    pub async fn message(
        &self,
        by: &Actor,
        channel: &Slug,
        id: EventId,
    ) -> Result<(Message, Vec<Version>)> {
        let message = self.find(by, channel, id).await?;
        let message = message.ok_or(Error::not_found("there is no such message"))?;
        let has_history = message.body.is_some() && message.edited_at.is_some();
        let history = if has_history {
            self.stores.log.history(channel.clone(), id).await?
        } else {
            Vec::new()
        };
        Ok((message, history))
    }

    /// Returns at most `limit` messages of an author after the position `after`, each with its position.
    pub async fn written_by(
        &self,
        author: PersonId,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Message)>> {
        self.stores.log.written_by(author, after, limit).await
    }

    /// Applies an action to a message; returns the event, or `None` if nothing changed.
    pub async fn apply(
        &self,
        by: &Actor,
        channel: &Slug,
        message: EventId,
        action: Action,
    ) -> Result<Option<BoardEvent>> {
        let now = self.clock.now();
        let applied =
            self.stores.log.apply(channel.clone(), message, action, by.clone(), now).await?;
        let Some(Applied { event, detached_picture: former }) = applied else { return Ok(None) };
        record_moderation(&event);
        self.notifier.notify(channel.clone(), &event);
        if let Some(picture) = former {
            self.keeper.remove(picture).await;
        }
        Ok(Some(event))
    }

    /// Checks that a member may enter; false if the stored profile differs from `profile`. Either may be the older: the
    /// caller fetches the current one and stores it. Returns [`Error::Forbidden`] if the member is banned.
    pub async fn admit(&self, profile: &Profile) -> Result<bool> {
        let Some(known) = self.stores.people.find(profile.person).await? else {
            self.stores.people.save_profile(profile.clone()).await?;
            return Ok(true);
        };
        rules::check_banned(known.banned_at.is_some())?;
        Ok(known.profile == *profile)
    }

    /// Records how far a member has read an existing channel. It is stored within about a second; a position that is
    /// lost when the process is killed shows its messages as unread again.
    pub fn mark_read(&self, note: ReadPosition) -> Result<()> {
        self.stores.positions.record(note)
    }

    /// Stores the pending read positions; to be called about once a second.
    pub async fn flush_read_positions(&self) -> Result<()> {
        self.stores.positions.flush().await
    }

    /// Returns a member's cursor in a channel; `None` if they have never read it.
    pub async fn read_cursor(&self, person: PersonId, channel: Slug) -> Result<Option<Cursor>> {
        self.stores.positions.read_cursor(person, channel).await
    }

    /// Returns a member's unread counts by channel.
    pub async fn unread(&self, reader: Profile) -> Result<Vec<Unread>> {
        self.stores.positions.unread(reader).await
    }

    /// Erases the profile, read positions and pictures of a deleted account, and publishes the deletion; its messages
    /// stay.
    pub async fn forget(&self, former: AccountId) -> Result<()> {
        self.take_pictures_from(former).await?;
        let known = self.stores.people.find(PersonId::Account(former)).await?;
        self.stores.people.forget(former).await?;
        if let Some(known) = known.filter(|known| !known.profile.username.is_empty()) {
            let _ = self.member_updates.send(MemberUpdate::Deleted(known.profile));
        }
        Ok(())
    }

    /// Returns all channels, the lobby first.
    pub async fn channels(&self) -> Result<Vec<Channel>> {
        self.stores.channels.list().await
    }

    /// Returns a channel.
    pub async fn channel(&self, slug: &Slug) -> Result<Channel> {
        self.stores
            .channels
            .find(slug.clone())
            .await?
            .ok_or(Error::not_found("there is no such channel"))
    }

    /// Creates a channel unless it exists; the flag says whether it is new.
    pub async fn create_channel(
        &self,
        by: &Actor,
        slug: Slug,
        topic: Topic,
    ) -> Result<(Channel, bool)> {
        by.check_staff()?;
        let created_at = self.clock.now();
        let new = Channel { slug, topic, slow_mode_s: 0, is_archived: false, created_at };
        let (channel, is_new) = self.stores.channels.create(new).await?;
        if is_new {
            let detail = format!("#{} created", channel.slug);
            security::record(SecurityEventKind::ChannelChanged, None, detail);
        }
        Ok((channel, is_new))
    }

    /// Updates a channel.
    pub async fn change_channel(
        &self,
        by: &Actor,
        slug: &Slug,
        change: ChannelChange,
    ) -> Result<Channel> {
        by.check_staff()?;
        if change.is_archived == Some(true) && *slug == Slug::lobby() {
            return Err(Error::invalid(
                "archived",
                "must be false for the lobby, which cannot be archived",
            ));
        }
        let changed = self.stores.channels.change(slug.clone(), change.checked()?).await?;
        let changed = changed.ok_or(Error::not_found("there is no such channel"))?;
        let state = if changed.is_archived { ", archived" } else { "" };
        let detail = format!("#{slug}{state}");
        security::record(SecurityEventKind::ChannelChanged, None, detail);
        Ok(changed)
    }

    /// Returns the banned members.
    pub async fn bans(&self, by: &Actor) -> Result<Vec<KnownMember>> {
        by.check_staff()?;
        self.stores.people.banned().await
    }

    /// Bans a member from the board, or lifts the ban. Staff may ban only members of a lower role, by `accounts`.
    pub async fn ban(
        &self,
        by: &Actor,
        accounts: &AccountsClient,
        name: Username,
        is_banned: bool,
    ) -> Result<KnownMember> {
        by.check_staff()?;
        let account = accounts.user(name.clone()).await?;
        if account.role >= by.role {
            return Err(Error::forbidden("you can ban only accounts with a lower role than yours"));
        }
        let known = self.stores.people.find_by_username(name).await?;
        let known = known.ok_or(Error::not_found("this account has never been on this board"))?;
        let since = is_banned.then(|| self.clock.now());
        let banned = self.stores.people.ban(known.profile.person, since).await?;
        if is_banned {
            let _ = self.member_updates.send(MemberUpdate::Banned(known.profile.person));
        }
        let banned = banned.ok_or(Error::not_found("this account has never been on this board"))?;
        let kind = if is_banned {
            SecurityEventKind::BoardBanned
        } else {
            SecurityEventKind::BoardUnbanned
        };
        security::record(kind, Some(account.id), "");
        Ok(banned)
    }

    /// Reports a message to the moderators.
    pub async fn report(
        &self,
        by: &Actor,
        channel: &Slug,
        message: EventId,
        reason: &str,
    ) -> Result<()> {
        let reason = reason.trim();
        if reason.chars().count() > REASON_CHARS_MAX
            || reason.chars().any(|c| c.is_control() && c != '\n')
        {
            return Err(Error::invalid(
                "reason",
                "must be at most 500 characters, without control characters",
            ));
        }
        let (by, at) = (by.profile.clone(), self.clock.now());
        if self.stores.reports.add(channel.clone(), message, by, reason.to_owned(), at).await? {
            return Ok(());
        }
        Err(Error::not_found("there is no such message"))
    }

    /// Returns open reports, oldest first.
    pub async fn reports(&self, by: &Actor, limit: usize) -> Result<Vec<Report>> {
        by.check_staff()?;
        self.stores.reports.open(by.id(), limit).await
    }

    /// Counts open reports, up to [`UNREAD_MAX`].
    pub async fn reports_count(&self, by: &Actor) -> Result<u32> {
        by.check_staff()?;
        self.stores.reports.count(UNREAD_MAX).await
    }

    /// Returns hidden messages, newest first.
    pub async fn hidden(&self, by: &Actor, limit: usize) -> Result<Vec<Message>> {
        by.check_staff()?;
        self.stores.reports.hidden(by.id(), limit).await
    }

    /// Settles all reports of a report's message.
    pub async fn settle(&self, by: &Actor, report: i64) -> Result<()> {
        by.check_staff()?;
        if self.stores.reports.settle(report, by.id(), self.clock.now()).await? {
            return Ok(());
        }
        Err(Error::not_found("there is no such report"))
    }

    /// Returns messages that contain all words of a text, newest first. A word that ends with `*` matches words that
    /// begin with it.
    pub async fn search(
        &self,
        by: &Actor,
        channel: Option<Slug>,
        text: &str,
        limit: usize,
    ) -> Result<Vec<Message>> {
        let words = words(text);
        if words.len() > WORDS_MAX || text.chars().count() > SEARCH_CHARS_MAX {
            return Err(Error::invalid("q", "must be at most 8 words and 200 characters"));
        }
        if words.is_empty() {
            return Err(Error::invalid("q", "must contain at least one word"));
        }
        self.stores.log.search(MessageSearch { channel, words, limit, reader: by.id() }).await
    }
}

fn record_moderation(event: &BoardEvent) {
    if let BoardEventContent::Hide { target, is_hidden } = &event.content {
        let done = if *is_hidden { "hidden" } else { "shown" };
        let detail = format!("message {target} {done}");
        security::record(SecurityEventKind::MessageModerated, None, detail);
    }
}

fn words(text: &str) -> Vec<Word> {
    let is_beginning = |word: &str| word.ends_with('*');
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '*');
    let words =
        parts.map(|part| Word { text: part.replace('*', ""), is_beginning: is_beginning(part) });
    words.filter(|word| !word.text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_split_into_words() {
        let of = |text: &str| {
            words(text).into_iter().map(|word| (word.text, word.is_beginning)).collect::<Vec<_>>()
        };
        let word = |text: &str, is_beginning| (text.to_owned(), is_beginning);
        assert_eq!(
            of("Lift-7 \"clos*\""),
            [word("Lift", false), word("7", false), word("clos", true)]
        );
        assert_eq!(of("*a*b AND NEAR(c)").len(), 4);
        assert_eq!(of(" * ** \" "), []);
    }
}
