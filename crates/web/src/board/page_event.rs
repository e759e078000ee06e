//! Events for pages: with the current HTML of the message, which the script inserts as it is.

use std::collections::BTreeSet;

use lodge_domain::{
    Result,
    accounts::{AccountId, Role},
    board::{
        Actor, Board, BoardEvent, BoardEventContent, Message, PersonId, Profile, Slug, mentioned,
    },
};
use serde::Serialize;

use super::{dto::EventJson, pages::message::MessageItem};

/// An event with the HTML of its message in place of the text.
#[derive(Serialize)]
pub(super) struct PageEventJson {
    #[serde(flatten)]
    event: EventJson,
    /// The message's HTML; null if the message does not exist.
    html: Option<String>,
}

/// Renders an event for all pages, independent of the reader.
pub(super) async fn page_event(
    board: &Board,
    channel: &Slug,
    event: &BoardEvent,
) -> Result<PageEventJson> {
    let message = if let Some(message) = new_message(channel, event) {
        Some(message)
    } else {
        let id = event.content.target().unwrap_or(event.id);
        board.find(&anonymous_actor(), channel, id).await?
    };
    let html = message.map(|message| {
        MessageItem { message: &message, reader: None, is_closed: false, is_joined: false }
            .to_string()
    });
    Ok(PageEventJson { event: EventJson::from(event).without_body(), html })
}

/// Builds the message from its event alone; `None` if the store must be read: for the quote of a reply, and for which
/// of the names in the text are of members.
fn new_message(channel: &Slug, event: &BoardEvent) -> Option<Message> {
    let BoardEventContent::Message { body, reply_to: None, picture, visibility } = &event.content
    else {
        return None;
    };
    if body.as_ref().is_some_and(|body| !mentioned(body).is_empty()) {
        return None;
    }
    Some(Message {
        id: event.id,
        channel: channel.clone(),
        at: event.at,
        by: event.by.clone(),
        body: body.clone(),
        mentions: BTreeSet::new(),
        visibility: *visibility,
        edited_at: None,
        reply_to: None,
        picture: *picture,
        reactions: Vec::new(),
    })
}

/// An actor without any rights: sees what all readers see.
fn anonymous_actor() -> Actor {
    let person = PersonId::Account(AccountId(0));
    let names = String::new;
    let profile =
        Profile { person, username: names(), nickname: names(), picture: None, role: Role::Member };
    Actor { profile, role: Role::Member }
}
