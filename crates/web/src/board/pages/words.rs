//! How people and messages are written on pages.

use std::borrow::{Borrow, Cow};

use lodge_domain::{
    accounts::Role,
    board::{
        Body, EventId, Message, Profile, Quote, Slug, Stamp, UNREAD_MAX, Unread, Visibility, html,
    },
    pictures::PictureSize,
};

use crate::{pages::words, pictures};

/// People whose names a page shows.
pub(super) const PEOPLE_SHOWN: usize = 50;

/// Characters of a message that another one answers.
pub(super) const QUOTE_CHARS: usize = 80;

/// What is unread of a channel.
pub(super) fn unread_of(unread: &[Unread], channel: &Slug) -> Unread {
    let found = unread.iter().find(|unread| unread.channel == *channel);
    found.cloned().unwrap_or_else(|| Unread { channel: channel.clone(), messages: 0, mentions: 0 })
}

/// Where a message has its own page.
pub(super) fn path_to(channel: &Slug, message: EventId) -> String {
    format!("/board/{channel}/m/{message}")
}

/// A number that is not counted further than [`UNREAD_MAX`].
pub(super) fn counted(number: impl Borrow<u32>) -> Cow<'static, str> {
    let number = *number.borrow();
    if number >= UNREAD_MAX { "99+".into() } else { number.to_string().into() }
}

/// Where their picture is.
pub(super) fn face(who: &Profile) -> Option<String> {
    who.picture.map(|id| pictures::path(id, PictureSize::Small))
}

/// What stands where a picture would.
pub(super) fn initial(who: &Profile) -> String {
    let first = if who.username.is_empty() { None } else { who.nickname.chars().next() };
    first.map_or_else(|| "?".to_owned(), |first| first.to_uppercase().collect())
}

/// What they are called.
pub(super) fn name(who: &Profile) -> &str {
    if who.username.is_empty() { quoted("") } else { &who.nickname }
}

/// By what their account is known, where that is something else than what they call themselves.
pub(super) fn handle(who: &Profile) -> Option<&str> {
    (who.username != who.nickname).then_some(&*who.username)
}

/// What they are beside a member, in short.
pub(super) fn mark(who: &Profile) -> Option<&'static str> {
    match who.role {
        _ if who.is_bot() => Some("BOT"),
        Role::Member => None,
        Role::Moderator => Some("MOD"),
        Role::Admin => Some("ADMIN"),
    }
}

pub(super) fn quoted(nickname: &str) -> &str {
    if nickname.is_empty() { "somebody who left" } else { nickname }
}

/// By what a script knows whose a name is: an account and a bot can have the same.
pub(super) fn key(who: &Profile) -> Cow<'_, str> {
    if who.is_bot() { format!("bot:{}", who.username).into() } else { (&who.username).into() }
}

pub(super) fn beginning(quote: &Quote) -> String {
    match &quote.body {
        None => "a message that cannot be read".to_owned(),
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

/// What a message says, or why it says nothing.
pub(super) fn said(message: &Message) -> Result<String, &'static str> {
    match (&message.body, message.visibility) {
        (_, Visibility::Deleted) => Err("This message was deleted."),
        (None, _) => Err("This message is hidden."),
        (Some(body), _) if body.is_empty() && message.picture.is_none() => {
            Err("The picture of this message is gone.")
        }
        (Some(body), _) if body.is_empty() => Ok(String::new()),
        (Some(body), _) => Ok(html(body.as_str())),
    }
}

/// When, in full.
pub(super) fn moment(at: impl Borrow<Stamp>) -> String {
    words::moment(&at.borrow().timestamp())
}

/// When, in short.
pub(super) fn minute(at: impl Borrow<Stamp>) -> String {
    words::minute(&at.borrow().timestamp())
}
