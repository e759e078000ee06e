//! The HTML of one message, on a page or in an event for a page.

use askama::Template;
use lodge_domain::{
    board::{Message, Profile},
    pictures::PictureSize,
};

use super::words::day_of;

/// The current state of a message, as HTML.
#[derive(Template)]
#[template(path = "board/message.html")]
pub(crate) struct MessageItem<'a> {
    pub(crate) message: &'a Message,
    /// The reader; `None` renders the same HTML for all readers.
    pub(crate) reader: Option<&'a Profile>,
    /// Whether its reactions are read-only.
    pub(crate) is_closed: bool,
    /// Whether it continues the message before it, and so is shown without its author's name and picture.
    pub(crate) is_joined: bool,
}

/// The longest time between two messages that are shown together, in microseconds.
const JOINED_US_MAX: i64 = 5 * 60 * 1_000_000;

impl<'a> MessageItem<'a> {
    /// Renders `message` for `reader`.
    pub(super) fn to(reader: &'a Profile, message: &'a Message) -> Self {
        Self { message, reader: Some(reader), is_closed: false, is_joined: false }
    }

    /// Makes the reactions read-only if `is_closed`.
    pub(super) fn closed(self, is_closed: bool) -> Self {
        Self { is_closed, ..self }
    }

    /// Joins it with `before`, if that is of the same author, day (in UTC) and few minutes.
    pub(super) fn after(self, before: Option<&Message>) -> Self {
        let Message { at, by, reply_to, .. } = self.message;
        let is_joined = before.is_some_and(|before| {
            before.by.person == by.person
                && reply_to.is_none()
                && day_of(before.at) == day_of(*at)
                && at.microseconds() - before.at.microseconds() <= JOINED_US_MAX
        });
        Self { is_joined, ..self }
    }

    /// Returns the CSS classes of its element.
    fn class(&self) -> Option<&'static str> {
        let names_reader = self.reader.is_some_and(|reader| {
            self.message.mentions.iter().any(|name| name.as_str() == reader.username)
        });
        match (names_reader, self.is_joined) {
            (true, true) => Some("me joined"),
            (true, false) => Some("me"),
            (false, true) => Some("joined"),
            (false, false) => None,
        }
    }

    fn is_edited(&self) -> bool {
        self.message.edited_at.is_some() && self.message.body.is_some()
    }
}
