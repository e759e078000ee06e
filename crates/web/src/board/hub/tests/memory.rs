//! An event log in memory, with everything else that a board needs.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use jiff::Timestamp;
use lodge_domain::{
    Error, Tasks,
    accounts::{AccountId, Backend, Call, Reply, Username},
    board::{
        Action, Actor, Applied, BoardEvent, BoardEventContent, BoardLog, BoardMembers, Channel,
        ChannelChange, Channels, EventId, EventLog, EventsPage, KnownMember, Message,
        MessagePictures, MessageSearch, MessagesPage, MessagesQuery, NewMessage, Origin, PersonId,
        Posted, ReadPosition, ReadPositions, Report, Reports, Stamp, Unread, Version, Visibility,
    },
    keys::{ApiKey, KeyId, KeyStore},
    pictures::{
        Picture, PictureDecoder, PictureId, PictureOwners, PictureSize, PictureStore, Shape,
    },
};
use parking_lot::Mutex;

use super::super::*;

/// A log of one origin, with bots of which only number 13 can be revoked.
#[derive(Default)]
pub(super) struct Memory {
    events: Mutex<Vec<BoardEvent>>,
    pub(super) has_revoked: Mutex<bool>,
}

fn unused<T>() -> Result<T> {
    Err(Error::internal("no test calls this"))
}

#[async_trait]
impl EventLog for Memory {
    async fn events(&self, _: Slug, reach: EventRange, limit: usize) -> Result<EventsPage> {
        let events = self.events.lock();
        let had = match reach {
            EventRange::After(had) => had,
            EventRange::Before(_) => return unused(),
            EventRange::Tail => {
                let mut all = Cursor::default();
                events.iter().for_each(|event| all.take(event.id));
                return Ok(EventsPage { cursor: all, ..EventsPage::default() });
            }
        };
        let new = events.iter().filter(|event| !had.has(event.id)).take(limit + 1).cloned();
        let new = new.collect();
        Ok(EventsPage::after(had, new, limit))
    }
}

#[async_trait]
impl BoardLog for Memory {
    async fn post(&self, new: NewMessage, by: Actor, now: Timestamp) -> Result<Posted> {
        let mut events = self.events.lock();
        let id = EventId { origin: Origin::new(7).unwrap(), seq: events.len() as u64 + 1 };
        let at = Stamp::after(events.last().map(|event| event.at), now);
        let visibility = Visibility::Shown;
        let what = BoardEventContent::Message {
            body: Some(new.body),
            reply_to: None,
            picture: None,
            visibility,
        };
        let event = BoardEvent { id, at, by: by.profile, content: what };
        events.push(event.clone());
        Ok(Posted::New(event))
    }

    async fn dry_run(&self, _: NewMessage, _: Actor, _: Timestamp) -> Result<Option<BoardEvent>> {
        unused()
    }

    async fn apply(
        &self,
        _: Slug,
        _: EventId,
        _: Action,
        _: Actor,
        _: Timestamp,
    ) -> Result<Option<Applied>> {
        unused()
    }

    async fn messages(&self, _: MessagesQuery) -> Result<MessagesPage> {
        unused()
    }

    async fn message(&self, _: Slug, _: EventId, _: Actor) -> Result<Option<Message>> {
        Ok(None)
    }

    async fn history(&self, _: Slug, _: EventId) -> Result<Vec<Version>> {
        unused()
    }

    async fn search(&self, search: MessageSearch) -> Result<Vec<Message>> {
        if search.words[0].text == "slow" { std::future::pending().await } else { Ok(Vec::new()) }
    }

    async fn written_by(&self, _: PersonId, _: i64, _: usize) -> Result<Vec<(i64, Message)>> {
        unused()
    }
}

#[async_trait]
impl Channels for Memory {
    async fn list(&self) -> Result<Vec<Channel>> {
        unused()
    }

    async fn find(&self, _: Slug) -> Result<Option<Channel>> {
        unused()
    }

    async fn create(&self, _: Channel) -> Result<(Channel, bool)> {
        unused()
    }

    async fn change(&self, _: Slug, _: ChannelChange) -> Result<Option<Channel>> {
        unused()
    }
}

#[async_trait]
impl BoardMembers for Memory {
    async fn save_profile(&self, _: Profile) -> Result<bool> {
        Ok(true)
    }

    async fn find(&self, _: PersonId) -> Result<Option<KnownMember>> {
        unused()
    }

    async fn find_by_username(&self, _: Username) -> Result<Option<KnownMember>> {
        unused()
    }

    async fn with_prefix(&self, _: String, _: usize) -> Result<Vec<Profile>> {
        unused()
    }

    async fn ban(&self, _: PersonId, _: Option<Timestamp>) -> Result<Option<KnownMember>> {
        unused()
    }

    async fn banned(&self) -> Result<Vec<KnownMember>> {
        unused()
    }

    async fn accounts(&self, _: Option<AccountId>, _: usize) -> Result<Vec<AccountId>> {
        unused()
    }

    async fn forget(&self, _: AccountId) -> Result<()> {
        unused()
    }
}

#[async_trait]
impl ReadPositions for Memory {
    fn record(&self, _: ReadPosition) -> Result<()> {
        unused()
    }

    async fn flush(&self) -> Result<()> {
        unused()
    }

    async fn read_cursor(&self, _: PersonId, _: Slug) -> Result<Option<Cursor>> {
        unused()
    }

    async fn unread(&self, _: Profile) -> Result<Vec<Unread>> {
        unused()
    }
}

#[async_trait]
impl Reports for Memory {
    async fn add(&self, _: Slug, _: EventId, _: Profile, _: String, _: Timestamp) -> Result<bool> {
        unused()
    }

    async fn open(&self, _: PersonId, _: usize) -> Result<Vec<Report>> {
        unused()
    }

    async fn count(&self, _: u32) -> Result<u32> {
        unused()
    }

    async fn settle(&self, _: i64, _: PersonId, _: Timestamp) -> Result<bool> {
        unused()
    }

    async fn hidden(&self, _: PersonId, _: usize) -> Result<Vec<Message>> {
        unused()
    }
}

#[async_trait]
impl KeyStore for Memory {
    async fn add(&self, _: &str, _: [u8; 32], _: Timestamp) -> Result<ApiKey> {
        unused()
    }

    async fn find(&self, _: [u8; 32]) -> Result<Option<ApiKey>> {
        unused()
    }

    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>> {
        let has_revoked = id == KeyId(13) && *self.has_revoked.lock();
        Ok(Some(bot(id)).filter(|_| !has_revoked))
    }

    async fn list(&self) -> Result<Vec<ApiKey>> {
        unused()
    }

    async fn revoke(&self, _: &str, _: Timestamp) -> Result<Option<ApiKey>> {
        unused()
    }
}

#[async_trait]
impl PictureOwners for Memory {
    async fn assigned(&self, _: Vec<PictureId>) -> Result<Vec<PictureId>> {
        unused()
    }
}

#[async_trait]
impl MessagePictures for Memory {
    async fn visibility(&self, _: PictureId) -> Result<Option<Visibility>> {
        unused()
    }

    async fn take_from(&self, _: AccountId, _: usize) -> Result<Vec<PictureId>> {
        unused()
    }
}

#[async_trait]
impl PictureDecoder for Memory {
    async fn decode(&self, _: Bytes, _: Shape) -> Result<Picture> {
        unused()
    }
}

#[async_trait]
impl PictureStore for Memory {
    async fn put(&self, _: PictureId, _: Picture) -> Result<()> {
        unused()
    }

    async fn get(&self, _: PictureId, _: PictureSize) -> Result<Option<Bytes>> {
        unused()
    }

    async fn remove(&self, _: PictureId) -> Result<()> {
        unused()
    }

    async fn begin_sweep(&self, _: RangeInclusive<Timestamp>) -> Result<bool> {
        Ok(true)
    }

    async fn forget_sweep(&self) -> Result<()> {
        Ok(())
    }

    fn put_before(&self, _: Timestamp) -> BoxStream<'_, Result<PictureId>> {
        stream::empty().boxed()
    }
}

impl Tasks for Memory {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

#[async_trait]
impl Backend for Memory {
    async fn call(&self, _: Call) -> Result<Reply> {
        unused()
    }
}

pub(super) fn bot(id: KeyId) -> ApiKey {
    ApiKey { id, name: format!("bot{}", id.0), created_at: Timestamp::UNIX_EPOCH, revoked_at: None }
}
