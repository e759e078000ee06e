//! Channels of the board.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    text::{display_text, parsed_text},
};

/// The longest channel name, in characters.
const SLUG_MAX: usize = 32;

/// The longest topic, in characters.
const TOPIC_MAX: usize = 200;

/// The longest interval of slow mode, in seconds.
pub const SLOW_MODE_S_MAX: u32 = 6 * 60 * 60;

/// The most channels that a board may have.
pub const CHANNELS_MAX: usize = 500;

parsed_text! {
    /// A channel's name and identity: 1 to 32 lower-case letters, digits and hyphens, with a letter or digit at both
    /// ends.
    pub struct Slug(Box<str>);
}
display_text!(Slug);

impl Slug {
    /// The channel that every board has.
    pub fn lobby() -> Self {
        Self("lobby".into())
    }

    /// Parses a typed name, with or without `#`; upper case becomes lower case.
    pub fn parse(typed: &str) -> Result<Self> {
        let name = typed.trim().trim_start_matches('#').to_ascii_lowercase();
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_whole = !name.starts_with('-') && !name.ends_with('-');
        if (1..=SLUG_MAX).contains(&name.len()) && name.chars().all(is_part) && is_whole {
            return Ok(Self(name.into()));
        }
        Err(Error::invalid(
            "channel",
            "must be 1 to 32 letters (a to z), digits and hyphens, with no hyphen at either end",
        ))
    }
}

parsed_text! {
    /// A channel's topic: one line of at most 200 characters.
    #[derive(Debug, Default)]
    pub struct Topic(Box<str>);
}

impl Topic {
    /// Parses a typed topic.
    pub fn parse(typed: &str) -> Result<Self> {
        let topic = typed.trim();
        if topic.chars().count() > TOPIC_MAX || topic.chars().any(char::is_control) {
            return Err(Error::invalid("topic", "must be one line of at most 200 characters"));
        }
        Ok(Self(topic.into()))
    }
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// The channel's name.
    pub slug: Slug,
    /// The channel's topic.
    pub topic: Topic,
    /// Seconds between two messages of one member who is not staff; 0 is no limit.
    pub slow_mode_s: u32,
    /// Whether the channel is archived: it can be read, and takes no new messages, edits or reactions.
    pub is_archived: bool,
    /// When the channel was created.
    pub created_at: Timestamp,
}

/// A partial update of a channel; `None` leaves a field unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelChange {
    /// The new topic.
    pub topic: Option<Topic>,
    /// The new slow mode, in seconds.
    pub slow_mode_s: Option<u32>,
    /// Whether to archive the channel.
    pub is_archived: Option<bool>,
}

impl ChannelChange {
    /// Returns [`Error::Invalid`] if the slow mode exceeds [`SLOW_MODE_S_MAX`].
    pub fn checked(self) -> Result<Self> {
        if self.slow_mode_s.is_some_and(|seconds| seconds > SLOW_MODE_S_MAX) {
            return Err(Error::invalid("slow_mode_s", "must be at most 21600 seconds (6 hours)"));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_only_in_case_are_one_channel() {
        assert_eq!(Slug::parse(" #Lift-7 ").unwrap(), Slug::parse("lift-7").unwrap());
        for text in ["", "#", "-", "-a", "a-", "a b", "ä", "a/b", "a.b", &"a".repeat(33)] {
            assert!(Slug::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(Slug::lobby(), Slug::parse("lobby").unwrap());
    }
}
