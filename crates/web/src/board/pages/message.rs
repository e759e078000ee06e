//! The HTML of one message, on a page or in an event for a page.

use askama::Template;
use lodge_domain::{
    board::{Message, Profile, mentioned},
    pictures::PictureSize,
};

/// The current state of a message, as HTML.
#[derive(Template)]
#[template(path = "board/message.html")]
pub(crate) struct MessageItem<'a> {
    pub(crate) message: &'a Message,
    /// The reader; `None` renders the same HTML for all readers.
    pub(crate) reader: Option<&'a Profile>,
    /// Whether its reactions are read-only.
    pub(crate) is_closed: bool,
}

impl<'a> MessageItem<'a> {
    /// Renders `message` for `reader`.
    pub(super) fn to(reader: &'a Profile, message: &'a Message) -> Self {
        Self { message, reader: Some(reader), is_closed: false }
    }

    /// Makes the reactions read-only if `is_closed`.
    pub(super) fn closed(self, is_closed: bool) -> Self {
        Self { is_closed, ..self }
    }

    fn names_reader(&self) -> bool {
        let (Some(reader), Some(body)) = (self.reader, &self.message.body) else { return false };
        mentioned(body).iter().any(|name| name.as_str() == reader.username)
    }

    fn is_edited(&self) -> bool {
        self.message.edited_at.is_some() && self.message.body.is_some()
    }
}
