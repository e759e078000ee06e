//! Renders every page with the largest content that it allows: the HTML is valid, and all names and input are escaped.

use std::collections::BTreeSet;

use lodge_domain::{
    accounts::{AccountId, Role},
    board::{
        Actor, Body, Channel, Cursor, KnownMember, Message, PersonId, Profile, Quote, Reaction,
        ReactionCount, Report, Slug, Stamp, Topic, Unread, Version, Visibility, mentioned,
    },
    keys::KeyId,
    pictures::PictureId,
};

use super::{
    bans::BansPage,
    channel::ChannelPage,
    channels::{ChannelForm, ChannelsPage, Row},
    hidden::HiddenPage,
    message::MessageItem,
    message_page::MessagePage,
    reports::{self, ReportsPage},
    search::SearchPage,
    words::PEOPLE_SHOWN,
};
use crate::{
    board::samples::member,
    pages::{
        check::{HOSTILE_INPUT, rendered_within as rendered},
        errors::FormErrors,
    },
    pictures::PictureMax,
};

/// The size limit of a page full of the longest messages.
const LONGEST_BYTES_MAX: usize = 200_000;

/// The size limit of a page of ordinary messages, with style and scripts before compression.
const ORDINARY_BYTES_MAX: usize = 125_000;

fn picture() -> PictureId {
    "0123456789abcdef".repeat(4).parse().unwrap()
}

fn profile(person: PersonId, name: &str) -> Profile {
    Profile { person, picture: Some(picture()), role: Role::Moderator, ..member(0, name, name) }
}

fn account(number: i64) -> PersonId {
    PersonId::Account(AccountId(number))
}

fn reader(role: Role) -> Actor {
    Actor { profile: profile(account(1), HOSTILE_INPUT), role }
}

/// A message of a board that knows all members whom it mentions.
fn message(by: Profile, body: &str, number: u32) -> Message {
    let body = Body::stored(body.to_owned());
    Message {
        id: format!("4294967295:{number}").parse().unwrap(),
        channel: Slug::lobby(),
        at: Stamp::stored(1_767_225_600_000_001 + i64::from(number)),
        by,
        mentions: mentioned(&body),
        body: Some(body),
        visibility: Visibility::Shown,
        edited_at: None,
        reply_to: None,
        picture: None,
        reactions: Vec::new(),
    }
}

/// A message with all optional parts.
fn full(by: Profile, body: &str, number: u32) -> Message {
    let quote = Quote {
        id: "4294967295:1".parse().unwrap(),
        username: HOSTILE_INPUT.to_owned(),
        nickname: HOSTILE_INPUT.to_owned(),
        body: Some(Body::stored(HOSTILE_INPUT.repeat(40))),
    };
    let reactions = Reaction::all().map(|reaction| ReactionCount {
        reaction,
        count: 1_000,
        is_mine: reaction.emoji() == "👍",
    });
    Message {
        edited_at: Some(Stamp::stored(0)),
        reply_to: Some(quote),
        picture: Some(picture()),
        reactions: reactions.collect(),
        ..message(by, body, number)
    }
}

fn unreadable(visibility: Visibility, number: u32) -> Message {
    Message { body: None, visibility, ..message(profile(account(2), "bob"), "", number) }
}

fn channel() -> Channel {
    Channel {
        slug: Slug::parse(&"a".repeat(32)).unwrap(),
        topic: Topic::parse(HOSTILE_INPUT).unwrap(),
        slow_mode_s: 21_600,
        is_archived: false,
        created_at: jiff::Timestamp::UNIX_EPOCH,
    }
}

fn wrong(field: &'static str) -> FormErrors {
    FormErrors::about(field, HOSTILE_INPUT)
}

/// The page of an empty channel, one of `channels`.
fn with_channel(channels: u32, show: impl FnOnce(&ChannelPage<'_>)) {
    let row = |number| Unread {
        channel: Slug::parse(&format!("{number}-{}", "a".repeat(29))).unwrap(),
        messages: number,
        mentions: number / 2,
    };
    show(&ChannelPage {
        channel: &channel(),
        reader: &reader(Role::Moderator),
        messages: &[],
        older: None,
        newer: None,
        is_newest: true,
        first_new: None,
        cursor: &Cursor::default(),
        people: &[],
        channels: &(0..channels).map(row).collect::<Vec<_>>(),
        reports: 100,
        picture_max: &PictureMax { bytes: 5 << 20, words: "5 MB".to_owned() },
        client_id: "0123456789abcdef0123456789abcdef",
        typed: "",
        answered: None,
        errors: &FormErrors::default(),
    });
}

fn items<'a>(page: &ChannelPage<'a>, messages: &'a [Message]) -> Vec<MessageItem<'a>> {
    messages.iter().map(|message| MessageItem::to(&page.reader.profile, message)).collect()
}

#[test]
fn a_channel() {
    let by = || profile(account(2), HOSTILE_INPUT);
    let bot = profile(PersonId::Bot(KeyId(1)), HOSTILE_INPUT);
    let longest = "\"".repeat(2_000);
    let mut messages: Vec<_> = (1..=25).map(|number| full(by(), &longest, number)).collect();
    messages.push(message(bot.clone(), HOSTILE_INPUT, 26));
    messages.push(unreadable(Visibility::Hidden, 27));
    messages.push(unreadable(Visibility::Deleted, 28));
    let people: Vec<_> = (0..=PEOPLE_SHOWN).map(|_| bot.clone()).collect();
    let (answered, refused) = (full(by(), HOSTILE_INPUT, 1), wrong("body"));
    with_channel(60, |least| {
        let page = |page: &ChannelPage<'_>| rendered(page, 475_000);
        let html = page(&ChannelPage {
            messages: &items(least, &messages),
            people: &people,
            older: Some("1:1".parse().unwrap()),
            first_new: messages.last().map(|message| message.id),
            ..*least
        });
        assert!(html.contains("?before=1:1\" rel=\"prev\">Older</a>"));
        assert!(html.contains("src=\"/assets/board.js?"), "{html}");
        assert_eq!(html.matches("<li class=\"day\">1 January 2026, UTC</li>").count(), 1);
        assert!(
            html.contains("This message is hidden.") && html.contains("was deleted."),
            "{html}"
        );
        assert!(html.contains("New messages</li>\n<li id=\"m4294967295:28\""), "{html}");
        assert!(html.contains("open reports\">99+</span>"), "{html}");
        assert!(html.contains("BOT") && html.contains("and 1 more") && html.contains("Slow mode"));
        let places = ["id=\"said\"", "id=\"write\"", "id=\"people\""];
        let places = places.map(|id| html.find(id).unwrap());
        assert!(places.is_sorted(), "text browsers read it in this order");

        let newer = Some("1:9".parse().unwrap());
        let older = page(&ChannelPage { is_newest: false, newer, ..*least });
        assert!(older.contains("No older messages.") && older.contains(">Newest</a>"), "{older}");
        assert!(older.contains("?after=1:9#messages\" rel=\"next\">Newer</a>"), "{older}");
        assert!(!older.contains("src=\"/assets/board.js?"), "an older page has no live updates");
        let answering = page(&ChannelPage { answered: Some(&answered), ..*least });
        assert!(answering.contains("No messages yet."), "{answering}");
        assert!(answering.contains("name=\"reply_to\" value=\"4294967295:1\""), "{answering}");
        let again = page(&ChannelPage { typed: "kept", errors: &refused, ..*least });
        assert!(again.contains("id=\"body-error\""), "{again}");
        assert!(again.contains(">kept</textarea>"), "{again}");
    });
}

#[test]
fn a_page_of_ordinary_messages_is_light() {
    let said = "A word or two. ".repeat(6);
    let messages: Vec<_> = (1..=50)
        .map(|number| Message {
            picture: (number % 5 == 0).then(picture),
            ..message(profile(account(2), "ada-lovelace"), &said, number)
        })
        .collect();
    let people: Vec<_> = (0..10).map(|number| profile(account(number), "ada-lovelace")).collect();
    with_channel(10, |least| {
        let page = ChannelPage {
            messages: &items(least, &messages),
            people: &people,
            older: Some("1:1".parse().unwrap()),
            first_new: messages.last().map(|message| message.id),
            ..*least
        };
        rendered(&page, ORDINARY_BYTES_MAX);
    });
}

#[test]
fn a_message_marks_mentions_and_reactions_of_the_reader() {
    let ada = profile(account(1), "ada");
    let named = message(profile(account(2), "bob"), "hi @Ada", 1);
    let to = |reader| {
        MessageItem { message: &named, reader, is_closed: false, is_joined: false }.to_string()
    };
    assert!(to(Some(&ada)).contains(" class=\"me\""));
    assert!(!to(None).contains(" class=\"me\""), "the HTML is the same for all readers");
    let unknown = Message { mentions: BTreeSet::new(), ..named.clone() };
    let html = MessageItem::to(&ada, &unknown).to_string();
    assert!(html.contains("<p>hi @Ada</p>") && !html.contains(" class=\"me\""), "{html}");
    let signs = MessageItem::to(&ada, &full(ada.clone(), "a", 1)).to_string();
    assert_eq!(signs.matches("name=\"unreact\"").count(), 1, "{signs}");
    assert!(
        signs.contains(
            "<button name=\"unreact\" value=\"👍\" aria-pressed=\"true\">👍 1000</button>"
        )
    );
    let closed = MessageItem::to(&ada, &full(ada.clone(), "a", 1)).closed(true).to_string();
    assert!(
        !closed.contains("aria-pressed=\"true\">") && closed.contains(" disabled>👍 1000</button>")
    );
    let left = Profile { username: String::new(), nickname: String::new(), ..ada.clone() };
    let left = MessageItem::to(&ada, &message(left, "a", 1)).to_string();
    assert!(left.contains("<bdi>Deleted account</bdi>"), "{left}");
}

#[test]
fn messages_of_one_author_and_few_minutes_are_joined() {
    let (ada, bob) = (profile(account(1), "ada"), profile(account(2), "bob"));
    let first = message(ada.clone(), "a", 1);
    let later = |by: &Profile, minutes: i64| Message {
        at: Stamp::stored(first.at.microseconds() + minutes * 60_000_000),
        ..message(by.clone(), "b", 2)
    };
    let is_joined =
        |message: &Message| MessageItem::to(&ada, message).after(Some(&first)).is_joined;
    assert!(is_joined(&later(&ada, 5)) && !is_joined(&later(&ada, 6)));
    assert!(!is_joined(&later(&bob, 1)) && !is_joined(&later(&ada, 24 * 60)));
    let reply = Message { reply_to: full(bob, "a", 1).reply_to, ..later(&ada, 1) };
    assert!(!is_joined(&reply), "a reply has its own name");
    let midnight = Message { at: Stamp::stored(1_767_225_600_000_000 - 1), ..first.clone() };
    let after = MessageItem::to(&ada, &first).after(Some(&midnight));
    assert!(!after.is_joined, "a new day begins");
    let html = MessageItem::to(&ada, &later(&ada, 1)).after(Some(&first)).to_string();
    assert!(html.contains(" class=\"joined\""), "{html}");
}

#[test]
fn a_message_with_only_a_picture_shows_the_picture() {
    let ada = profile(account(1), "ada");
    let to = |message: &Message| MessageItem::to(&ada, message).to_string();
    let alone = Message { picture: Some(picture()), ..message(ada.clone(), "", 1) };
    let html = to(&alone);
    let source = format!("src=\"/board/-/pictures/{}/320\"", picture());
    assert!(html.contains(&source) && html.contains("alt=\"A picture by ada\""), "{html}");
    assert!(!html.contains("class=\"said\"") && !html.contains("class=\"gone\""), "{html}");
    let gone = Message { picture: None, ..alone.clone() };
    assert!(to(&gone).contains("The picture of this message was removed."));
    let quote = Quote {
        id: alone.id,
        username: "ada".to_owned(),
        nickname: "ada".to_owned(),
        body: alone.body,
    };
    let answer = Message { reply_to: Some(quote), ..message(ada.clone(), "a", 2) };
    assert!(to(&answer).contains("<bdi>ada</bdi> a picture</a>"), "{}", to(&answer));
}

#[test]
fn one_message() {
    let history = [Version { at: Stamp::stored(0), body: Body::stored(HOSTILE_INPUT.to_owned()) }];
    let (member, staff) = (reader(Role::Member), reader(Role::Moderator));
    let in_channel = |is_archived, message: &Message, reader: &Actor, errors: &FormErrors| {
        let page = MessagePage {
            message,
            item: MessageItem::to(&reader.profile, message),
            is_archived,
            history: &history,
            reader,
            notice: Some("Saved."),
            typed: HOSTILE_INPUT,
            reason: HOSTILE_INPUT,
            errors,
        };
        rendered(&page, 60_000)
    };
    let page = |message: &Message, reader: &Actor, errors: &FormErrors| {
        in_channel(false, message, reader, errors)
    };
    let good = FormErrors::default();
    let own = full(member.profile.clone(), HOSTILE_INPUT, 1);
    let html = page(&own, &member, &good);
    assert!(html.contains("value=\"edit\"") && html.contains("value=\"delete\""), "{html}");
    assert!(!html.contains("value=\"report\"") && !html.contains("value=\"hide\""), "{html}");
    assert!(page(&own, &member, &wrong("body")).contains("id=\"body-error\""));
    let html = in_channel(true, &own, &member, &good);
    assert!(html.contains("is archived") && html.contains("value=\"delete\""), "{html}");
    let refused = ["value=\"edit\"", "class=\"signs all\"", "?reply="];
    assert!(!refused.iter().any(|what| html.contains(what)), "{html}");
    let theirs = full(profile(account(2), HOSTILE_INPUT), HOSTILE_INPUT, 1);
    let html = page(&theirs, &member, &good);
    assert!(html.contains("value=\"report\"") && html.contains("?reply=4294967295:1#box"));
    assert!(!html.contains("value=\"edit\"") && !html.contains("value=\"delete\""), "{html}");
    assert!(page(&theirs, &member, &wrong("reason")).contains("id=\"reason-error\""));
    let html = page(&theirs, &staff, &good);
    assert!(
        html.contains("value=\"hide\"") && html.contains("/board/-/bans?username=%22"),
        "{html}"
    );
    let hidden = unreadable(Visibility::Hidden, 1);
    assert!(page(&hidden, &staff, &good).contains("value=\"show\""));
    let html = page(&hidden, &member, &good);
    assert!(!html.contains("value=\"show\"") && !html.contains("value=\"report\""), "{html}");
    let deleted = page(&unreadable(Visibility::Deleted, 1), &staff, &good);
    assert!(!deleted.contains("value=\"hide\"") && !deleted.contains("?reply="), "{deleted}");
}

#[test]
fn searching() {
    let ada = profile(account(1), HOSTILE_INPUT);
    let messages: Vec<_> =
        (1..=30).map(|number| full(ada.clone(), HOSTILE_INPUT, number)).collect();
    let items: Vec<_> = messages.iter().map(|message| MessageItem::to(&ada, message)).collect();
    let page = |found: Option<&[MessageItem<'_>]>, errors: &FormErrors| {
        let slug = Slug::lobby();
        let page =
            SearchPage { slug: &slug, typed: HOSTILE_INPUT, everywhere: true, found, errors };
        rendered(&page, LONGEST_BYTES_MAX)
    };
    let good = FormErrors::default();
    let html = page(Some(&items), &good);
    assert!(html.contains("Messages found, newest first"));
    let place = "<a href=\"/board/lobby?around=4294967295:1#m4294967295:1\">Show in #lobby</a>";
    assert!(html.contains(place), "{html}");
    assert!(page(Some(&[]), &good).contains("No messages found"));
    assert!(!page(None, &good).contains("found"));
    assert!(page(None, &wrong("q")).contains("id=\"q-error\""));
}

#[test]
fn channels() {
    let unread = || Unread { channel: channel().slug, messages: 100, mentions: 1 };
    let rows: Vec<_> = (0..100).map(|_| Row { channel: channel(), unread: unread() }).collect();
    let typed = || HOSTILE_INPUT.to_owned();
    let form = |changes: &str| ChannelForm {
        channel: typed(),
        topic: typed(),
        slow_mode_s: typed(),
        archived: typed(),
        changes: changes.to_owned(),
    };
    let (makes, changes) = (form(""), form("yes"));
    let of = |form: &ChannelForm, is_staff, errors: &FormErrors| {
        let page = ChannelsPage {
            rows: &rows,
            archived: &rows,
            is_staff,
            form,
            errors,
            notice: Some("Saved."),
        };
        rendered(&page, LONGEST_BYTES_MAX)
    };
    let page = |is_staff, errors: &FormErrors| of(&makes, is_staff, errors);
    let html = page(false, &FormErrors::default());
    assert!(html.contains(">99+</span>") && !html.contains("<form class=\"card\""), "{html}");
    for field in ["channel", "topic", "slow_mode_s", "archived"] {
        for form in [&makes, &changes] {
            let html = of(form, true, &wrong(field));
            let has_field = field != "archived" || !form.changes.is_empty();
            assert_eq!(html.contains(&format!("id=\"{field}-error\"")), has_field, "{html}");
        }
    }
    assert!(
        of(&changes, true, &FormErrors::default()).contains("type=\"hidden\" name=\"channel\"")
    );
}

#[test]
fn moderation_pages() {
    let staff = reader(Role::Moderator);
    let by = profile(account(2), HOSTILE_INPUT);
    let report = Report {
        id: 7,
        message: full(by.clone(), HOSTILE_INPUT, 1),
        by: by.clone(),
        reason: HOSTILE_INPUT.to_owned(),
        at: jiff::Timestamp::UNIX_EPOCH,
    };
    let page =
        |rows: &[reports::Row<'_>]| rendered(&ReportsPage { rows, notice: Some("Done.") }, 60_000);
    let html = page(&[reports::Row::to(&staff, &report)]);
    assert!(html.contains("name=\"report\" value=\"7\"") && html.contains("class=\"reason"));
    assert!(page(&[]).contains("No open reports."));
    let hidden = [MessageItem::to(&staff.profile, &report.message)];
    assert!(rendered(&HiddenPage { items: &hidden }, 60_000).contains("value=\"show\""));
    let banned = [KnownMember { profile: by, banned_at: Some(jiff::Timestamp::UNIX_EPOCH) }];
    let page = |banned: &[KnownMember], errors: &FormErrors| {
        rendered(&BansPage { banned, typed: HOSTILE_INPUT, errors, notice: Some("Done.") }, 60_000)
    };
    assert!(page(&banned, &wrong("username")).contains("id=\"username-error\""));
    assert!(page(&[], &FormErrors::default()).contains("No banned accounts."));
}
