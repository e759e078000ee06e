//! The presence of members in channels, and the broadcast of each channel.

use std::{
    collections::HashMap,
    mem,
    ops::Range,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Clock,
    board::{PersonId, Presence, Profile, Slug},
};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio_util::task::AbortOnDropHandle;

use super::{
    dto::{PeopleJson, PersonJson},
    feed::{BROADCAST_CAPACITY, Feed, Frame},
};
use crate::edge::stream::named_event;

/// The length from which a member list is cached for [`LIST_AGE_MAX`]. Members who joined since are announced soon.
const LONG_LIST_LEN: usize = 100;

/// The maximum age of a long list.
const LIST_AGE_MAX: SignedDuration = SignedDuration::from_millis(500);

/// The state of all channels that members are in, or were.
pub(super) struct ChannelStates {
    clock: Arc<dyn Clock>,
    started_at: Timestamp,
    of: Mutex<HashMap<Slug, Arc<Mutex<ChannelState>>>>,
}

/// The state of one channel.
struct ChannelState {
    presence: Presence,
    /// Whether the list of members was sent after the start-up phase, in which joins are not announced.
    is_settled: bool,
    feed: Weak<Feed>,
    people: Option<Arc<People>>,
    /// Whether members have joined or left since `people` was made.
    has_changed: bool,
    /// Joins and leaves to announce together at the following task's next tick.
    joined: Vec<Profile>,
    left: Vec<Profile>,
}

/// The members in a channel, serialised once for concurrent requests.
pub(crate) struct People {
    /// Sorted by nickname, then username.
    pub(crate) list: Vec<Profile>,
    frame: Bytes,
    json: Range<usize>,
    made_at: Timestamp,
}

impl People {
    fn new(list: Vec<Profile>, made_at: Timestamp) -> Self {
        let frame = people_frame(PEOPLE, list.clone());
        let json = named_event(PEOPLE, "").len() - "\n\n".len()..frame.len() - "\n\n".len();
        Self { list, frame, json, made_at }
    }

    /// Returns the `people` frame of a stream.
    pub(super) fn frame(&self) -> Bytes {
        self.frame.clone()
    }

    /// Returns the JSON body of a response.
    pub(crate) fn json(&self) -> Bytes {
        self.frame.slice(self.json.clone())
    }
}

/// The event name of the list on streams.
const PEOPLE: &str = "people";

/// Serialises a frame with a list of members.
fn people_frame(name: &str, people: Vec<Profile>) -> Bytes {
    named_event(name, &serde_json::to_string(&PeopleJson::from(people)).unwrap_or_default())
}

/// Serialises a frame with one member.
fn person_frame(name: &str, profile: Profile) -> Bytes {
    let json = serde_json::to_string(&PersonJson::from(profile)).unwrap_or_default();
    named_event(name, &json)
}

impl ChannelStates {
    /// Starts without members, in a server that has just started.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let started_at = clock.now();
        Self { clock, started_at, of: Mutex::default() }
    }

    /// Returns the state of an existing channel; creates it at first use.
    fn state(&self, channel: &Slug) -> Arc<Mutex<ChannelState>> {
        let mut rooms = self.of.lock();
        if let Some(room) = rooms.get(channel) {
            return Arc::clone(room);
        }
        let presence = Presence::since(self.started_at);
        let room = Arc::new(Mutex::new(ChannelState {
            is_settled: presence.is_settled(self.clock.now()),
            presence,
            feed: Weak::new(),
            people: None,
            has_changed: false,
            joined: Vec::new(),
            left: Vec::new(),
        }));
        rooms.insert(channel.clone(), Arc::clone(&room));
        room
    }

    /// Returns the members in a channel.
    pub(super) fn people(&self, channel: &Slug) -> Arc<People> {
        let room = self.state(channel);
        room.lock().people_at(self.clock.now())
    }

    /// Records that a member is active in a channel, or enters it, by `how`.
    pub(super) fn record_presence(
        &self,
        channel: &Slug,
        profile: &Profile,
        how: impl FnOnce(&mut Presence, &Profile, Timestamp) -> bool,
    ) {
        let (room, now) = (self.state(channel), self.clock.now());
        let mut room = room.lock();
        let before = room.presence.len();
        let is_new = how(&mut room.presence, profile, now);
        room.record_join(profile, is_new);
        room.has_changed |= room.presence.len() != before;
    }

    /// Records the end of a member's stream; with `has_signed_out` the member may not come back.
    pub(super) fn leave(&self, channel: &Slug, person: PersonId, has_signed_out: bool) {
        let (room, now) = (self.state(channel), self.clock.now());
        let mut room = room.lock();
        if has_signed_out {
            let left = room.presence.sign_out(person, now);
            room.record_leaves(left);
        } else {
            room.presence.leave(person, now);
        }
    }

    /// Returns a channel's feed and a subscription to it. Without a running feed, creates one, whose task `begin`
    /// spawns.
    pub(super) fn feed(
        &self,
        channel: &Slug,
        begin: impl FnOnce(broadcast::Sender<Frame>) -> AbortOnDropHandle<()>,
    ) -> (Arc<Feed>, broadcast::Receiver<Frame>) {
        let room = self.state(channel);
        let mut room = room.lock();
        let there = room.feed.upgrade().filter(|feed| feed.is_running());
        let feed = there.unwrap_or_else(|| {
            let frames = broadcast::Sender::new(BROADCAST_CAPACITY);
            let task = begin(frames.clone());
            let feed = Arc::new(Feed { frames, task });
            room.feed = Arc::downgrade(&feed);
            feed
        });
        let frames = feed.frames.subscribe();
        (feed, frames)
    }

    /// Returns the channel's current feed, which may have ended.
    #[cfg(test)]
    pub(super) fn feed_of(&self, channel: &Slug) -> Weak<Feed> {
        self.state(channel).lock().feed.clone()
    }

    /// Announces the joins and leaves since the last call.
    pub(super) fn announce(&self, channel: &Slug) {
        let (room, now) = (self.state(channel), self.clock.now());
        let mut room = room.lock();
        let gone = room.presence.sweep(now);
        room.record_leaves(gone);
        for (name, people) in
            [("join", mem::take(&mut room.joined)), ("leave", mem::take(&mut room.left))]
        {
            if !people.is_empty() {
                // Later streams do not get this frame: their list must include the change.
                room.people = None;
                room.broadcast(|| people_frame(name, people));
            }
        }
        if !room.is_settled && room.presence.is_settled(now) {
            room.is_settled = true;
            room.people = None;
            let people = room.people_at(now);
            room.broadcast(|| people.frame());
        }
    }

    /// Updates a member's profile and announces it.
    pub(super) fn rename(&self, channel: &Slug, profile: Profile) {
        let room = self.state(channel);
        let mut room = room.lock();
        room.presence.rename(&profile);
        room.people = None;
        room.broadcast(|| person_frame("person", profile));
    }

    /// Removes a member whose account was deleted and announces it.
    pub(super) fn remove_account(&self, channel: &Slug, profile: Profile) {
        let room = self.state(channel);
        let mut room = room.lock();
        let left = room.presence.forget(profile.person);
        room.record_leaves(left);
        room.people = None;
        // Pages find the account's messages by its username.
        let anonymized = Profile { nickname: String::new(), picture: None, ..profile };
        room.broadcast(|| person_frame("gone", anonymized));
    }
}

impl ChannelState {
    /// Returns the members. A short list is current, a long one at most [`LIST_AGE_MAX`] old: changes since then are not
    /// announced yet.
    fn people_at(&mut self, now: Timestamp) -> Arc<People> {
        let is_fresh = |people: &&Arc<People>| {
            now.duration_since(people.made_at) < LIST_AGE_MAX
                && (!self.has_changed || people.list.len() >= LONG_LIST_LEN)
        };
        if let Some(people) = self.people.as_ref().filter(is_fresh) {
            return Arc::clone(people);
        }
        let people = Arc::new(People::new(self.presence.members(now), now));
        self.has_changed = false;
        self.people = Some(Arc::clone(&people));
        people
    }

    /// Records a member who is present, and `is_new` or has left without an announcement. The last change is announced:
    /// a stream that began between the two has a list without the member.
    fn record_join(&mut self, profile: &Profile, is_new: bool) {
        let had_left = self.left.extract_if(.., |left| left.person == profile.person).count() > 0;
        if is_new || had_left {
            self.joined.push(profile.clone());
        }
    }

    /// Records members who left. The last change is announced, as in [`Self::record_join`].
    fn record_leaves(&mut self, gone: impl IntoIterator<Item = Profile>) {
        for gone in gone {
            self.has_changed = true;
            self.joined.retain(|joined| joined.person != gone.person);
            self.left.push(gone);
        }
    }

    fn broadcast(&self, word: impl FnOnce() -> Bytes) {
        if let Some(feed) = self.feed.upgrade() {
            // Fails only without a receiver.
            let _ = feed.frames.send(Frame::Presence(word()));
        }
    }
}

#[cfg(test)]
mod tests {
    use lodge_domain::clock::ManualClock;

    use super::*;
    use crate::board::samples::member;

    fn person(number: usize) -> Profile {
        let id = i64::try_from(number).unwrap();
        member(id, &format!("p{number:04}"), &format!("P{number:04}"))
    }

    fn rooms() -> (Arc<ManualClock>, ChannelStates, Slug) {
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let rooms = ChannelStates::new(Arc::clone(&clock) as _);
        (clock, rooms, Slug::lobby())
    }

    #[test]
    fn a_long_list_of_people_is_made_once_for_all_who_join_within_a_tick() {
        let (clock, rooms, lobby) = rooms();
        let enter = |number| {
            rooms.record_presence(&lobby, &person(number), Presence::enter);
            rooms.people(&lobby)
        };
        (0..1_000)
            .for_each(|number| rooms.record_presence(&lobby, &person(number), Presence::enter));
        let first = rooms.people(&lobby);
        for number in 1_000..1_100 {
            assert!(Arc::ptr_eq(&first, &enter(number)), "the list was rebuilt for {number}");
        }
        clock.advance_seconds(1);
        assert_eq!(rooms.people(&lobby).list.len(), 1_100);
    }

    #[test]
    fn a_short_list_of_people_has_who_came_a_moment_ago() {
        let (_, rooms, lobby) = rooms();
        for number in 0..10 {
            rooms.record_presence(&lobby, &person(number), Presence::record_activity);
            assert_eq!(rooms.people(&lobby).list.last(), Some(&person(number)));
        }
        assert!(Arc::ptr_eq(&rooms.people(&lobby), &rooms.people(&lobby)));
    }

    #[test]
    fn a_change_announced_before_a_stream_begins_is_on_its_list() {
        let (clock, rooms, lobby) = rooms();
        clock.advance_seconds(3_600);
        (0..LONG_LIST_LEN)
            .for_each(|number| rooms.record_presence(&lobby, &person(number), Presence::enter));
        rooms.announce(&lobby);
        assert_eq!(rooms.people(&lobby).list.len(), LONG_LIST_LEN);
        rooms.record_presence(&lobby, &person(LONG_LIST_LEN), Presence::enter);
        rooms.announce(&lobby);
        assert_eq!(rooms.people(&lobby).list.last(), Some(&person(LONG_LIST_LEN)));
        rooms.leave(&lobby, person(0).person, true);
        rooms.announce(&lobby);
        assert_eq!(rooms.people(&lobby).list.first(), Some(&person(1)));
    }

    #[tokio::test]
    async fn the_last_of_several_changes_of_a_member_is_announced() {
        for seconds_since_start in [0, 3_600] {
            let (clock, rooms, lobby) = rooms();
            clock.advance_seconds(seconds_since_start);
            let task = |_| AbortOnDropHandle::new(tokio::spawn(std::future::pending()));
            let (_feed, mut frames) = rooms.feed(&lobby, task);
            let mut announced = || {
                rooms.announce(&lobby);
                let frames = std::iter::from_fn(|| frames.try_recv().ok());
                let names = frames.map(|frame| match frame {
                    Frame::Presence(word) => String::from_utf8_lossy(&word[7..12]).into_owned(),
                    _ => panic!("no other frames"),
                });
                names.collect::<Vec<_>>()
            };
            rooms.record_presence(&lobby, &person(1), Presence::enter);
            announced();
            rooms.leave(&lobby, person(1).person, true);
            rooms.record_presence(&lobby, &person(1), Presence::enter);
            assert_eq!(announced(), ["join\n"]);
            rooms.leave(&lobby, person(1).person, true);
            assert_eq!(announced(), ["leave"]);
            rooms.record_presence(&lobby, &person(1), Presence::enter);
            rooms.leave(&lobby, person(1).person, true);
            assert_eq!(announced(), ["leave"]);
        }
    }

    #[test]
    fn requests_get_the_same_list_as_streams() {
        let (_, rooms, lobby) = rooms();
        rooms.record_presence(&lobby, &person(7), Presence::record_activity);
        let people = rooms.people(&lobby);
        let json = r#"{"people":[{"username":"p0007","nickname":"P0007"}]}"#;
        assert_eq!(people.json(), json);
        assert_eq!(people.frame(), format!("event: people\ndata: {json}\n\n"));
    }
}
