//! What happens in channels.

use lodge_domain::board::{Event, What};
use serde::Serialize;
use utoipa::ToSchema;

use super::{people::AuthorJson, picture::MessagePictureJson, unreadable};

/// Something that happened in a channel.
#[derive(Default, Serialize, ToSchema)]
// Accounts have events, too.
#[schema(as = BoardEventJson)]
#[expect(clippy::option_option, reason = "absent, null and a text are three things")]
pub(in crate::board) struct EventJson {
    /// `origin:seq`; of each origin numbered without a gap.
    #[schema(example = "7:42")]
    id: String,
    /// `message`, `edit`, `delete`, `reaction` or `hide`.
    kind: &'static str,
    /// As text it sorts as it is.
    #[schema(format = DateTime, example = "2026-01-01T00:00:00.000001Z")]
    at: String,
    author: AuthorJson,
    /// Of what is no message: the message that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// Of a message or an edit: what it says, or null if that cannot be read any more; empty, if it is a picture alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    body: Option<Option<String>>,
    /// The picture of a message that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<MessagePictureJson>,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    /// `hidden` or `deleted`, if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<&'static str>,
    /// The sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    reaction: Option<&'static str>,
    /// Whether the sign was taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<bool>,
    /// Whether the message is hidden from then on, or shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<bool>,
}

impl From<&Event> for EventJson {
    fn from(event: &Event) -> Self {
        let mut json = Self {
            id: event.id.to_string(),
            kind: event.what.kind(),
            at: event.at.to_string(),
            author: event.by.clone().into(),
            target: event.what.target().map(|id| id.to_string()),
            ..Self::default()
        };
        match &event.what {
            What::Message { body, reply_to, picture, visibility } => {
                json.body = Some(body.clone().map(Into::into));
                json.picture = picture.map(Into::into);
                json.reply_to = reply_to.map(|id| id.to_string());
                json.visibility = unreadable(*visibility);
            }
            What::Edit { body, .. } => {
                json.body = Some(body.clone().map(Into::into));
            }
            What::Delete { .. } => {}
            What::Reaction { reaction, is_removed, .. } => {
                json.reaction = Some(reaction.sign());
                json.removed = Some(*is_removed);
            }
            What::Hide { is_hidden, .. } => json.hidden = Some(*is_hidden),
        }
        json
    }
}

impl EventJson {
    /// For whoever is given what is to be seen beside it.
    pub(in crate::board) fn without_body(self) -> Self {
        Self { body: None, picture: None, ..self }
    }
}

#[cfg(test)]
mod tests {
    use lodge_domain::{
        accounts::AccountId,
        board::{Body, PersonId, Profile, Stamp, Visibility},
        keys::KeyId,
    };
    use serde_json::json;

    use super::*;
    use crate::board::samples::member;

    fn event(person: PersonId, what: What) -> Event {
        let by = Profile { person, ..member(1, "ada", "<b>") };
        Event { id: "7:42".parse().unwrap(), at: Stamp::stored(1_767_225_600_000_001), by, what }
    }

    #[test]
    fn an_event_says_what_belongs_to_its_kind_and_nothing_else() {
        let target = "7:1".parse().unwrap();
        let account = PersonId::Account(AccountId(1));
        let of = |what| serde_json::to_value(EventJson::from(&event(account, what))).unwrap();
        let with = |more: serde_json::Value| {
            let mut json = json!({ "id": "7:42", "at": "2026-01-01T00:00:00.000001Z", "author": { "username": "ada", "nickname": "<b>" } });
            json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json
        };
        let body = Some(Body::parse("</script>\n\"&").unwrap());
        let message = |body, reply_to, visibility| What::Message {
            body,
            reply_to,
            picture: None,
            visibility,
        };
        assert_eq!(
            of(message(body.clone(), Some(target), Visibility::Shown)),
            with(json!({ "kind": "message", "body": "</script>\n\"&", "reply_to": "7:1" }))
        );
        assert_eq!(
            of(message(None, None, Visibility::Hidden)),
            with(json!({ "kind": "message", "body": null, "visibility": "hidden" }))
        );
        assert_eq!(
            of(What::Edit { target, body: None }),
            with(json!({ "kind": "edit", "target": "7:1", "body": null }))
        );
        assert_eq!(of(What::Delete { target }), with(json!({ "kind": "delete", "target": "7:1" })));
        assert_eq!(
            of(What::Hide { target, is_hidden: false }),
            with(json!({ "kind": "hide", "target": "7:1", "hidden": false }))
        );
        let bot = event(PersonId::Bot(KeyId(1)), What::Delete { target });
        assert_eq!(serde_json::to_value(EventJson::from(&bot)).unwrap()["author"]["bot"], true);
        let line = serde_json::to_string(&EventJson::from(&event(
            account,
            message(body, None, Visibility::Shown),
        )));
        assert!(!line.unwrap().contains('\n'), "it is one line of a stream");
    }
}
