//! A message among others, on a page or on its way to one.

use askama::Template;
use lodge_domain::{
    board::{Message, Profile, mentioned},
    pictures::PictureSize,
};

/// A message as it stands.
#[derive(Template)]
#[template(path = "board/message.html")]
pub(crate) struct MessageItem<'a> {
    pub(crate) message: &'a Message,
    /// Whom it is shown to, if it is not the same for all.
    pub(crate) reader: Option<&'a Profile>,
    /// Whether its signs can be looked at and no more.
    pub(crate) is_closed: bool,
}

impl<'a> MessageItem<'a> {
    /// For one reader.
    pub(super) fn to(reader: &'a Profile, message: &'a Message) -> Self {
        Self { message, reader: Some(reader), is_closed: false }
    }

    /// The same where nobody writes any more, if that is so.
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
