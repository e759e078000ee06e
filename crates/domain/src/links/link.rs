//! A link and its parts.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{short::Short, target::Target};
use crate::{Error, Result, caller::Owner, passwords::PasswordHash};

/// A link's identity; a short that is claimed again gets a new one. Sorts by creation (UUID v7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkId(pub Uuid);

impl LinkId {
    /// Returns the id of a short's row in replace mode, the same on every process (UUID v5).
    pub fn of(short: &Short) -> Self {
        const SHORTS: Uuid = Uuid::from_u128(0x6c6f_6467_6500_4000_8000_0000_0000_0003);
        Self(Uuid::new_v5(&SHORTS, short.as_str().as_bytes()))
    }
}

/// The HTTP status of a link's redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub enum RedirectCode {
    /// 301, moved permanently; the method may become GET.
    MovedPermanently = 301,
    /// 302, found; the method may become GET.
    Found = 302,
    /// 307, temporary; the method stays.
    #[default]
    Temporary = 307,
    /// 308, permanent; the method stays.
    Permanent = 308,
}

impl TryFrom<u16> for RedirectCode {
    type Error = Error;
    fn try_from(code: u16) -> Result<Self> {
        match code {
            301 => Ok(Self::MovedPermanently),
            302 => Ok(Self::Found),
            307 => Ok(Self::Temporary),
            308 => Ok(Self::Permanent),
            _ => Err(Error::invalid("redirect", "must be 301, 302, 307 or 308")),
        }
    }
}

impl From<RedirectCode> for u16 {
    fn from(code: RedirectCode) -> Self {
        code as Self
    }
}

/// A limit on the clicks of a link, and the clicks used; never more than `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClickLimit {
    /// The maximum number of redirects, 1 to 1,000,000,000.
    pub max: u64,
    /// The redirects so far, each committed before its response is sent.
    pub used: u64,
    /// When the last click was used.
    pub exhausted_at: Option<Timestamp>,
}

impl ClickLimit {
    /// Creates a limit of `max` unused clicks.
    pub fn new(max: u64) -> Result<Self> {
        match max {
            1..=1_000_000_000 => Ok(Self { max, used: 0, exhausted_at: None }),
            _ => Err(Error::invalid(
                "max_clicks",
                format!("must be between 1 and 1,000,000,000, not {max}"),
            )),
        }
    }
}

/// At most 20 distinct tags, each 1 to 50 characters without control characters or commas, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tags(Vec<String>);

impl Tags {
    /// Trims, sorts, deduplicates and checks tags.
    pub fn parse<T: AsRef<str>>(tags: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut tags: Vec<String> =
            tags.into_iter().map(|tag| tag.as_ref().trim().to_owned()).collect();
        tags.sort_unstable();
        tags.dedup();
        let well_formed = |tag: &String| {
            (1..=50).contains(&tag.chars().count())
                && !tag.chars().any(|c| c.is_control() || c == ',')
        };
        if tags.len() > 20 || !tags.iter().all(well_formed) {
            return Err(Error::invalid(
                "tags",
                "must be at most 20 tags of 1 to 50 characters, without commas",
            ));
        }
        Ok(Self(tags))
    }

    /// Parses comma-separated tags.
    pub fn parse_list(text: &str) -> Result<Self> {
        Self::parse(text.split(',').filter(|tag| !tag.trim().is_empty()))
    }

    /// Returns the tags, sorted.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// A link as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The id.
    pub id: LinkId,
    /// The path segment `/{short}`.
    pub short: Short,
    /// The target.
    pub target: Target,
    /// The status of its redirects.
    pub redirect: RedirectCode,
    /// 1 at first, incremented by every change; a cache never replaces a newer version.
    pub version: u64,
    /// 1 at first, incremented when the manage key is replaced.
    pub key_version: u32,
    /// The owner; only a link without one has a manage key.
    pub owner: Option<Owner>,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change; in replace mode the time minted for the newest `PUT`.
    pub changed_at: Timestamp,
    /// The time of deletion.
    pub deleted_at: Option<Timestamp>,
    /// The expiry.
    pub expires_at: Option<Timestamp>,
    /// The click limit.
    pub click_limit: Option<ClickLimit>,
    /// The hash of the password that visitors must enter.
    pub password: Option<PasswordHash>,
    /// The owner's tags.
    pub tags: Tags,
}

impl Link {
    /// Creates a link with default values and no owner.
    pub fn new(id: LinkId, short: Short, target: Target, created_at: Timestamp) -> Self {
        Self {
            id,
            short,
            target,
            redirect: RedirectCode::default(),
            version: 1,
            key_version: 1,
            owner: None,
            created_at,
            changed_at: created_at,
            deleted_at: None,
            expires_at: None,
            click_limit: None,
            password: None,
            tags: Tags::default(),
        }
    }
}

/// The state of a link at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// It redirects.
    Live,
    /// It has expired.
    Expired,
    /// Its click limit is reached.
    Exhausted,
    /// It was deleted by a caller who may manage it.
    Deleted,
}

impl Link {
    /// Returns the state at `now`, and since when the link is over.
    pub fn state(&self, now: Timestamp) -> (LinkState, Option<Timestamp>) {
        let expired_at = self.expires_at.filter(|at| *at <= now);
        let exhausted_at = self
            .click_limit
            .filter(|limit| limit.used >= limit.max)
            .map(|limit| limit.exhausted_at.unwrap_or(self.changed_at));
        if self.deleted_at.is_some() {
            (LinkState::Deleted, self.deleted_at)
        } else if expired_at.is_some() {
            (LinkState::Expired, expired_at)
        } else if exhausted_at.is_some() {
            (LinkState::Exhausted, exhausted_at)
        } else {
            (LinkState::Live, None)
        }
    }

    /// Whether its short may be claimed again at `now`: the link has been over for at least `reserved`.
    pub fn is_reservation_over(&self, now: Timestamp, reserved: SignedDuration) -> bool {
        self.state(now).1.is_some_and(|over| now.duration_since(over) >= reserved)
    }

    /// Whether a redirect needs only this row: no password to ask for, no click to commit.
    pub fn is_plain(&self) -> bool {
        self.password.is_none() && self.click_limit.is_none()
    }
}
