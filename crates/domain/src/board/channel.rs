//! Channels: where people write.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    text::{display_text, parsed_text},
};

/// The longest name of a channel, in characters.
const SLUG_MAX: usize = 32;

/// The longest topic, in characters.
const TOPIC_MAX: usize = 200;

/// The longest slow mode, in seconds.
pub const SLOW_MODE_S_MAX: u32 = 6 * 60 * 60;

/// Channels of a board.
pub const CHANNELS_MAX: usize = 500;

parsed_text! {
    /// A channel's name, and what it is: two channels of one name are one channel. 1 to 32 small letters, digits and
    /// hyphens, with a letter or digit at both ends.
    pub struct Slug(Box<str>);
}
display_text!(Slug);

impl Slug {
    /// The channel that is always there.
    pub fn lobby() -> Self {
        Self("lobby".into())
    }

    /// Takes a name as somebody typed it; large letters become small.
    pub fn parse(typed: &str) -> Result<Self> {
        let name = typed.trim().trim_start_matches('#').to_ascii_lowercase();
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_whole = !name.starts_with('-') && !name.ends_with('-');
        if (1..=SLUG_MAX).contains(&name.len()) && name.chars().all(is_part) && is_whole {
            return Ok(Self(name.into()));
        }
        Err(Error::invalid(
            "channel",
            "must be 1 to 32 letters (a to z), digits and hyphens, with no hyphen at the ends",
        ))
    }
}

parsed_text! {
    /// What a channel is about, in a line: at most 200 characters.
    #[derive(Debug, Default)]
    pub struct Topic(Box<str>);
}

impl Topic {
    /// Takes a topic as somebody typed it.
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
    /// Its name.
    pub slug: Slug,
    /// What it is about.
    pub topic: Topic,
    /// How many seconds must lie between two messages of one person who is not of the staff; 0 is no limit.
    pub slow_mode_s: u32,
    /// Whether nobody writes there any more. It can be read.
    pub is_archived: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What is to change about a channel; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelChange {
    /// What it is about.
    pub topic: Option<Topic>,
    /// How many seconds must lie between two messages of one person.
    pub slow_mode_s: Option<u32>,
    /// Whether nobody writes there any more.
    pub is_archived: Option<bool>,
}

impl ChannelChange {
    /// [`Error::Invalid`] if the slow mode is too slow.
    pub fn checked(self) -> Result<Self> {
        if self.slow_mode_s.is_some_and(|seconds| seconds > SLOW_MODE_S_MAX) {
            return Err(Error::invalid("slow_mode_s", "must be at most 21600, six hours"));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_case_alone_are_one_channel() {
        assert_eq!(Slug::parse(" #Lift-7 ").unwrap(), Slug::parse("lift-7").unwrap());
        for text in ["", "#", "-", "-a", "a-", "a b", "ä", "a/b", "a.b", &"a".repeat(33)] {
            assert!(Slug::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(Slug::lobby(), Slug::parse("lobby").unwrap());
    }
}
