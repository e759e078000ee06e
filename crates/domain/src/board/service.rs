//! What can be done on the board.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::{
    Actor, Amended, BoardLog, BoardPeople, Channel, ChannelChange, Channels, Cursor, Event,
    EventId, EventsPage, Known, Message, MessagePictures, MessageSearch, MessagesPage,
    MessagesQuery, NewMessage, PersonId, Posted, Profile, Reach, ReadNote, ReadPositions, Report,
    Reports, Slug, Topic, UNREAD_MAX, Unread, Version, Wish, Word, rules,
};
use crate::{
    Clock, Error, Result,
    accounts::{AccountId, AccountsClient, Username},
    keys::Keys,
    pictures::PictureKeeper,
};

/// Channels in which something has happened that whoever listens has not heard of; past it they look at all.
const RINGS_MAX: usize = 1_024;

/// News of people that whoever listens has not heard yet.
const NEWS_MAX: usize = 1_024;

/// The longest reason of a report, in characters.
const REASON_CHARS_MAX: usize = 500;

/// Most words of a search.
const WORDS_MAX: usize = 8;

/// The longest search, in characters.
const SEARCH_CHARS_MAX: usize = 200;

/// The service.
pub struct Board {
    pub(super) stores: BoardStores,
    pub(super) keeper: PictureKeeper,
    bots: Keys,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) rings: broadcast::Sender<Slug>,
    news: broadcast::Sender<News>,
}

/// What has become of somebody, for whoever shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// They are called otherwise, or have another picture.
    Changed(Profile),
    /// They may not be here any more.
    Banned(PersonId),
    /// Their account is deleted; this is what they were called.
    Gone(Profile),
}

/// Where the board is kept.
pub struct BoardStores {
    /// Keeps what happens.
    pub log: Arc<dyn BoardLog>,
    /// Keeps channels.
    pub channels: Arc<dyn Channels>,
    /// Keeps who was here.
    pub people: Arc<dyn BoardPeople>,
    /// Keeps how far they have read.
    pub positions: Arc<dyn ReadPositions>,
    /// Keeps what is to be looked at.
    pub reports: Arc<dyn Reports>,
    /// Knows the pictures of messages.
    pub pictures: Arc<dyn MessagePictures>,
}

impl Board {
    /// A board that is kept there, and its pictures by `keeper`.
    pub fn new(
        stores: BoardStores,
        keeper: PictureKeeper,
        bots: Keys,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let rings = broadcast::Sender::new(RINGS_MAX);
        let news = broadcast::Sender::new(NEWS_MAX);
        Self { stores, keeper, bots, clock, rings, news }
    }

    /// Programs that may write.
    pub fn bots(&self) -> &Keys {
        &self.bots
    }

    /// Hears what becomes of people, from now on and in this process.
    pub fn news(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    /// Notes what somebody is called, and tells of it if that is new.
    pub async fn note(&self, profile: Profile) -> Result<()> {
        if self.stores.people.note(profile.clone()).await? {
            // Nobody may listen.
            let _ = self.news.send(News::Changed(profile));
        }
        Ok(())
    }

    /// Hears in which channels something happens, from now on and in this process. It only makes whoever listens
    /// look sooner: what counts is what the log has.
    pub fn rings(&self) -> broadcast::Receiver<Slug> {
        self.rings.subscribe()
    }

    /// Stores a message; the same again answers with the first.
    pub async fn post(&self, by: &Actor, new: NewMessage) -> Result<Posted> {
        let channel = new.channel.clone();
        let posted = self.stores.log.post(new, by.clone(), self.clock.now()).await?;
        if let Posted::New(_) = posted {
            self.ring(channel);
        }
        Ok(posted)
    }

    /// Events of a channel, in order.
    pub async fn events(&self, channel: Slug, reach: Reach, limit: usize) -> Result<EventsPage> {
        self.stores.log.events(channel, reach, limit).await
    }

    /// Messages of a channel as they stand, in order.
    pub async fn messages(&self, query: MessagesQuery) -> Result<MessagesPage> {
        self.stores.log.messages(query).await
    }

    /// A message as it stands, if it is there.
    pub async fn find(&self, by: &Actor, channel: &Slug, id: EventId) -> Result<Option<Message>> {
        self.stores.log.message(channel.clone(), id, by.clone()).await
    }

    /// A message as it stands, and what it said before, which can be read as long as the message can.
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

    /// What somebody wrote, at most `limit`, after this place; each with its place.
    pub async fn written_by(
        &self,
        author: PersonId,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Message)>> {
        self.stores.log.written_by(author, after, limit).await
    }

    /// Does something with a message; what happened, if anything did.
    pub async fn amend(
        &self,
        by: &Actor,
        channel: &Slug,
        message: EventId,
        wish: Wish,
    ) -> Result<Option<Event>> {
        let now = self.clock.now();
        let amended =
            self.stores.log.amend(channel.clone(), message, wish, by.clone(), now).await?;
        let Some(Amended { event, former }) = amended else { return Ok(None) };
        self.ring(channel.clone());
        if let Some(picture) = former {
            self.keeper.remove(picture).await;
        }
        Ok(Some(event))
    }

    /// Lets somebody in who wants to read; false if they are known by another profile than this. Either may be the
    /// older: whoever asks looks, and notes it. [`Error::Forbidden`] if they are banned.
    pub async fn admit(&self, profile: &Profile) -> Result<bool> {
        let Some(known) = self.stores.people.find(profile.person).await? else {
            self.stores.people.note(profile.clone()).await?;
            return Ok(true);
        };
        rules::check_banned(known.banned_at.is_some())?;
        Ok(known.profile == *profile)
    }

    /// Notes how far somebody has read a channel that is there, to be stored soon: what is not stored when the
    /// process is killed, they read again.
    pub fn note_read(&self, note: ReadNote) -> Result<()> {
        self.stores.positions.note(note)
    }

    /// Stores what people have read since the last time; to be called about once a second.
    pub async fn store_read(&self) -> Result<()> {
        self.stores.positions.store().await
    }

    /// What a person has read of a channel, of each origin; `None` if they were never there.
    pub async fn read_so_far(&self, person: PersonId, channel: Slug) -> Result<Option<Cursor>> {
        self.stores.positions.read_so_far(person, channel).await
    }

    /// What a person has not read.
    pub async fn unread(&self, reader: Profile) -> Result<Vec<Unread>> {
        self.stores.positions.unread(reader).await
    }

    /// Forgets what an account that is deleted was called and had read, and the pictures that it sent, and tells of it;
    /// what it wrote stays.
    pub async fn forget(&self, former: AccountId) -> Result<()> {
        self.take_pictures_from(former).await?;
        let known = self.stores.people.find(PersonId::Account(former)).await?;
        self.stores.people.forget(former).await?;
        if let Some(known) = known.filter(|known| !known.profile.username.is_empty()) {
            let _ = self.news.send(News::Gone(known.profile));
        }
        Ok(())
    }

    /// All channels, the lobby first.
    pub async fn channels(&self) -> Result<Vec<Channel>> {
        self.stores.channels.list().await
    }

    /// The channel of that name.
    pub async fn channel(&self, slug: &Slug) -> Result<Channel> {
        self.stores
            .channels
            .find(slug.clone())
            .await?
            .ok_or(Error::not_found("there is no such channel"))
    }

    /// Makes a channel, unless it is there; says whether it was made.
    pub async fn create_channel(
        &self,
        by: &Actor,
        slug: Slug,
        topic: Topic,
    ) -> Result<(Channel, bool)> {
        by.check_staff()?;
        let created_at = self.clock.now();
        let new = Channel { slug, topic, slow_mode_s: 0, is_archived: false, created_at };
        self.stores.channels.create(new).await
    }

    /// Changes a channel.
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
                "cannot be done to the lobby, where everybody comes in",
            ));
        }
        let changed = self.stores.channels.change(slug.clone(), change.checked()?).await?;
        changed.ok_or(Error::not_found("there is no such channel"))
    }

    /// Who is banned.
    pub async fn bans(&self, by: &Actor) -> Result<Vec<Known>> {
        by.check_staff()?;
        self.stores.people.banned().await
    }

    /// Bans somebody from the board, or lets them in again. Staff have a say only over those below them, as their
    /// `accounts` say.
    pub async fn ban(
        &self,
        by: &Actor,
        accounts: &AccountsClient,
        name: Username,
        is_banned: bool,
    ) -> Result<Known> {
        by.check_staff()?;
        if accounts.user(name.clone()).await?.role >= by.role {
            return Err(Error::forbidden("they are not below you"));
        }
        let known = self.stores.people.named(name).await?;
        let known = known.ok_or(Error::not_found("they have never been on this board"))?;
        let since = is_banned.then(|| self.clock.now());
        let banned = self.stores.people.ban(known.profile.person, since).await?;
        if is_banned {
            let _ = self.news.send(News::Banned(known.profile.person));
        }
        banned.ok_or(Error::not_found("they have never been on this board"))
    }

    /// Asks whoever keeps order to look at a message.
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
                "must be at most 500 characters, without controls",
            ));
        }
        let (by, at) = (by.profile.clone(), self.clock.now());
        if self.stores.reports.add(channel.clone(), message, by, reason.to_owned(), at).await? {
            return Ok(());
        }
        Err(Error::not_found("there is no such message"))
    }

    /// What people want looked at, the oldest first.
    pub async fn reports(&self, by: &Actor, limit: usize) -> Result<Vec<Report>> {
        by.check_staff()?;
        self.stores.reports.open(by.id(), limit).await
    }

    /// How often people want something looked at, counted up to [`UNREAD_MAX`].
    pub async fn reports_count(&self, by: &Actor) -> Result<u32> {
        by.check_staff()?;
        self.stores.reports.count(UNREAD_MAX).await
    }

    /// What is hidden, the newest first.
    pub async fn hidden(&self, by: &Actor, limit: usize) -> Result<Vec<Message>> {
        by.check_staff()?;
        self.stores.reports.hidden(by.id(), limit).await
    }

    /// Settles the reports of a message.
    pub async fn settle(&self, by: &Actor, report: i64) -> Result<()> {
        by.check_staff()?;
        if self.stores.reports.settle(report, by.id(), self.clock.now()).await? {
            return Ok(());
        }
        Err(Error::not_found("there is no such report"))
    }

    /// Messages that have all the words of a text, the newest first. A word with a `*` at its end is the beginning of
    /// words.
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
            return Err(Error::invalid("q", "must be one word or more"));
        }
        self.stores.log.search(MessageSearch { channel, words, limit, reader: by.id() }).await
    }

    fn ring(&self, channel: Slug) {
        // Nobody may listen.
        let _ = self.rings.send(channel);
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
    fn a_search_is_its_words() {
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
