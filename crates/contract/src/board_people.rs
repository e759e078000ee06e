//! Members of the board: bans, slow mode, unread counts and profiles.

use std::slice;

use lodge_domain::{
    Error,
    accounts::{AccountId, Role},
    board::{
        Action, Cursor, EventId, MessageRange, MessagesQuery, PersonId, Profile, ReadPosition, Slug,
    },
    keys::KeyId,
};

use crate::{
    BoardFixture,
    board::{all, apply, body, channel, message, new_actor, post, slow_down},
    samples::at,
};

/// A banned member can neither post nor act on messages, until the ban is lifted.
pub async fn a_banned_member_changes_nothing(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let event = post(fixture, &message(&channel, "before"), &by, at(1)).await;
    fixture.people.ban(by.id(), Some(at(2))).await.unwrap().unwrap();
    let refused = fixture.log.post(message(&channel, "after"), by.clone(), at(3)).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    for action in [Action::Edit(body("x")), Action::Delete] {
        let refused = apply(fixture, &channel, event.id, action, &by).await;
        assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    }
    fixture.people.ban(by.id(), None).await.unwrap().unwrap();
    post(fixture, &message(&channel, "again"), &by, at(3)).await;
}

/// Members wait, staff do not; a repetition does not count as a message.
pub async fn slow_mode_holds_members_back(fixture: &BoardFixture) {
    let channel = channel(fixture).await;
    slow_down(fixture, &channel, 30).await;
    let (by, staff) = (new_actor(Role::Member), new_actor(Role::Moderator));
    let first = message(&channel, "1");
    post(fixture, &first, &by, at(0)).await;
    let refused = fixture.log.post(message(&channel, "2"), by.clone(), at(10)).await;
    let Err(Error::TooMany { retry_after }) = refused else { panic!("{refused:?}") };
    assert_eq!(retry_after.as_secs(), 20);
    fixture.log.post(first, by.clone(), at(10)).await.unwrap();
    post(fixture, &message(&channel, "3"), &by, at(30)).await;
    for second in [30, 31] {
        post(fixture, &message(&channel, "s"), &staff, at(second)).await;
    }
}

/// Another member's clock was ahead, so that later messages get stamps ahead of the clock.
pub async fn slow_mode_ignores_the_clocks_of_other_members(fixture: &BoardFixture) {
    let channel = channel(fixture).await;
    slow_down(fixture, &channel, 30).await;
    post(fixture, &message(&channel, "from the future"), &new_actor(Role::Member), at(5_000)).await;
    let by = new_actor(Role::Member);
    let first = post(fixture, &message(&channel, "1"), &by, at(0)).await;
    assert!(first.at.timestamp() > at(5_000));
    let refused = fixture.log.post(message(&channel, "2"), by.clone(), at(29)).await;
    let Err(Error::TooMany { retry_after }) = refused else { panic!("{refused:?}") };
    assert_eq!(retry_after.as_secs(), 1);
    post(fixture, &message(&channel, "2"), &by, at(30)).await;
}

/// The unread messages of a channel and the unread mentions of the reader.
async fn unread(fixture: &BoardFixture, channel: &Slug, reader: &Profile) -> (u32, u32) {
    let unread = fixture.positions.unread(reader.clone()).await.unwrap();
    let here = unread.into_iter().find(|unread| unread.channel == *channel);
    here.map_or((0, 0), |here| (here.messages, here.mentions))
}

/// Read messages stay read; own messages never count as unread; mentions count separately.
pub async fn unread_messages_are_counted(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let reader = new_actor(Role::Member);
    fixture.people.save_profile(reader.profile.clone()).await.unwrap();
    let unread = async || unread(fixture, &channel, &reader.profile).await;
    let note_read = async |cursor: Cursor| {
        let note = ReadPosition { person: reader.id(), channel: channel.clone(), cursor };
        let nowhere =
            ReadPosition { channel: Slug::parse("there-is-none").unwrap(), ..note.clone() };
        for note in [nowhere, note] {
            fixture.positions.record(note).unwrap();
        }
        fixture.positions.flush().await.unwrap();
    };
    assert_eq!(unread().await, (0, 0));
    let text = format!("hello @{}", reader.profile.username);
    let event = post(fixture, &message(&channel, &text), &by, at(1)).await;
    assert_eq!(unread().await, (1, 1), "a channel that was never read is unread as a whole");
    let had = async || fixture.positions.read_cursor(reader.id(), channel.clone()).await.unwrap();
    assert_eq!(had().await, None);
    let read = all(fixture, &channel).await.cursor;
    note_read(read).await;
    assert!(had().await.unwrap().has(event.id));
    assert_eq!(unread().await, (0, 0));
    for text in ["a", "b", &text] {
        post(fixture, &message(&channel, text), &by, at(2)).await;
    }
    let own = post(fixture, &message(&channel, "own"), &reader, at(2)).await;
    assert_eq!(unread().await, (3, 1));
    let mut old = Cursor::default();
    old.take(event.id);
    note_read(old).await;
    assert_eq!(unread().await, (3, 1));
    let mut future = Cursor::default();
    future.take(EventId { seq: own.id.seq + 1_000, ..own.id });
    note_read(future).await;
    assert_eq!(unread().await, (0, 0));
    post(fixture, &message(&channel, "new"), &by, at(3)).await;
    assert_eq!(unread().await, (1, 0));
    apply(fixture, &channel, event.id, Action::Delete, &by).await.unwrap();
    assert_eq!(unread().await, (1, 0));
}

/// A pending position counts together with the stored one.
pub async fn a_pending_read_position_counts_at_once(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let reader = new_actor(Role::Member);
    let event = post(fixture, &message(&channel, "a"), &by, at(1)).await;
    post(fixture, &message(&channel, "b"), &by, at(2)).await;
    let unread = async || unread(fixture, &channel, &reader.profile).await.0;
    let note = |seq| {
        let cursor = EventId { seq, ..event.id }.to_string().parse().unwrap();
        let note = ReadPosition { person: reader.id(), channel: channel.clone(), cursor };
        fixture.positions.record(note).unwrap();
    };
    assert_eq!(unread().await, 2, "they have never read the channel");
    note(1);
    assert_eq!(unread().await, 1);
    fixture.positions.flush().await.unwrap();
    note(2);
    note(1);
    assert_eq!(unread().await, 0);
    let read = fixture.positions.read_cursor(reader.id(), channel.clone()).await.unwrap();
    assert!(read.unwrap().has(EventId { seq: 2, ..event.id }));
}

/// A bot is mentioned by its name, in any case.
pub async fn mentions_of_a_bot_are_counted(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let person = PersonId::Bot(KeyId(7));
    let name = format!("Bot-{}", &channel.as_str()[..20]);
    let bot = Profile {
        person,
        username: name.clone(),
        nickname: name.clone(),
        picture: None,
        role: Role::Member,
    };
    fixture.people.save_profile(bot.clone()).await.unwrap();
    post(fixture, &message(&channel, &format!("hello @{name}, @{name}x")), &by, at(1)).await;
    assert_eq!(unread(fixture, &channel, &bot).await, (1, 1));
    assert_eq!(mentions(fixture, &channel).await, [name.to_lowercase()]);
}

/// The names that the newest message marks as mentions.
async fn mentions(fixture: &BoardFixture, channel: &Slug) -> Vec<String> {
    let (channel, range) = (channel.clone(), MessageRange::Newest);
    let reader = PersonId::Account(AccountId(1));
    let query = MessagesQuery { channel, range, limit: 1, reader };
    let page = fixture.log.messages(query).await.unwrap();
    page.messages[0].mentions.iter().map(ToString::to_string).collect()
}

/// A name is a mention once the board knows the member, and until the account is deleted.
pub async fn only_names_of_members_are_mentions(fixture: &BoardFixture) {
    let (channel, by, other) =
        (channel(fixture).await, new_actor(Role::Member), new_actor(Role::Member));
    let name = other.profile.username.clone();
    let text = format!("@{} and @{name}", by.profile.username);
    post(fixture, &message(&channel, &text), &by, at(1)).await;
    assert_eq!(mentions(fixture, &channel).await, slice::from_ref(&by.profile.username));
    fixture.people.save_profile(other.profile.clone()).await.unwrap();
    assert_eq!(mentions(fixture, &channel).await.len(), 2);
    let PersonId::Account(account) = other.id() else { panic!("not an account") };
    fixture.people.forget(account).await.unwrap();
    assert_eq!(mentions(fixture, &channel).await, [by.profile.username]);
}

/// Members are found by the beginning of their name, in order, without banned ones.
pub async fn members_are_found_by_the_beginning_of_their_name(fixture: &BoardFixture) {
    let people = [(); 3].map(|()| new_actor(Role::Member).profile);
    let prefix = format!("é{}", people[0].username);
    let named =
        |number: usize| Profile { username: format!("{prefix}{number}"), ..people[number].clone() };
    for number in [2, 0, 1] {
        fixture.people.save_profile(named(number)).await.unwrap();
    }
    let found = async |prefix: &str, limit| {
        fixture.people.with_prefix(prefix.to_owned(), limit).await.unwrap()
    };
    assert_eq!(found(&prefix, 2).await, [named(0), named(1)]);
    assert_eq!(found(&format!("{prefix}2"), 2).await, [named(2)]);
    fixture.people.ban(people[0].person, Some(at(1))).await.unwrap();
    assert_eq!(found(&prefix, 9).await, [named(1), named(2)]);
}

/// Messages show the current profile of their author; after a deletion only the messages are left.
pub async fn messages_show_the_current_profile_of_their_author(fixture: &BoardFixture) {
    let (channel, mut by) = (channel(fixture).await, new_actor(Role::Member));
    post(fixture, &message(&channel, "x"), &by, at(1)).await;
    by.profile.nickname = String::from("Another name");
    assert!(fixture.people.save_profile(by.profile.clone()).await.unwrap());
    assert!(!fixture.people.save_profile(by.profile.clone()).await.unwrap());
    assert_eq!(all(fixture, &channel).await.events[0].by, by.profile);
    let PersonId::Account(account) = by.id() else { panic!("not an account") };
    let before = Some(AccountId(account.0 - 1));
    assert_eq!(fixture.people.accounts(before, 1).await.unwrap(), [account]);
    fixture.people.ban(by.id(), Some(at(2))).await.unwrap();
    fixture.people.forget(account).await.unwrap();
    let banned = fixture.people.banned().await.unwrap();
    assert!(!banned.iter().any(|known| known.profile.person == by.id()), "the ban is gone");
    let former = &all(fixture, &channel).await.events[0];
    assert_eq!((former.by.username.as_str(), former.by.nickname.as_str()), ("", ""));
    assert_eq!(former.by.person, by.id());
    assert!(!fixture.people.accounts(before, 1).await.unwrap().contains(&account));
}
