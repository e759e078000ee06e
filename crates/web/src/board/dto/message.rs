//! Messages as they stand.

use lodge_domain::board::{Message, Version};
use serde::Serialize;
use utoipa::ToSchema;

use super::{people::AuthorJson, picture::MessagePictureJson, unreadable};

/// A message as it stands.
#[derive(Serialize, ToSchema)]
pub(in crate::board) struct MessageJson {
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
    pub(in crate::board) fn with(self, history: Vec<Version>) -> Self {
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
pub(in crate::board) struct FoundJson {
    pub(in crate::board) messages: Vec<MessageJson>,
}
