//! Channels.

use jiff::Timestamp;
use lodge_domain::board::{Channel, Unread};
use serde::Serialize;
use utoipa::ToSchema;

use super::is_false;

/// A channel.
#[derive(Serialize, ToSchema)]
pub(in crate::board) struct ChannelJson {
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
pub(in crate::board) struct UnreadJson {
    pub(in crate::board) channels: Vec<UnreadChannelJson>,
}

/// What one has not read of a channel; counted up to 100.
#[derive(Serialize, ToSchema)]
pub(in crate::board) struct UnreadChannelJson {
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
