//! The JSON shapes that several handlers answer with. What people wrote is data in them.

use std::borrow::Borrow;

use jiff::Timestamp;
use lodge_domain::{
    accounts::Role,
    board::{Channel, Event, Message, Profile, Unread, Version, Visibility, What},
    pictures::{PictureId, PictureSize},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::pictures;

/// A channel.
#[derive(Serialize, ToSchema)]
pub(super) struct ChannelJson {
    #[schema(example = "lobby")]
    channel: String,
    topic: String,
    /// Seconds that must lie between two messages of one person; 0 is no limit.
    slow_mode_s: u32,
    /// Whether nobody writes there any more.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    archived: bool,
    created_at: Timestamp,
}

impl From<Channel> for ChannelJson {
    fn from(channel: Channel) -> Self {
        Self {
            channel: channel.slug.to_string(),
            topic: channel.topic.as_str().to_owned(),
            slow_mode_s: channel.slow_mode_s,
            archived: channel.is_archived,
            created_at: channel.created_at,
        }
    }
}

/// What one has not read.
#[derive(Serialize, ToSchema)]
pub(super) struct UnreadJson {
    pub(super) channels: Vec<UnreadChannelJson>,
}

/// What one has not read of a channel; counted up to 100.
#[derive(Serialize, ToSchema)]
pub(super) struct UnreadChannelJson {
    channel: String,
    messages: u32,
    /// Those of them that name oneself.
    mentions: u32,
}

impl From<Unread> for UnreadChannelJson {
    fn from(unread: Unread) -> Self {
        let Unread { channel, messages, mentions } = unread;
        Self { channel: channel.to_string(), messages, mentions }
    }
}

/// Who wrote something, as they are called now. Of a deleted account both names are empty.
#[derive(Default, Serialize, ToSchema)]
pub(super) struct AuthorJson {
    username: String,
    nickname: String,
    /// Whether it is a program.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    bot: bool,
    /// `moderator` or `admin`, of whoever keeps order.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
}

impl From<Profile> for AuthorJson {
    fn from(profile: Profile) -> Self {
        let role = (profile.role > Role::Member).then(|| profile.role.name());
        let bot = profile.is_bot();
        Self { username: profile.username, nickname: profile.nickname, bot, role }
    }
}

/// Somebody who is here.
#[derive(Serialize, ToSchema)]
pub(super) struct PersonJson {
    username: String,
    nickname: String,
    /// Whether it is a program.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    bot: bool,
    /// `moderator` or `admin`, of whoever keeps order.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    /// Where their picture is on this site.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
}

impl From<Profile> for PersonJson {
    fn from(profile: Profile) -> Self {
        let picture = profile.picture.map(|id| pictures::path(id, PictureSize::Small));
        let AuthorJson { username, nickname, bot, role } = profile.into();
        Self { username, nickname, bot, role, picture }
    }
}

/// Who is here.
#[derive(Serialize, ToSchema)]
pub(super) struct PeopleJson {
    pub(super) people: Vec<PersonJson>,
}

impl From<Vec<Profile>> for PeopleJson {
    fn from(people: Vec<Profile>) -> Self {
        Self { people: people.into_iter().map(Into::into).collect() }
    }
}

/// Something that happened in a channel.
#[derive(Default, Serialize, ToSchema)]
// Accounts have events, too.
#[schema(as = BoardEventJson)]
#[expect(clippy::option_option, reason = "absent, null and a text are three things")]
pub(super) struct EventJson {
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
    pub(super) fn without_body(self) -> Self {
        Self { body: None, picture: None, ..self }
    }
}

/// Where the picture of a message is.
pub(super) fn picture_of(id: impl Borrow<PictureId>, size: PictureSize) -> String {
    format!("/board/-/pictures/{}/{}", id.borrow(), size.px())
}

/// Where the picture of a message is on this site, for whoever can read it.
#[derive(Serialize, ToSchema)]
struct MessagePictureJson {
    /// All of it, within 1,024 pixels a side.
    url: String,
    /// The same within 320.
    preview: String,
}

impl From<PictureId> for MessagePictureJson {
    fn from(id: PictureId) -> Self {
        Self {
            url: picture_of(id, PictureSize::Full),
            preview: picture_of(id, PictureSize::Preview),
        }
    }
}

/// A message as it stands.
#[derive(Serialize, ToSchema)]
pub(super) struct MessageJson {
    #[schema(example = "7:42")]
    id: String,
    channel: String,
    #[schema(format = DateTime)]
    at: String,
    author: AuthorJson,
    /// What it says; null if it cannot be read, empty if it is a picture alone.
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<MessagePictureJson>,
    /// `hidden` or `deleted`, if it cannot be read by everybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<&'static str>,
    /// When it was written anew for the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    edited_at: Option<String>,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<QuoteJson>,
    reactions: Vec<ReactionJson>,
    /// What it was before, the first first; of a message that was asked for alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<VersionJson>>,
}

impl MessageJson {
    /// The same with what it was before.
    pub(super) fn with(self, history: Vec<Version>) -> Self {
        Self { history: Some(history.into_iter().map(Into::into).collect()), ..self }
    }
}

/// A message that another one answers, in short.
#[derive(Serialize, ToSchema)]
struct QuoteJson {
    id: String,
    nickname: String,
    /// How it begins; null if it cannot be read, empty if it is a picture alone.
    body: Option<String>,
}

/// A sign under a message.
#[derive(Serialize, ToSchema)]
struct ReactionJson {
    #[schema(example = "👍")]
    reaction: &'static str,
    count: u32,
    /// Whether it is one's own, too.
    mine: bool,
}

/// What a message was.
#[derive(Serialize, ToSchema)]
struct VersionJson {
    #[schema(format = DateTime)]
    at: String,
    body: String,
}

impl From<Version> for VersionJson {
    fn from(version: Version) -> Self {
        Self { at: version.at.to_string(), body: version.body.into() }
    }
}

impl From<Message> for MessageJson {
    fn from(message: Message) -> Self {
        let reactions = message.reactions.into_iter();
        Self {
            id: message.id.to_string(),
            channel: message.channel.to_string(),
            at: message.at.to_string(),
            author: message.by.into(),
            body: message.body.map(Into::into),
            picture: message.picture.map(Into::into),
            visibility: unreadable(message.visibility),
            edited_at: message.edited_at.map(|at| at.to_string()),
            reply_to: message.reply_to.map(|quote| QuoteJson {
                id: quote.id.to_string(),
                nickname: quote.nickname,
                body: quote.body.map(Into::into),
            }),
            reactions: reactions
                .map(|of| ReactionJson {
                    reaction: of.reaction.sign(),
                    count: of.count,
                    mine: of.is_mine,
                })
                .collect(),
            history: None,
        }
    }
}

/// Messages that were found, the newest first.
#[derive(Serialize, ToSchema)]
pub(super) struct FoundJson {
    pub(super) messages: Vec<MessageJson>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Why a message cannot be read.
fn unreadable(visibility: Visibility) -> Option<&'static str> {
    match visibility {
        Visibility::Shown => None,
        Visibility::Hidden => Some("hidden"),
        Visibility::Deleted => Some("deleted"),
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
