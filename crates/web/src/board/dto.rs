//! JSON response types that several handlers share. Text of members is always a string value, never markup.

use std::borrow::Borrow;

use jiff::Timestamp;
use lodge_domain::{
    accounts::Role,
    board::{
        BoardEvent, BoardEventContent, Channel, Message, Profile, Unread, Version, Visibility,
    },
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
    #[schema(example = "Snow, lifts and rides")]
    topic: String,
    /// Seconds between two messages of one member; 0 means no limit.
    #[schema(example = 0)]
    slow_mode_s: u32,
    /// Whether the channel is archived: it can be read, but not posted in.
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

/// Unread counts by channel.
#[derive(Serialize, ToSchema)]
pub(super) struct UnreadJson {
    pub(super) channels: Vec<UnreadChannelJson>,
}

/// The unread counts of a channel, each at most 100.
#[derive(Serialize, ToSchema)]
pub(super) struct UnreadChannelJson {
    #[schema(example = "lobby")]
    channel: String,
    #[schema(example = 3)]
    messages: u32,
    /// Unread messages that mention the caller.
    mentions: u32,
}

impl From<Unread> for UnreadChannelJson {
    fn from(unread: Unread) -> Self {
        let Unread { channel, messages, mentions } = unread;
        Self { channel: channel.to_string(), messages, mentions }
    }
}

/// The author of a message or event, by their current names. Both names of a deleted account are empty.
#[derive(Default, Serialize, ToSchema)]
pub(super) struct AuthorJson {
    #[schema(example = "ann")]
    username: String,
    #[schema(example = "Ann")]
    nickname: String,
    /// Whether the author or member is a bot.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    bot: bool,
    /// `moderator` or `admin`; absent for members.
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

/// A member or bot.
#[derive(Serialize, ToSchema)]
pub(super) struct PersonJson {
    #[schema(example = "ann")]
    username: String,
    #[schema(example = "Ann")]
    nickname: String,
    /// Whether the author or member is a bot.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    bot: bool,
    /// `moderator` or `admin`; absent for members.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    /// The path of their picture on this site.
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

/// The members and bots in a channel now.
#[derive(Serialize, ToSchema)]
pub(super) struct PeopleJson {
    pub(super) people: Vec<PersonJson>,
}

impl From<Vec<Profile>> for PeopleJson {
    fn from(people: Vec<Profile>) -> Self {
        Self { people: people.into_iter().map(Into::into).collect() }
    }
}

/// An event of a channel.
#[derive(Default, Serialize, ToSchema)]
// The accounts API has an `EventJson` of its own.
#[schema(as = BoardEventJson)]
#[expect(clippy::option_option, reason = "absent, null and a text differ")]
pub(super) struct EventJson {
    /// `origin:seq`; `seq` is dense per origin.
    #[schema(example = "7:42")]
    id: String,
    /// `message`, `edit`, `delete`, `reaction` or `hide`.
    #[schema(example = "message")]
    kind: &'static str,
    /// RFC 3339 with six decimals; sorts as text.
    #[schema(format = DateTime, example = "2026-01-01T00:00:00.000001Z")]
    at: String,
    author: AuthorJson,
    /// The message that the event changes; absent for a `message`.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The text of a message or edit; null if hidden or deleted, empty for a picture alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "Fresh snow!")]
    body: Option<Option<String>>,
    /// The picture of a readable message.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<MessagePictureJson>,
    /// The message that it replies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    /// `hidden` or `deleted`; absent if the message is readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<&'static str>,
    /// The emoji of a reaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    reaction: Option<&'static str>,
    /// Whether the reaction was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<bool>,
    /// Whether the message was hidden (true) or shown again (false).
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<bool>,
}

impl From<&BoardEvent> for EventJson {
    fn from(event: &BoardEvent) -> Self {
        let mut json = Self {
            id: event.id.to_string(),
            kind: event.content.kind(),
            at: event.at.to_string(),
            author: event.by.clone().into(),
            target: event.content.target().map(|id| id.to_string()),
            ..Self::default()
        };
        match &event.content {
            BoardEventContent::Message { body, reply_to, picture, visibility } => {
                json.body = Some(body.clone().map(Into::into));
                json.picture = picture.map(Into::into);
                json.reply_to = reply_to.map(|id| id.to_string());
                json.visibility = unreadable(*visibility);
            }
            BoardEventContent::Edit { body, .. } => {
                json.body = Some(body.clone().map(Into::into));
            }
            BoardEventContent::Delete { .. } => {}
            BoardEventContent::Reaction { reaction, is_removed, .. } => {
                json.reaction = Some(reaction.emoji());
                json.removed = Some(*is_removed);
            }
            BoardEventContent::Hide { is_hidden, .. } => json.hidden = Some(*is_hidden),
        }
        json
    }
}

impl EventJson {
    /// Drops the body and the picture, for pages, which get the message's HTML instead.
    pub(super) fn without_body(self) -> Self {
        Self { body: None, picture: None, ..self }
    }
}

/// Returns the path of a message's picture.
pub(super) fn picture_of(id: impl Borrow<PictureId>, size: PictureSize) -> String {
    format!("/board/-/pictures/{}/{}", id.borrow(), size.px())
}

/// The paths of a message's picture on this site. Only readers of the message may fetch them.
#[derive(Serialize, ToSchema)]
struct MessagePictureJson {
    /// The whole picture, at most 1,024 pixels a side.
    #[schema(example = "/board/-/pictures/…/1024")]
    url: String,
    /// A preview, at most 320 pixels a side.
    #[schema(example = "/board/-/pictures/…/320")]
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

/// The current state of a message.
#[derive(Serialize, ToSchema)]
pub(super) struct MessageJson {
    #[schema(example = "7:42")]
    id: String,
    #[schema(example = "lobby")]
    channel: String,
    #[schema(format = DateTime)]
    at: String,
    author: AuthorJson,
    /// Its text; null if it is not readable, empty if the message is only a picture.
    #[schema(example = "Fresh snow!")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<MessagePictureJson>,
    /// `hidden` or `deleted`; absent if all readers can read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<&'static str>,
    /// The time of the last edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    edited_at: Option<String>,
    /// The message that it replies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<QuoteJson>,
    reactions: Vec<ReactionJson>,
    /// Earlier versions, oldest first; only in the response for a single message.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<VersionJson>>,
}

impl MessageJson {
    /// Adds the earlier versions.
    pub(super) fn with(self, history: Vec<Version>) -> Self {
        Self { history: Some(history.into_iter().map(Into::into).collect()), ..self }
    }
}

/// An excerpt of the message that another one replies to.
#[derive(Serialize, ToSchema)]
struct QuoteJson {
    #[schema(example = "7:41")]
    id: String,
    #[schema(example = "bob")]
    username: String,
    #[schema(example = "Bob")]
    nickname: String,
    /// The beginning of its text; null if it is not readable, empty if the message is only a picture.
    #[schema(example = "How is the snow?")]
    body: Option<String>,
}

/// A reaction to a message, with its count.
#[derive(Serialize, ToSchema)]
struct ReactionJson {
    #[schema(example = "👍")]
    reaction: &'static str,
    #[schema(example = 2)]
    count: u32,
    /// Whether the caller is among the accounts that reacted.
    mine: bool,
}

/// An earlier version of a message.
#[derive(Serialize, ToSchema)]
struct VersionJson {
    #[schema(format = DateTime)]
    at: String,
    #[schema(example = "Fresh snow")]
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
                username: quote.username,
                nickname: quote.nickname,
                body: quote.body.map(Into::into),
            }),
            reactions: reactions
                .map(|of| ReactionJson {
                    reaction: of.reaction.emoji(),
                    count: of.count,
                    mine: of.is_mine,
                })
                .collect(),
            history: None,
        }
    }
}

/// Messages, newest first.
#[derive(Serialize, ToSchema)]
pub(super) struct FoundJson {
    pub(super) messages: Vec<MessageJson>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde expects")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Returns why a message is not readable; `None` if it is.
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

    fn event(person: PersonId, what: BoardEventContent) -> BoardEvent {
        let by = Profile { person, ..member(1, "ada", "<b>") };
        BoardEvent {
            id: "7:42".parse().unwrap(),
            at: Stamp::stored(1_767_225_600_000_001),
            by,
            content: what,
        }
    }

    #[test]
    fn an_event_has_the_fields_of_its_kind_only() {
        let target = "7:1".parse().unwrap();
        let account = PersonId::Account(AccountId(1));
        let of = |what| serde_json::to_value(EventJson::from(&event(account, what))).unwrap();
        let with = |more: serde_json::Value| {
            let mut json = json!({ "id": "7:42", "at": "2026-01-01T00:00:00.000001Z", "author": { "username": "ada", "nickname": "<b>" } });
            json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json
        };
        let body = Some(Body::parse("</script>\n\"&").unwrap());
        let message = |body, reply_to, visibility| BoardEventContent::Message {
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
            of(BoardEventContent::Edit { target, body: None }),
            with(json!({ "kind": "edit", "target": "7:1", "body": null }))
        );
        assert_eq!(
            of(BoardEventContent::Delete { target }),
            with(json!({ "kind": "delete", "target": "7:1" }))
        );
        assert_eq!(
            of(BoardEventContent::Hide { target, is_hidden: false }),
            with(json!({ "kind": "hide", "target": "7:1", "hidden": false }))
        );
        let bot = event(PersonId::Bot(KeyId(1)), BoardEventContent::Delete { target });
        assert_eq!(serde_json::to_value(EventJson::from(&bot)).unwrap()["author"]["bot"], true);
        let line = serde_json::to_string(&EventJson::from(&event(
            account,
            message(body, None, Visibility::Shown),
        )));
        assert!(!line.unwrap().contains('\n'), "an event is one line of a stream");
    }
}
