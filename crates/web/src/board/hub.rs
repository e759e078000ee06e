//! Streams of what happens in channels: one task follows a channel while anybody listens to it, and all share what
//! it reads.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, OnceLock, Weak},
};

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::AccountsClient,
    board::{Board, Cursor, Event, News, PersonId, Presence, Profile, Reach, Slug},
};
use parking_lot::Mutex;
use tokio::sync::{OnceCell, broadcast};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    app::Visitor,
    dto::{EventJson, PeopleJson, PersonJson},
    follow::follow,
    listener::Listener,
    shown::shown,
};
use crate::edge::{
    address::Client,
    stream::{Bounds, FULL_RETRY, Streams, named_event},
};

/// What a listener may have missed before it goes back to reading the store.
const WAITING_MAX: usize = 1_024;

/// Streams that one person may have open.
const PER_PERSON_MAX: usize = 20;

/// The streams.
pub(crate) struct Hub {
    shared: Arc<Shared>,
    streams: Streams,
}

/// What the streams share.
pub(super) struct Shared {
    pub(super) board: Arc<Board>,
    pub(super) accounts: AccountsClient,
    started_at: Timestamp,
    rooms: Mutex<HashMap<Slug, Room>>,
    listeners: Mutex<HashMap<PersonId, Streaming>>,
}

/// For whom a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Programs, which show events in their own way.
    Programs,
    /// Pages, which show what they are given.
    Pages,
}

/// A channel that somebody is in, or was.
struct Room {
    presence: Presence,
    /// Whether all have been told who came back after the server was started, whom nobody announced.
    is_settled: bool,
    feed: Weak<Feed>,
    /// Who is here, as it goes over the wire, if nobody has come or gone since it was written: many ask at once when
    /// a server has been started again, and all share it.
    people: Option<Bytes>,
    /// Whose coming and going is to be announced, all together at the follower's next turn.
    joined: Vec<Profile>,
    left: Vec<Profile>,
}

/// What the listeners to a channel share; the last of them to go ends the task.
pub(super) struct Feed {
    frames: broadcast::Sender<Frame>,
    task: AbortOnDropHandle<()>,
}

impl Feed {
    /// Whether anybody still looks for what is new.
    pub(super) fn is_followed(&self) -> bool {
        !self.task.is_finished()
    }
}

/// The streams of one person.
#[derive(Default)]
struct Streaming {
    count: usize,
    banned: CancellationToken,
}

/// What all listeners to a channel hear.
#[derive(Clone)]
pub(super) enum Frame {
    /// Something has happened.
    Event(Arc<Told>),
    /// Something may have happened before anybody followed.
    Look,
    /// Something about people, as it goes over the wire.
    Word(Bytes),
}

/// An event as it goes over the wire, written once for all who have the same cursor.
pub(super) struct Told {
    event: Event,
    /// What a reader has who has all that the follower had then.
    cursor: Cursor,
    written: OnceLock<(Bytes, usize)>,
    shown: OnceCell<(Bytes, usize)>,
}

impl Told {
    pub(super) fn new(event: Event, cursor: Cursor) -> Self {
        Self { event, cursor, written: OnceLock::new(), shown: OnceCell::new() }
    }

    pub(super) fn event(&self) -> &Event {
        &self.event
    }

    /// The frames for a reader who has `cursor` with it: the same bytes for all, or the line of the id anew before
    /// them.
    pub(super) fn frames(&self, cursor: &Cursor) -> (Bytes, Option<Bytes>) {
        let written = self.written.get_or_init(|| whole(&self.cursor, &data_line(&self.event)));
        self.for_reader(written, cursor)
    }

    /// The same for a page, of which whoever comes first makes what is to be seen.
    pub(super) async fn page_frames(
        &self,
        board: &Board,
        channel: &Slug,
        cursor: &Cursor,
    ) -> Result<(Bytes, Option<Bytes>)> {
        let shown = self.shown.get_or_try_init(async || {
            Ok::<_, Error>(whole(&self.cursor, &page_data_line(board, channel, &self.event).await?))
        });
        Ok(self.for_reader(shown.await?, cursor))
    }

    fn for_reader(
        &self,
        (whole, id_bytes): &(Bytes, usize),
        cursor: &Cursor,
    ) -> (Bytes, Option<Bytes>) {
        if *cursor == self.cursor {
            return (whole.clone(), None);
        }
        (id_line(cursor).into(), Some(whole.slice(*id_bytes..)))
    }
}

/// A frame, and how much of it is the line of its id.
fn whole(cursor: &Cursor, data_line: &str) -> (Bytes, usize) {
    let id = id_line(cursor);
    ([id.as_bytes(), data_line.as_bytes()].concat().into(), id.len())
}

/// An event that one reader alone is told.
pub(super) fn frame(event: &Event, cursor: &Cursor) -> Bytes {
    whole(cursor, &data_line(event)).0
}

/// The same for a page.
pub(super) async fn page_frame(
    board: &Board,
    channel: &Slug,
    event: &Event,
    cursor: &Cursor,
) -> Result<Bytes> {
    Ok(whole(cursor, &page_data_line(board, channel, event).await?).0)
}

/// What a reader has, so that they come back with it.
pub(super) fn id_line(cursor: &Cursor) -> String {
    format!("id: {cursor}\n")
}

fn data_line(event: &Event) -> String {
    let json = serde_json::to_string(&EventJson::from(event)).unwrap_or_default();
    format!("data: {json}\n\n")
}

async fn page_data_line(board: &Board, channel: &Slug, event: &Event) -> Result<String> {
    let json = shown(board, channel, event).await?;
    Ok(format!("data: {}\n\n", serde_json::to_string(&json).map_err(Error::internal)?))
}

/// Something about people.
fn people_named(name: &str, people: Vec<Profile>) -> Bytes {
    named_event(name, &serde_json::to_string(&PeopleJson::from(people)).unwrap_or_default())
}

/// Something about somebody.
pub(super) fn word(name: &str, profile: Profile) -> Bytes {
    let json = serde_json::to_string(&PersonJson::from(profile)).unwrap_or_default();
    named_event(name, &json)
}

impl Hub {
    /// Streams until `end`, half of so many connections at most.
    pub(crate) fn new(
        board: Arc<Board>,
        accounts: AccountsClient,
        connections_max: usize,
        end: CancellationToken,
    ) -> Self {
        let streams = Streams::new("board", Bounds::half_of(connections_max), end);
        let started_at = board.clock.now();
        let (rooms, listeners) = (Mutex::default(), Mutex::default());
        let shared = Shared { board, accounts, started_at, rooms, listeners };
        Self { shared: Arc::new(shared), streams }
    }

    /// Answers a listener to a channel that is there: from a cursor on, or from now on.
    pub(crate) async fn answer(
        &self,
        visitor: &Visitor,
        channel: Slug,
        from: Option<Cursor>,
        client: Client,
        audience: Audience,
    ) -> Result<Response> {
        let place = self.streams.place(client)?;
        let own = Own::take(&self.shared, visitor.actor.id())?;
        let is_new = from.is_none();
        let cursor = match from {
            Some(cursor) => cursor,
            None => self.shared.board.log.events(channel.clone(), Reach::Tail, 1).await?.cursor,
        };
        let listener = Listener::new(&self.shared, visitor, channel, cursor, own, is_new, audience);
        // They may have been banned before anybody listened for it.
        self.shared.board.admit(&visitor.actor.profile).await?;
        let told = stream::unfold(listener, |mut listener| async move {
            Some((listener.next().await?, listener))
        });
        Ok(place.answer(told))
    }

    /// Who is in a channel.
    pub(crate) fn here(&self, channel: &Slug) -> Vec<Profile> {
        self.shared.here(channel)
    }

    /// Somebody without a stream gives a sign of life in a channel that is there.
    pub(crate) fn seen(&self, channel: &Slug, profile: &Profile) {
        self.shared.come(channel, profile, Presence::seen);
    }
}

impl Shared {
    /// Begins a stream of somebody's: what they listen to, who is here, and the end of it when it is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        channel: &Slug,
        profile: &Profile,
    ) -> (Stay, broadcast::Receiver<Frame>, Bytes) {
        self.come(channel, profile, Presence::enter);
        let (feed, frames) = self.feed(channel);
        let (shared, person) = (Arc::clone(self), profile.person);
        let stay = Stay { shared, channel: channel.clone(), person, feed, has_signed_out: false };
        (stay, frames, self.people(channel))
    }

    /// Who is here, as it goes over the wire.
    pub(super) fn people(&self, channel: &Slug) -> Bytes {
        let now = self.board.clock.now();
        let mut rooms = self.rooms.lock();
        let room = self.room(&mut rooms, channel);
        let here = || people_named("people", room.presence.here(now));
        room.people.get_or_insert_with(here).clone()
    }

    fn here(&self, channel: &Slug) -> Vec<Profile> {
        let now = self.board.clock.now();
        self.rooms.lock().get(channel).map(|room| room.presence.here(now)).unwrap_or_default()
    }

    fn come(
        &self,
        channel: &Slug,
        profile: &Profile,
        how: impl FnOnce(&mut Presence, &Profile, Timestamp) -> bool,
    ) {
        let now = self.board.clock.now();
        let mut rooms = self.rooms.lock();
        let room = self.room(&mut rooms, channel);
        let before = room.presence.len();
        if how(&mut room.presence, profile, now) {
            room.joined.push(profile.clone());
        }
        if room.presence.len() != before {
            room.people = None;
        }
    }

    fn room<'a>(&self, rooms: &'a mut HashMap<Slug, Room>, channel: &Slug) -> &'a mut Room {
        rooms.entry(channel.clone()).or_insert_with(|| {
            let presence = Presence::since(self.started_at);
            let is_settled = presence.is_settled(self.board.clock.now());
            let (joined, left) = (Vec::new(), Vec::new());
            Room { presence, is_settled, feed: Weak::new(), people: None, joined, left }
        })
    }

    /// The feed that there is, or a new one; and what is heard on it from now on.
    fn feed(self: &Arc<Self>, channel: &Slug) -> (Arc<Feed>, broadcast::Receiver<Frame>) {
        let mut rooms = self.rooms.lock();
        let room = self.room(&mut rooms, channel);
        let there = room.feed.upgrade().filter(|feed| feed.is_followed());
        let feed = there.unwrap_or_else(|| {
            let frames = broadcast::Sender::new(WAITING_MAX);
            // From here on: whoever is banned after this is heard of.
            let news = self.board.news();
            let following = follow(Arc::clone(self), channel.clone(), frames.clone(), news);
            let task = AbortOnDropHandle::new(tokio::spawn(following));
            let feed = Arc::new(Feed { frames, task });
            room.feed = Arc::downgrade(&feed);
            feed
        });
        let frames = feed.frames.subscribe();
        (feed, frames)
    }

    /// Tells of those who have come to a channel and left it since the last time.
    pub(super) fn announce(&self, channel: &Slug) {
        let now = self.board.clock.now();
        let mut rooms = self.rooms.lock();
        let Some(room) = rooms.get_mut(channel) else { return };
        let gone = room.presence.sweep(now);
        room.forget(gone);
        for (name, people) in
            [("join", mem::take(&mut room.joined)), ("leave", mem::take(&mut room.left))]
        {
            if !people.is_empty() {
                room.tell(|| people_named(name, people));
            }
        }
        if !room.is_settled && room.presence.is_settled(now) {
            room.is_settled = true;
            room.tell(|| people_named("people", room.presence.here(now)));
        }
    }

    /// Passes on what has become of somebody to a channel.
    pub(super) fn hear(&self, channel: &Slug, news: News) {
        match news {
            News::Changed(profile) => {
                let mut rooms = self.rooms.lock();
                let Some(room) = rooms.get_mut(channel) else { return };
                room.presence.rename(&profile);
                room.people = None;
                room.tell(|| word("person", profile));
            }
            News::Banned(person) => {
                if let Some(streaming) = self.listeners.lock().get_mut(&person) {
                    // Once they are let in again, another counts.
                    mem::take(&mut streaming.banned).cancel();
                }
            }
        }
    }
}

impl Room {
    /// Notes that people have left. Who came just now, and was not told of, has not been here.
    fn forget(&mut self, gone: impl IntoIterator<Item = Profile>) {
        for gone in gone {
            self.people = None;
            match self.joined.iter().position(|joined| joined.person == gone.person) {
                Some(place) => drop(self.joined.swap_remove(place)),
                None => self.left.push(gone),
            }
        }
    }

    fn tell(&self, word: impl FnOnce() -> Bytes) {
        if let Some(feed) = self.feed.upgrade() {
            // Nobody may listen.
            let _ = feed.frames.send(Frame::Word(word()));
        }
    }
}

/// That somebody is in a channel by a stream.
pub(super) struct Stay {
    shared: Arc<Shared>,
    channel: Slug,
    person: PersonId,
    pub(super) feed: Arc<Feed>,
    /// Whether they may not be here any more.
    pub(super) has_signed_out: bool,
}

impl Drop for Stay {
    fn drop(&mut self) {
        let now = self.shared.board.clock.now();
        let mut rooms = self.shared.rooms.lock();
        let Some(room) = rooms.get_mut(&self.channel) else { return };
        if self.has_signed_out {
            let left = room.presence.sign_out(self.person, now);
            room.forget(left);
        } else {
            room.presence.leave(self.person, now);
        }
    }
}

/// One of the streams that somebody may have.
pub(super) struct Own {
    shared: Arc<Shared>,
    person: PersonId,
    /// Ends all of them.
    pub(super) banned: CancellationToken,
}

impl Own {
    fn take(shared: &Arc<Shared>, person: PersonId) -> Result<Self> {
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

#[cfg(test)]
#[path = "hub_tests.rs"]
mod streams;

#[cfg(test)]
mod tests {
    use lodge_domain::{
        accounts::AccountId,
        board::{Stamp, What},
    };

    use super::*;

    #[test]
    fn an_event_is_written_once_and_the_id_anew_for_whoever_has_another_cursor() {
        let id = "7:42".parse().unwrap();
        let person = PersonId::Account(AccountId(1));
        let by = Profile { person, username: "ada".into(), nickname: "Ada".into(), picture: None };
        let event = Event { id, at: Stamp::stored(0), by, what: What::Delete { target: id } };
        let cursor: Cursor = "7:42,9:3".parse().unwrap();
        let told = Told::new(event.clone(), cursor.clone());
        let ((first, none), (again, _)) = (told.frames(&cursor), told.frames(&cursor));
        assert_eq!((first.as_ptr(), none), (again.as_ptr(), None), "each holds the same bytes");
        assert_eq!(first, frame(&event, &cursor));
        let other: Cursor = "7:42".parse().unwrap();
        let (line, data) = told.frames(&other);
        assert_eq!([line, data.unwrap()].concat(), frame(&event, &other));
        let text = String::from_utf8(first.to_vec()).unwrap();
        assert!(text.starts_with("id: 7:42,9:3\ndata: {") && text.ends_with("}\n\n"), "{text}");
    }
}
