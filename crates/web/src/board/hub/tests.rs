//! Streams over an in-memory event log.

mod memory;

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use jiff::Timestamp;
use lodge_domain::{
    Clock, Error, OsRandom, SystemClock,
    board::{
        Actor, BOT_PREFIX, BoardStores, Body, ClientId, MemberUpdate, NewMessage, PRESENCE_TTL,
        PersonId,
    },
    clock::ManualClock,
    keys::{KeyId, Keys},
    pictures::PictureKeeper,
};
use tokio::time::timeout;

use self::memory::{Memory, bot};
use super::*;
use crate::board::{
    caller::Credential,
    feed::{BROADCAST_CAPACITY, SharedEvent},
    searches::Searches,
    shared::STREAMS_PER_PERSON_MAX,
};

const DEADLINE: Duration = Duration::from_secs(30);

fn scene() -> (Arc<Memory>, Hub) {
    scene_at(Arc::new(SystemClock))
}

fn scene_at(clock: Arc<dyn Clock>) -> (Arc<Memory>, Hub) {
    let memory = Arc::new(Memory::default());
    let stores = BoardStores {
        log: Arc::clone(&memory) as _,
        channels: Arc::clone(&memory) as _,
        people: Arc::clone(&memory) as _,
        positions: Arc::clone(&memory) as _,
        reports: Arc::clone(&memory) as _,
        pictures: Arc::clone(&memory) as _,
    };
    let keeper = PictureKeeper::new(
        Arc::clone(&memory) as _,
        Arc::clone(&memory) as _,
        Arc::new(OsRandom),
        Arc::clone(&memory) as _,
    );
    let bots = Keys::new(Arc::clone(&memory) as _, Arc::clone(&clock) as _, Arc::new(OsRandom));
    let board =
        Board::new(stores, keeper, bots.of_kind(BOT_PREFIX, "bot"), Arc::clone(&clock) as _);
    let accounts = AccountsClient::new(Arc::clone(&memory) as _);
    (memory, Hub::new(Arc::new(board), accounts, clock, 100, CancellationToken::new()))
}

impl EventStream {
    fn waiting_bytes(&self) -> usize {
        self.waiting.iter().map(Bytes::len).sum()
    }
}

impl Hub {
    async fn write(&self, count: usize) {
        for number in 0..count {
            self.say(number.to_string(), "hello").await;
        }
    }

    async fn say(&self, client_id: String, text: &str) {
        let new = NewMessage {
            channel: Slug::lobby(),
            client_id: ClientId::parse(&client_id).unwrap(),
            body: Body::parse(text).unwrap(),
            reply_to: None,
            picture: None,
        };
        self.shared.board.post(&Actor::of_bot(&bot(KeyId(1))), new).await.unwrap();
    }

    fn listen(&self, id: i64) -> EventStream {
        self.listen_as(id, Audience::Programs)
    }

    fn listen_as(&self, id: i64, audience: Audience) -> EventStream {
        let id = KeyId(id);
        let visitor =
            BoardCaller { actor: Actor::of_bot(&bot(id)), credential: Credential::Bot(id) };
        let own = PersonStreamSlot::acquire(&self.shared, PersonId::Bot(id)).unwrap();
        let (lobby, none) = (Slug::lobby(), Cursor::default());
        EventStream::new(&self.shared, &visitor, lobby, none, own, false, audience)
    }
}

/// Returns the text of the next `count` events with an id.
async fn events(listener: &mut EventStream, count: u64) -> String {
    let mut text = String::new();
    let mut read = 0;
    while read < count {
        let next = timeout(DEADLINE, listener.next()).await.unwrap().unwrap();
        let next = std::str::from_utf8(&next).unwrap();
        if next.starts_with("id: ") {
            read += 1;
        }
        if !next.starts_with("event: ") {
            text.push_str(next);
        }
    }
    text
}

/// Returns the next event named `name`.
async fn word(listener: &mut EventStream, name: &str) -> String {
    loop {
        let next = timeout(DEADLINE, listener.next()).await.unwrap().unwrap();
        let next = String::from_utf8(next.to_vec()).unwrap();
        if next.starts_with(&format!("event: {name}\n")) {
            return next;
        }
    }
}

fn ids(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_lagging_stream_reads_from_the_store_and_misses_nothing() {
    let (_, hub) = scene();
    let (mut quick, mut slow) = (hub.listen(1), hub.listen(2));
    hub.write(1).await;
    events(&mut slow, 1).await;
    events(&mut quick, 1).await;
    let count = BROADCAST_CAPACITY * 2;
    hub.write(count).await;
    let all: Vec<_> = (2..).take(count).map(|seq| format!("7:{seq}")).collect();
    assert_eq!(ids(&events(&mut quick, count as u64).await), all);
    // All events have been broadcast by now, and half of them have left the broadcast's buffer.
    assert_eq!(ids(&events(&mut slow, count as u64).await), all);
    hub.write(1).await;
    let last = events(&mut slow, 1).await;
    assert!(last.starts_with(&format!("id: 7:{}\ndata: ", count + 2)), "{last}");
}

#[tokio::test]
async fn all_streams_of_a_channel_share_one_task() {
    let (_, hub) = scene();
    let feed = || hub.shared.rooms.feed_of(&Slug::lobby());
    let first = hub.listen(1);
    let of_first = feed();
    let second = hub.listen(2);
    assert!(feed().ptr_eq(&of_first), "the second shares the task of the first");
    drop(first);
    assert!(of_first.upgrade().is_some_and(|feed| feed.is_running()));
    drop(second);
    assert!(of_first.upgrade().is_none());
    let mut third = hub.listen(3);
    assert!(!feed().ptr_eq(&of_first));
    hub.write(1).await;
    assert_eq!(ids(&events(&mut third, 1).await), ["7:1"]);
}

#[tokio::test]
async fn a_banned_or_revoked_member_leaves_at_once_for_all_readers() {
    let (memory, hub) = scene();
    let (mut banned, mut revoked, mut other) = (hub.listen(1), hub.listen(13), hub.listen(3));
    hub.shared.apply_news(&Slug::lobby(), MemberUpdate::Banned(PersonId::Bot(KeyId(1))));
    assert!(word(&mut banned, "end").await.contains("banned"));
    assert!(banned.next().await.is_none());
    *memory.has_revoked.lock() = true;
    word(&mut revoked, "end").await;
    drop((banned, revoked));
    let left = word(&mut other, "leave").await;
    assert!(left.contains("bot1\"") && left.contains("bot13"), "one announcement for both: {left}");
    assert_eq!(hub.people(&Slug::lobby()).list.len(), 1);
}

#[tokio::test]
async fn streams_per_account_are_limited_and_an_ended_one_frees_its_slot() {
    let (_, hub) = scene();
    let mut streams: Vec<_> = (0..STREAMS_PER_PERSON_MAX).map(|_| hub.listen(1)).collect();
    let refused =
        PersonStreamSlot::acquire(&hub.shared, PersonId::Bot(KeyId(1))).map(drop).unwrap_err();
    assert!(matches!(refused, Error::TooMany { .. }), "{refused}");
    let _other = hub.listen(2);
    streams.pop();
    drop(hub.listen(1));
    assert_eq!(hub.people(&Slug::lobby()).list.len(), 2);
    drop(streams);
    assert_eq!(hub.shared.people_listening(), 1, "an account without streams has no entry");
}

#[tokio::test]
async fn joins_and_leaves_are_announced_and_a_reload_is_not() {
    let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
    let (_, hub) = scene_at(Arc::clone(&clock) as _);
    let mut listener = hub.listen(1);
    // Members who may have been here before the start are not announced.
    drop(hub.listen(2));
    clock.advance_seconds(PRESENCE_TTL.as_secs());
    assert!(word(&mut listener, "leave").await.contains("bot2"));
    let third = hub.listen(3);
    assert!(word(&mut listener, "join").await.contains("bot3"));
    drop(third);
    let third = hub.listen(3);
    drop(third);
    let (_fourth, _fifth) = (hub.listen(4), hub.listen(5));
    let next = timeout(DEADLINE, listener.next()).await.unwrap().unwrap();
    assert!(next.starts_with(b"event: join"), "{next:?}");
    let next = String::from_utf8_lossy(&next).into_owned();
    assert!(!next.contains("bot3") && next.contains("bot4") && next.contains("bot5"), "{next}");
    clock.advance_seconds(PRESENCE_TTL.as_secs());
    assert!(word(&mut listener, "leave").await.contains("bot3"));
}

#[tokio::test]
async fn a_message_written_before_the_channel_is_followed_is_sent() {
    let (_, hub) = scene();
    let mut listener = hub.listen(1);
    assert!(listener.next().await.unwrap().starts_with(b"event: people"));
    // The stream has caught up, and the task has not started.
    assert!(listener.next().now_or_never().is_none());
    hub.write(1).await;
    assert_eq!(ids(&events(&mut listener, 1).await), ["7:1"]);
}

#[tokio::test]
async fn members_who_return_after_a_start_are_announced_in_one_list() {
    let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
    let (_, hub) = scene_at(Arc::clone(&clock) as _);
    let mut listener = hub.listen(1);
    assert!(!word(&mut listener, "people").await.contains("bot2"));
    let _second = hub.listen(2);
    clock.advance_seconds(PRESENCE_TTL.as_secs());
    assert!(word(&mut listener, "people").await.contains("bot2"));
    let _third = hub.listen(3);
    let next = timeout(DEADLINE, listener.next()).await.unwrap().unwrap();
    assert!(next.starts_with(b"event: join"), "later joins are announced one by one: {next:?}");
}

#[tokio::test]
async fn pages_get_html_that_is_rendered_once_for_all() {
    let (_, hub) = scene();
    let (mut page, mut program) = (hub.listen_as(1, Audience::Pages), hub.listen(2));
    hub.write(2).await;
    let frames = events(&mut page, 2).await;
    assert!(frames.starts_with("id: 7:1\ndata: {") && frames.ends_with("}\n\n"), "{frames}");
    assert_eq!(frames.matches("<p>hello</p>").count(), 2, "{frames}");
    assert!(!frames.contains("\"body\""), "{frames}");
    let told = events(&mut program, 2).await;
    assert!(told.contains("\"body\":\"hello\"") && !told.contains("html"), "{told}");

    let (board, lobby) = (&hub.shared.board, Slug::lobby());
    let page = board.events(lobby.clone(), EventRange::After(Cursor::default()), 1).await.unwrap();
    let told = SharedEvent::new(page.events[0].clone(), page.cursor.clone());
    let mut frames = Vec::new();
    for _ in 0..2 {
        frames.push(told.page_frames(board, &lobby, &page.cursor).await.unwrap().0);
    }
    assert_eq!(frames[0].as_ptr(), frames[1].as_ptr(), "both share the same bytes");
}

#[tokio::test]
async fn only_pages_of_a_mentioned_member_are_notified() {
    let (_, hub) = scene();
    let mut page = hub.listen_as(1, Audience::Pages);
    let mut others = [hub.listen_as(2, Audience::Pages), hub.listen(1)];
    hub.say("one".to_owned(), "hello @bot1").await;
    assert_eq!(word(&mut page, "mention").await, "event: mention\ndata: {}\n\n");
    for listener in &mut others {
        let mut told = String::new();
        while !told.contains("id: 7:1\n") {
            let next = timeout(DEADLINE, listener.next()).await.unwrap().unwrap();
            told.push_str(std::str::from_utf8(&next).unwrap());
        }
        assert!(!told.contains("event: mention"), "{told}");
        assert!(listener.next().now_or_never().is_none());
    }
}

#[tokio::test]
async fn a_replay_waits_in_bounded_memory_and_is_complete() {
    const COUNT: u64 = 2 * 50;
    let (_, hub) = scene();
    for number in 0..COUNT {
        hub.say(number.to_string(), &"*a* ".repeat(500)).await;
    }
    for audience in [Audience::Programs, Audience::Pages] {
        let mut listener = hub.listen_as(1, audience);
        let mut told = Vec::new();
        while told.len() < usize::try_from(COUNT).unwrap() {
            told.extend(ids(&events(&mut listener, 1).await));
            assert!(listener.waiting_bytes() < 32 * 1024, "{} bytes", listener.waiting_bytes());
        }
        assert_eq!(told, (1..=COUNT).map(|seq| format!("7:{seq}")).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_deleted_account_is_gone_for_all_streams() {
    let (_, hub) = scene();
    let mut listener = hub.listen(1);
    let _other = hub.listen(2);
    assert_eq!(hub.people(&Slug::lobby()).list.len(), 2);
    let profile = Profile::of_bot(&bot(KeyId(2)));
    hub.shared.apply_news(&Slug::lobby(), MemberUpdate::Deleted(profile.clone()));
    assert!(word(&mut listener, "gone").await.contains("\"username\":\"bot2\""));
    assert!(!hub.people(&Slug::lobby()).list.contains(&profile));
}

#[tokio::test]
async fn one_account_cannot_take_all_search_slots() {
    let (_, hub) = scene();
    let searches = Searches::new(Arc::clone(&hub.shared.board));
    let (one, other) = (Actor::of_bot(&bot(KeyId(1))), Actor::of_bot(&bot(KeyId(2))));
    let search = |by, text| Box::pin(searches.search(by, None, text, 10));
    let mut slow = [search(&one, "slow"), search(&one, "slow")];
    for search in &mut slow {
        assert!(search.now_or_never().is_none());
    }
    let refused = search(&one, "quick").await.unwrap_err();
    assert!(matches!(refused, Error::TooMany { .. }), "{refused}");
    assert_eq!(search(&other, "quick").await.unwrap(), []);
    drop(slow);
    assert_eq!(search(&one, "quick").await.unwrap(), []);
}
