//! Events as pages are told of them: with the HTML of the message as it stands, so that a script only puts it into
//! its place.

use lodge_domain::{
    Result,
    accounts::{AccountId, Role},
    board::{Actor, Board, Event, Message, PersonId, Profile, Slug, What},
};
use serde::Serialize;

use super::{dto::EventJson, pages::message::MessageItem};

/// An event with what is to be seen of its message instead of what it says.
#[derive(Serialize)]
pub(super) struct ShownJson {
    #[serde(flatten)]
    event: EventJson,
    /// The message; null if there is none any more.
    html: Option<String>,
}

/// The event as all pages are told of it, whoever looks at them.
pub(super) async fn shown(board: &Board, channel: &Slug, event: &Event) -> Result<ShownJson> {
    let message = if let Some(message) = new_message(channel, event) {
        Some(message)
    } else {
        let id = event.what.target().unwrap_or(event.id);
        board.find(&nobody(), channel, id).await?
    };
    let html = message.map(|message| {
        MessageItem { message: &message, reader: None, is_closed: false }.to_string()
    });
    Ok(ShownJson { event: EventJson::from(event).without_body(), html })
}

/// A message of which the event says all; of one that answers another, that has to be looked up.
fn new_message(channel: &Slug, event: &Event) -> Option<Message> {
    let What::Message { body, reply_to: None, picture, visibility } = &event.what else {
        return None;
    };
    Some(Message {
        id: event.id,
        channel: channel.clone(),
        at: event.at,
        by: event.by.clone(),
        body: body.clone(),
        visibility: *visibility,
        edited_at: None,
        reply_to: None,
        picture: *picture,
        reactions: Vec::new(),
    })
}

/// Somebody who sees what everybody sees.
fn nobody() -> Actor {
    let person = PersonId::Account(AccountId(0));
    let names = String::new;
    let profile =
        Profile { person, username: names(), nickname: names(), picture: None, role: Role::Member };
    Actor { profile, role: Role::Member }
}
