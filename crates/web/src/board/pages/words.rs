//! Formatting of members, messages and counts on pages.

use std::borrow::{Borrow, Cow};

use jiff::{civil::Date, tz::TimeZone};
use lodge_domain::{
    accounts::Role,
    board::{
        Body, EventId, Message, Profile, Quote, Slug, Stamp, UNREAD_MAX, Unread, Visibility, html,
    },
    look_alikes::mixes_scripts,
    pictures::PictureSize,
};

use crate::{pages::words, pictures};

/// The most members that the page of a channel lists.
pub(super) const PEOPLE_SHOWN: usize = 50;

/// The most characters of a quoted message.
pub(super) const QUOTE_CHARS: usize = 80;

/// Returns the unread counts of a channel.
pub(super) fn unread_of(unread: &[Unread], channel: &Slug) -> Unread {
    let found = unread.iter().find(|unread| unread.channel == *channel);
    found.cloned().unwrap_or_else(|| Unread { channel: channel.clone(), messages: 0, mentions: 0 })
}

/// Returns the path of a message in its channel, among the messages around it.
pub(super) fn place_of(Message { channel, id, .. }: &Message) -> String {
    format!("/board/{channel}?around={id}#m{id}")
}

/// Returns the path of a message's own page.
pub(super) fn path_to(channel: &Slug, message: EventId) -> String {
    format!("/board/{channel}/m/{message}")
}

/// Formats a count; from [`UNREAD_MAX`] on, which counting stops at, as `99+`.
pub(super) fn counted(number: impl Borrow<u32>) -> Cow<'static, str> {
    let number = *number.borrow();
    if number >= UNREAD_MAX { "99+".into() } else { number.to_string().into() }
}

/// Returns the path of the account's picture.
pub(super) fn face(who: &Profile) -> Option<String> {
    who.picture.map(|id| pictures::path(id, PictureSize::Small))
}

/// Returns the letter shown in place of a picture.
pub(super) fn initial(who: &Profile) -> String {
    words::initial(if who.username.is_empty() { "" } else { &who.nickname })
}

/// Returns the displayed name.
pub(super) fn name(who: &Profile) -> &str {
    if who.username.is_empty() { quoted("") } else { &who.nickname }
}

/// Returns the username to show beside the nickname; `None` if both are equal and cannot be mistaken for another name.
/// New accounts have no username of mixed scripts, but earlier and imported ones may. `board_people.js` does the same.
pub(super) fn handle<'a>(username: &'a str, nickname: &str) -> Option<&'a str> {
    (username != nickname || mixes_scripts(username)).then_some(username)
}

/// Returns the badge of a bot, moderator or admin.
pub(super) fn mark(who: &Profile) -> Option<&'static str> {
    match who.role {
        _ if who.is_bot() => Some("BOT"),
        Role::Member => None,
        Role::Moderator => Some("MOD"),
        Role::Admin => Some("ADMIN"),
    }
}

pub(super) fn quoted(nickname: &str) -> &str {
    if nickname.is_empty() { "Deleted account" } else { nickname }
}

/// Returns the key of an author for scripts. An account and a bot can have the same username; no username has a space.
pub(super) fn key(who: &Profile) -> Cow<'_, str> {
    if who.is_bot() { format!("bot {}", who.username).into() } else { (&who.username).into() }
}

pub(super) fn beginning(quote: &Quote) -> String {
    match &quote.body {
        None => "message not available".to_owned(),
        Some(body) => in_one_line(body),
    }
}

pub(super) fn beginning_of(message: &Message) -> String {
    message.body.as_ref().map_or_else(String::new, in_one_line)
}

pub(super) fn in_one_line(body: &Body) -> String {
    if body.is_empty() {
        return "a picture".to_owned();
    }
    let words = body.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    words::shortened(&words, QUOTE_CHARS)
}

/// Returns a message's HTML, or the reason why it cannot be shown.
pub(super) fn said(message: &Message) -> Result<String, &'static str> {
    match (&message.body, message.visibility) {
        (_, Visibility::Deleted) => Err("This message was deleted."),
        (None, _) => Err("This message is hidden."),
        (Some(body), _) if body.is_empty() && message.picture.is_none() => {
            Err("The picture of this message was removed.")
        }
        (Some(body), _) if body.is_empty() => Ok(String::new()),
        (Some(body), _) => Ok(html(body.as_str(), &message.mentions)),
    }
}

/// Returns the day of a time, in UTC.
pub(super) fn day_of(at: Stamp) -> Date {
    at.timestamp().to_zoned(TimeZone::UTC).date()
}

/// Formats a time in full.
pub(super) fn moment(at: impl Borrow<Stamp>) -> String {
    words::moment(&at.borrow().timestamp())
}

/// Formats a time without its year.
pub(super) fn minute(at: impl Borrow<Stamp>) -> String {
    words::minute(&at.borrow().timestamp())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use lodge_domain::{
        accounts::{AccountId, Username},
        board::PersonId,
        keys::{ApiKey, KeyId},
    };

    use super::*;

    #[test]
    fn a_username_is_shown_where_the_nickname_could_be_mistaken() {
        for name in ["ada", "пётр", "山田taro"] {
            assert_eq!(handle(name, name), None);
        }
        for (username, nickname) in [("bob", "ada"), ("ada", "Ada"), ("аda", "аda")] {
            assert_eq!(handle(username, nickname), Some(username));
        }
    }

    #[test]
    fn no_account_has_the_key_of_a_bot() {
        let bot = Profile::of_bot(&ApiKey {
            id: KeyId(1),
            name: "weather".to_owned(),
            created_at: Timestamp::UNIX_EPOCH,
            revoked_at: None,
        });
        let key = key(&bot).into_owned();
        assert!(Username::parse(&key).is_err(), "{key}");
        let person = PersonId::Account(AccountId(1));
        for name in ["weather", "bot:weather", "botweather"] {
            let account = Profile { person, username: name.to_owned(), ..bot.clone() };
            assert_ne!(super::key(&account), key);
        }
    }
}
