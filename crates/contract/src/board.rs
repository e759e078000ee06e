//! The board: events, messages, channels and reports.

use std::sync::Arc;

use jiff::Timestamp;
use lodge_domain::{
    Error,
    accounts::{AccountId, PictureId, Role},
    board::{
        Action, Actor, Applied, BoardEvent, BoardEventContent, Body, Channel, ChannelChange,
        ClientId, Cursor, EDITS_MAX, EventId, EventRange, EventsPage, Message, MessageRange,
        MessageSearch, MessagesQuery, NewMessage, PersonId, Posted, Profile, Reaction, Slug, Topic,
        Visibility, Word,
    },
};
use uuid::Uuid;

use crate::{BoardFixture, samples::at};

/// A member whom no other test uses.
pub fn new_actor(role: Role) -> Actor {
    // Account numbers are positive, and fit a store's integers.
    let number = (Uuid::new_v4().as_u128() >> 66) as i64;
    let username = format!("u{}", number % 1_000_000_000_000);
    let nickname = format!("Nick of {username}");
    let person = PersonId::Account(AccountId(number));
    Actor { profile: Profile { person, username, nickname, picture: None, role }, role }
}

/// A channel that no other test uses.
pub async fn channel(fixture: &BoardFixture) -> Slug {
    let slug = Slug::parse(&Uuid::new_v4().simple().to_string()).unwrap();
    let channel = Channel {
        slug: slug.clone(),
        topic: Topic::default(),
        slow_mode_s: 0,
        is_archived: false,
        created_at: at(0),
    };
    fixture.channels.create(channel).await.unwrap();
    slug
}

/// A message with a fresh client id.
pub fn message(channel: &Slug, text: &str) -> NewMessage {
    NewMessage {
        channel: channel.clone(),
        client_id: ClientId::parse(&Uuid::new_v4().to_string()).unwrap(),
        body: body(text),
        reply_to: None,
        picture: None,
    }
}

fn with_picture(new: NewMessage) -> NewMessage {
    NewMessage { picture: Some(PictureId::stored([7; 32])), ..new }
}

pub(crate) fn body(text: &str) -> Body {
    Body::parse(text).unwrap()
}

pub(crate) async fn post(
    fixture: &BoardFixture,
    new: &NewMessage,
    by: &Actor,
    now: Timestamp,
) -> BoardEvent {
    match fixture.log.post(new.clone(), by.clone(), now).await.unwrap() {
        Posted::New(event) => event,
        Posted::Repeated(event) => panic!("it was already stored: {event:?}"),
    }
}

pub(crate) async fn apply(
    fixture: &BoardFixture,
    channel: &Slug,
    id: EventId,
    action: Action,
    by: &Actor,
) -> lodge_domain::Result<Option<Applied>> {
    fixture.log.apply(channel.clone(), id, action, by.clone(), at(100)).await
}

/// Sets the slow mode of a channel, in seconds.
pub(crate) async fn slow_down(fixture: &BoardFixture, channel: &Slug, seconds: u32) {
    let change = ChannelChange { slow_mode_s: Some(seconds), ..ChannelChange::default() };
    fixture.channels.change(channel.clone(), change).await.unwrap().unwrap();
}

pub(crate) async fn all(fixture: &BoardFixture, channel: &Slug) -> EventsPage {
    let reach = EventRange::After(Cursor::default());
    fixture.log.events(channel.clone(), reach, 500).await.unwrap()
}

async fn standing(fixture: &BoardFixture, channel: &Slug, reader: &Actor) -> Vec<Message> {
    let query = MessagesQuery {
        channel: channel.clone(),
        range: MessageRange::Newest,
        limit: 500,
        reader: reader.id(),
    };
    fixture.log.messages(query).await.unwrap().messages
}

/// Pages before, after and around a message have its neighbours, and say whether there are more.
pub async fn messages_are_read_around_a_message(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let mut ids = Vec::new();
    for number in 0..10 {
        ids.push(post(fixture, &message(&channel, "x"), &by, at(number)).await.id);
    }
    let read = async |range, limit| {
        let query = MessagesQuery { channel: channel.clone(), range, limit, reader: by.id() };
        let page = fixture.log.messages(query).await.unwrap();
        let numbers = page.messages.iter().map(|message| message.id.seq).collect::<Vec<_>>();
        (numbers, page.more, page.has_newer)
    };
    assert_eq!(read(MessageRange::Newest, 3).await, (vec![8, 9, 10], true, false));
    assert_eq!(read(MessageRange::Before(ids[2]), 3).await, (vec![1, 2], false, true));
    assert_eq!(read(MessageRange::After(ids[2]), 3).await, (vec![4, 5, 6], true, true));
    assert_eq!(read(MessageRange::After(ids[7]), 3).await, (vec![9, 10], true, false));
    assert_eq!(read(MessageRange::Around(ids[4]), 4).await, (vec![3, 4, 5, 6], true, true));
    assert_eq!(read(MessageRange::Around(ids[0]), 4).await, (vec![1, 2], false, true));
    assert_eq!(read(MessageRange::Around(ids[9]), 4).await, (vec![8, 9, 10], true, false));
    let elsewhere = EventId { seq: 99, ..ids[0] };
    let query = MessagesQuery {
        channel,
        range: MessageRange::Around(elsewhere),
        limit: 4,
        reader: by.id(),
    };
    let missing = fixture.log.messages(query).await.unwrap_err();
    assert!(matches!(missing, Error::NotFound(_)), "{missing}");
}

/// The earlier texts of a message, oldest first.
async fn history(fixture: &BoardFixture, channel: &Slug, id: EventId) -> Vec<Body> {
    let history = fixture.log.history(channel.clone(), id).await.unwrap();
    history.into_iter().map(|version| version.body).collect()
}

/// Numbers start at 1 in each channel, also with concurrent writers, and stamps increase.
pub async fn events_are_numbered_without_a_gap_in_each_channel(fixture: &BoardFixture) {
    let channels = [channel(fixture).await, channel(fixture).await];
    let mut posts = tokio::task::JoinSet::new();
    for number in 0..40 {
        let (log, by) = (Arc::clone(&fixture.log), new_actor(Role::Member));
        let new = message(&channels[number % 2], "x");
        posts.spawn(async move { log.post(new, by, at(5)).await.unwrap() });
    }
    posts.join_all().await;
    for channel in &channels {
        let page = all(fixture, channel).await;
        let seqs: Vec<_> = page.events.iter().map(|event| event.id.seq).collect();
        assert_eq!(seqs, (1..=20).collect::<Vec<_>>());
        assert!(page.events.is_sorted_by_key(BoardEvent::sort_key));
        assert!(page.events.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(!page.more && page.cursor.has(page.events[19].id));
    }
}

/// A client id is unique to its author for ever, also in another channel and after an edit.
pub async fn a_message_is_stored_once(fixture: &BoardFixture) {
    let (channel, other) = (channel(fixture).await, channel(fixture).await);
    let (by, stranger) = (new_actor(Role::Member), new_actor(Role::Member));
    let new = message(&channel, "first");
    let event = post(fixture, &new, &by, at(1)).await;
    let again = fixture.log.post(new.clone(), by.clone(), at(9)).await.unwrap();
    assert_eq!(again, Posted::Repeated(event.clone()));
    for changed in [
        NewMessage { body: body("second"), ..new.clone() },
        NewMessage { channel: other, ..new.clone() },
        NewMessage { reply_to: Some(event.id), ..new.clone() },
    ] {
        let refused = fixture.log.post(changed, by.clone(), at(9)).await;
        assert!(matches!(refused, Err(Error::KeyReused)), "{refused:?}");
    }
    apply(fixture, &channel, event.id, Action::Edit(body("edited")), &by).await.unwrap();
    let again = fixture.log.post(new.clone(), by.clone(), at(9)).await.unwrap();
    assert_eq!(again, Posted::Repeated(event.clone()));
    apply(fixture, &channel, event.id, Action::Delete, &by).await.unwrap();
    let Posted::Repeated(gone) = fixture.log.post(new.clone(), by, at(9)).await.unwrap() else {
        panic!("a deleted message was stored again")
    };
    assert_eq!((gone.id, &gone.content), (event.id, &unreadable(Visibility::Deleted)));
    post(fixture, &new, &stranger, at(9)).await;
}

fn unreadable(visibility: Visibility) -> BoardEventContent {
    BoardEventContent::Message { body: None, reply_to: None, picture: None, visibility }
}

/// Concurrent posts of one message store it once.
pub async fn concurrent_repetitions_are_one_message(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let new = message(&channel, "once");
    let mut posts = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (log, new, by) = (Arc::clone(&fixture.log), new.clone(), by.clone());
        posts.spawn(async move { log.post(new, by, at(5)).await.unwrap() });
    }
    let posted = posts.join_all().await;
    let new = posted.iter().filter(|posted| matches!(posted, Posted::New(_))).count();
    assert_eq!(new, 1);
    assert!(posted.iter().all(|each| each.event() == posted[0].event()));
    assert_eq!(all(fixture, &channel).await.events.len(), 1);
}

/// For any page length, in both directions.
pub async fn a_cursor_passes_every_event_once(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    for number in 0..23 {
        post(fixture, &message(&channel, &number.to_string()), &by, at(number)).await;
    }
    let whole = all(fixture, &channel).await;
    let (mut cursor, mut forwards) = (Cursor::default(), Vec::new());
    loop {
        let page = fixture.log.events(channel.clone(), EventRange::After(cursor), 5).await.unwrap();
        forwards.extend(page.events);
        cursor = page.cursor;
        if !page.more {
            break;
        }
    }
    assert_eq!((&forwards, &cursor), (&whole.events, &whole.cursor));
    let (mut reach, mut backwards) = (EventRange::Tail, Vec::new());
    loop {
        let page = fixture.log.events(channel.clone(), reach, 5).await.unwrap();
        backwards.splice(0..0, page.events);
        reach = EventRange::Before(page.start);
        if !page.more {
            break;
        }
    }
    assert_eq!(backwards, whole.events);
    let none = fixture.log.events(channel.clone(), EventRange::After(cursor), 5).await.unwrap();
    assert_eq!((none.events.len(), none.more), (0, false));
    let nowhere = Slug::parse("there-is-none").unwrap();
    let refused = fixture.log.events(nowhere, EventRange::Tail, 5).await;
    assert!(matches!(refused, Err(Error::NotFound(_))));
}

/// Only the author may edit; the earlier text is stored, and search does not find it.
pub async fn an_edit_is_an_event_and_keeps_the_earlier_text(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let event = post(fixture, &message(&channel, "one zebra"), &by, at(1)).await;
    let stranger = new_actor(Role::Admin);
    let refused = apply(fixture, &channel, event.id, Action::Edit(body("mine")), &stranger).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    for (text, happens) in [("two yaks", true), ("two yaks", false), ("three", true)] {
        let edited =
            apply(fixture, &channel, event.id, Action::Edit(body(text)), &by).await.unwrap();
        assert_eq!(edited.is_some(), happens, "{text}");
        if let Some(Applied { event: edited, .. }) = edited {
            assert_eq!(
                edited.content,
                BoardEventContent::Edit { target: event.id, body: Some(body(text)) }
            );
            assert!(edited.at > event.at);
        }
    }
    let told: Vec<_> = all(fixture, &channel).await.events.into_iter().map(|e| e.content).collect();
    let edit = |text| BoardEventContent::Edit { target: event.id, body: Some(body(text)) };
    assert_eq!(told, [event.content.clone(), edit("two yaks"), edit("three")]);
    let stands = standing(fixture, &channel, &by).await;
    assert_eq!(stands[0].body, Some(body("three")));
    assert!(stands[0].edited_at.is_some());
    let history = history(fixture, &channel, event.id).await;
    assert_eq!(history, [body("one zebra"), body("two yaks")]);
    assert_eq!(found(fixture, &channel, "zebra").await, []);
    assert_eq!(found(fixture, &channel, "three").await, [event.id]);
}

/// The number of edits is bounded, so that the history fits one answer; an edit to the same text does not count.
pub async fn the_edits_of_a_message_are_limited(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let event = post(fixture, &message(&channel, "0"), &by, at(1)).await;
    let edit = |text: String| Action::Edit(body(&text));
    for number in 1..=EDITS_MAX {
        apply(fixture, &channel, event.id, edit(number.to_string()), &by).await.unwrap().unwrap();
    }
    let refused = apply(fixture, &channel, event.id, edit("more".to_owned()), &by).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    let same = edit(EDITS_MAX.to_string());
    assert_eq!(apply(fixture, &channel, event.id, same, &by).await.unwrap(), None);
    let history = history(fixture, &channel, event.id).await;
    assert_eq!(history, (0..EDITS_MAX).map(|number| body(&number.to_string())).collect::<Vec<_>>());
    apply(fixture, &channel, event.id, Action::Delete, &by).await.unwrap().unwrap();
}

async fn found(fixture: &BoardFixture, channel: &Slug, word: &str) -> Vec<EventId> {
    let search = MessageSearch {
        channel: Some(channel.clone()),
        words: vec![word_of(word)],
        limit: 50,
        reader: new_actor(Role::Member).id(),
    };
    fixture.log.search(search).await.unwrap().into_iter().map(|message| message.id).collect()
}

/// A search term; with a `*` at its end it matches the beginnings of words.
fn word_of(text: &str) -> Word {
    Word { text: text.trim_end_matches('*').to_owned(), is_beginning: text.ends_with('*') }
}

/// Asserts that the text appears nowhere: not in events, messages, the history, a reply's quote or a search.
async fn is_unreadable(
    fixture: &BoardFixture,
    channel: &Slug,
    id: EventId,
    visibility: Visibility,
) {
    let reader = new_actor(Role::Member);
    let page = all(fixture, channel).await;
    for event in page.events.iter().filter(|e| e.id == id || e.content.target() == Some(id)) {
        match &event.content {
            BoardEventContent::Message { body, visibility: now, picture, .. } => {
                assert_eq!((body, *now, picture), (&None, visibility, &None));
            }
            BoardEventContent::Edit { body, .. } => assert_eq!(*body, None),
            BoardEventContent::Delete { .. }
            | BoardEventContent::Reaction { .. }
            | BoardEventContent::Hide { .. } => {}
        }
    }
    for message in standing(fixture, channel, &reader).await {
        if message.id == id {
            assert_eq!((&message.body, message.visibility), (&None, visibility));
            assert_eq!(message.picture, None);
            assert_eq!(message.reactions, []);
        }
        if let Some(quote) = message.reply_to.filter(|quote| quote.id == id) {
            assert_eq!(quote.body, None);
        }
    }
    let one = fixture.log.message(channel.clone(), id, reader).await.unwrap().unwrap();
    assert_eq!((one.body, one.picture), (None, None));
    assert_eq!(history(fixture, channel, id).await, []);
    assert_eq!(found(fixture, channel, "secret").await, []);
    assert_eq!(found(fixture, channel, "zebra").await, []);
}

/// Only staff can read it, until it is shown again.
pub async fn a_hidden_message_is_read_only_by_staff(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let staff = new_actor(Role::Moderator);
    let event = post(fixture, &with_picture(message(&channel, "zebra")), &by, at(1)).await;
    apply(fixture, &channel, event.id, Action::Edit(body("secret")), &by).await.unwrap();
    let answer = NewMessage { reply_to: Some(event.id), ..message(&channel, "why?") };
    post(fixture, &answer, &new_actor(Role::Member), at(3)).await;
    let refused = apply(fixture, &channel, event.id, Action::Hide(true), &by).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))));
    apply(fixture, &channel, event.id, Action::Hide(true), &staff).await.unwrap().unwrap();
    assert_eq!(apply(fixture, &channel, event.id, Action::Hide(true), &staff).await.unwrap(), None);
    is_unreadable(fixture, &channel, event.id, Visibility::Hidden).await;
    let seen = fixture.log.message(channel.clone(), event.id, staff.clone()).await.unwrap();
    assert_eq!(seen.unwrap().body, Some(body("secret")));
    let sign = Action::React { reaction: Reaction::parse("👍").unwrap(), is_removed: false };
    for action in [Action::Edit(body("secret 2")), sign] {
        let refused = apply(fixture, &channel, event.id, action, &by).await;
        assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    }
    apply(fixture, &channel, event.id, Action::Hide(false), &staff).await.unwrap().unwrap();
    assert_eq!(standing(fixture, &channel, &by).await[0].body, Some(body("secret")));
    assert_eq!(found(fixture, &channel, "secret").await, [event.id]);
}

/// Not even staff can read it: the text and the history are erased.
pub async fn a_deleted_message_is_gone_for_all_readers(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let staff = new_actor(Role::Admin);
    let event = post(fixture, &with_picture(message(&channel, "zebra")), &by, at(1)).await;
    apply(fixture, &channel, event.id, Action::Edit(body("secret")), &by).await.unwrap();
    let refused = apply(fixture, &channel, event.id, Action::Delete, &staff).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))));
    apply(fixture, &channel, event.id, Action::Hide(true), &staff).await.unwrap();
    apply(fixture, &channel, event.id, Action::Delete, &by).await.unwrap().unwrap();
    assert_eq!(apply(fixture, &channel, event.id, Action::Delete, &by).await.unwrap(), None);
    is_unreadable(fixture, &channel, event.id, Visibility::Deleted).await;
    let seen = fixture.log.message(channel.clone(), event.id, staff.clone()).await.unwrap();
    assert_eq!(seen.unwrap().body, None);
    for action in [Action::Hide(false), Action::Hide(true)] {
        let refused = apply(fixture, &channel, event.id, action, &staff).await;
        assert!(matches!(refused, Err(Error::Gone(_))), "{refused:?}");
    }
}

/// Adding a reaction twice counts once; a removed reaction is gone.
pub async fn a_member_has_one_reaction_of_a_kind_on_a_message(fixture: &BoardFixture) {
    let channel = channel(fixture).await;
    let people = [new_actor(Role::Member), new_actor(Role::Member)];
    let event = post(fixture, &message(&channel, "x"), &people[0], at(1)).await;
    let reaction = Reaction::parse("🎉").unwrap();
    let action = |is_removed| Action::React { reaction, is_removed };
    for person in &people {
        for happens in [true, false] {
            let put = apply(fixture, &channel, event.id, action(false), person).await.unwrap();
            assert_eq!(put.is_some(), happens);
        }
    }
    let signs = |messages: Vec<Message>| {
        let signs = messages[0].reactions.iter();
        signs.map(|sign| (sign.reaction, sign.count, sign.is_mine)).collect::<Vec<_>>()
    };
    let seen = signs(standing(fixture, &channel, &people[0]).await);
    assert_eq!(seen, [(reaction, 2, true)]);
    for happens in [true, false] {
        let taken = apply(fixture, &channel, event.id, action(true), &people[0]).await.unwrap();
        assert_eq!(taken.is_some(), happens);
    }
    let seen = signs(standing(fixture, &channel, &people[0]).await);
    assert_eq!(seen, [(reaction, 1, false)]);
    assert_eq!(all(fixture, &channel).await.events.len(), 4);
}

/// A reply to a message of another channel is refused.
pub async fn a_reply_refers_to_a_message_of_its_channel(fixture: &BoardFixture) {
    let (here, there) = (channel(fixture).await, channel(fixture).await);
    let by = new_actor(Role::Member);
    let event = post(fixture, &message(&here, "question"), &by, at(1)).await;
    let answer = NewMessage { reply_to: Some(event.id), ..message(&here, "answer") };
    post(fixture, &answer, &by, at(2)).await;
    let stands = standing(fixture, &here, &by).await;
    let quote = stands[1].reply_to.clone().unwrap();
    assert_eq!(
        (quote.id, quote.body, quote.username, quote.nickname),
        (
            event.id,
            Some(body("question")),
            by.profile.username.clone(),
            by.profile.nickname.clone()
        )
    );
    post(fixture, &message(&there, "other"), &by, at(2)).await;
    let elsewhere =
        NewMessage { reply_to: Some(EventId { seq: 2, ..event.id }), ..message(&there, "x") };
    let refused = fixture.log.post(elsewhere, by, at(3)).await;
    assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
}

/// All terms must match; the newest match is first.
pub async fn a_search_finds_messages_with_all_words(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let mut ids = Vec::new();
    for text in ["Lift seven is CLOSED", "lift eight is open", "the lifts: closed?"] {
        ids.push(post(fixture, &message(&channel, text), &by, at(1)).await.id);
    }
    let search = |words: &[&str]| MessageSearch {
        channel: Some(channel.clone()),
        words: words.iter().map(|word| word_of(word)).collect(),
        limit: 2,
        reader: by.id(),
    };
    for (words, wanted) in [
        (&["lift", "closed"][..], &ids[..1]),
        (&["closed", "lift*"][..], &[ids[2], ids[0]][..]),
        (&["lif*"][..], &[ids[2], ids[1]][..]),
        (&["lif"][..], &[][..]),
        (&["\" OR \"lift"][..], &[][..]),
        (&["goat"][..], &[][..]),
    ] {
        let found = fixture.log.search(search(words)).await.unwrap();
        let found: Vec<_> = found.iter().map(|message| message.id).collect();
        assert_eq!(found, wanted, "{words:?}");
    }
}

/// Creating an existing channel returns it unchanged.
pub async fn a_channel_name_is_unique(fixture: &BoardFixture) {
    let slug = channel(fixture).await;
    let topic = Topic::parse("another").unwrap();
    let again =
        Channel { slug: slug.clone(), topic, slow_mode_s: 5, is_archived: true, created_at: at(9) };
    let (found, is_new) = fixture.channels.create(again).await.unwrap();
    assert_eq!((found.created_at, found.topic, is_new), (at(0), Topic::default(), false));
    let all = fixture.channels.list().await.unwrap();
    assert_eq!(all[0].slug, Slug::lobby());
    assert_eq!(all.iter().filter(|channel| channel.slug == slug).count(), 1);
}

/// Each member counts once; settling one report settles all reports of the message.
pub async fn a_message_is_reported_until_it_is_settled(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let staff = new_actor(Role::Moderator);
    let event = post(fixture, &message(&channel, "rude"), &by, at(1)).await;
    apply(fixture, &channel, event.id, Action::Hide(true), &staff).await.unwrap();
    let reporters = [new_actor(Role::Member), new_actor(Role::Member)];
    let report = async |reporter: &Actor| {
        let (by, reason) = (reporter.profile.clone(), "because".to_owned());
        let added = fixture.reports.add(channel.clone(), event.id, by, reason, at(5)).await;
        assert!(added.unwrap());
    };
    for reporter in reporters.iter().chain([&reporters[0]]) {
        report(reporter).await;
    }
    let here = async || {
        let open = fixture.reports.open(staff.id(), 500).await.unwrap();
        open.into_iter().filter(|report| report.message.channel == channel).collect::<Vec<_>>()
    };
    let open = here().await;
    assert_eq!(
        open.iter().map(|report| &report.by).collect::<Vec<_>>(),
        [&reporters[0].profile, &reporters[1].profile]
    );
    assert_eq!(open[0].message.body, Some(body("rude")));
    assert_eq!(fixture.reports.count(2).await.unwrap(), 2);
    assert_eq!(fixture.reports.count(1).await.unwrap(), 1, "not counted past the limit");
    assert!(fixture.reports.settle(open[1].id, staff.id(), at(6)).await.unwrap());
    assert_eq!(here().await, []);
    report(&reporters[0]).await;
    assert_eq!(here().await, [], "settled, and unchanged since");
    apply(fixture, &channel, event.id, Action::Hide(false), &staff).await.unwrap();
    apply(fixture, &channel, event.id, Action::Edit(body("ruder")), &by).await.unwrap();
    report(&reporters[0]).await;
    assert_eq!(here().await.len(), 1, "edited since");
    assert!(!fixture.reports.settle(i64::MAX, staff.id(), at(6)).await.unwrap());
    let nothing = EventId { seq: 99, ..event.id };
    let (by, reason) = (staff.profile, String::new());
    assert!(!fixture.reports.add(channel.clone(), nothing, by, reason, at(7)).await.unwrap());
}

/// An author's export has all their messages and no others, also hidden ones.
pub async fn an_export_has_all_messages_of_its_author(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let event = post(fixture, &message(&channel, "one"), &by, at(1)).await;
    post(fixture, &message(&channel, "not mine"), &new_actor(Role::Member), at(1)).await;
    post(fixture, &message(&channel, "two"), &by, at(1)).await;
    apply(fixture, &channel, event.id, Action::Hide(true), &new_actor(Role::Admin)).await.unwrap();
    let (mut last, mut written) = (0, Vec::new());
    loop {
        let page = fixture.log.written_by(by.id(), last, 1).await.unwrap();
        let Some((place, message)) = page.into_iter().next() else { break };
        assert!(place > last);
        last = place;
        written.push(message.body.unwrap());
    }
    assert_eq!(written, [body("one"), body("two")]);
}
