//! A link and its parts.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{short::Short, target::Target};
use crate::{Error, Result, caller::Owner, passwords::PasswordHash};

/// A link's identity: a short that is given away anew gets a new one. Sorts by creation (UUID v7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkId(pub Uuid);

impl LinkId {
    /// The id of the row of a short that nobody claims, the same wherever it is made up (UUID v5).
    pub fn of(short: &Short) -> Self {
        const SHORTS: Uuid = Uuid::from_u128(0x6c6f_6467_6500_4000_8000_0000_0000_0003);
        Self(Uuid::new_v5(&SHORTS, short.as_str().as_bytes()))
    }
}

/// The status with which a link redirects.
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

/// How often a link may be followed, and how often it was. Never more than `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClickLimit {
    /// The number of redirects, 1 to 1,000,000,000.
    pub max: u64,
    /// Those that were given, committed before their answer went out.
    pub used: u64,
    /// When the last one went.
    pub exhausted_at: Option<Timestamp>,
}

impl ClickLimit {
    /// A limit that nobody has used yet.
    pub fn new(max: u64) -> Result<Self> {
        match max {
            1..=1_000_000_000 => Ok(Self { max, used: 0, exhausted_at: None }),
            _ => Err(Error::invalid("max_clicks", "must be 1 to 1,000,000,000")),
        }
    }
}

/// At most 20 tags, each 1 to 50 characters without control characters or commas, sorted, no two the
/// same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tags(Vec<String>);

impl Tags {
    /// Trims, sorts and checks.
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

    /// The tags as a person types them, between commas.
    pub fn parse_list(text: &str) -> Result<Self> {
        Self::parse(text.split(',').filter(|tag| !tag.trim().is_empty()))
    }

    /// The tags, sorted.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// A link, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its identity.
    pub id: LinkId,
    /// The path segment.
    pub short: Short,
    /// Where it leads.
    pub target: Target,
    /// With which status.
    pub redirect: RedirectCode,
    /// 1 at first, one more with every change; a cache never goes back.
    pub version: u64,
    /// 1 at first, one more when its manage key is replaced.
    pub key_version: u32,
    /// Whose it is; anonymous links have only their manage key.
    pub owner: Option<Owner>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed; in replace mode the time minted for the newest `PUT`.
    pub changed_at: Timestamp,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// From when on it leads nowhere.
    pub expires_at: Option<Timestamp>,
    /// How often it may be followed.
    pub click_limit: Option<ClickLimit>,
    /// What a visitor must know.
    pub password: Option<PasswordHash>,
    /// What its owner sorts it by.
    pub tags: Tags,
}

impl Link {
    /// A plain link without an owner.
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

/// What a link is at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It leads somewhere.
    Live,
    /// Its time is over.
    Expired,
    /// Its clicks are used up.
    Exhausted,
    /// Somebody who may deleted it.
    Deleted,
}

impl Link {
    /// What it is at `now`, and since when it is over.
    pub fn state(&self, now: Timestamp) -> (State, Option<Timestamp>) {
        let expired_at = self.expires_at.filter(|at| *at <= now);
        let exhausted_at = self
            .click_limit
            .filter(|limit| limit.used >= limit.max)
            .map(|limit| limit.exhausted_at.unwrap_or(self.changed_at));
        if self.deleted_at.is_some() {
            (State::Deleted, self.deleted_at)
        } else if expired_at.is_some() {
            (State::Expired, expired_at)
        } else if exhausted_at.is_some() {
            (State::Exhausted, exhausted_at)
        } else {
            (State::Live, None)
        }
    }

    /// Whether its short may be given away at `now`: it has been over for longer than `reserved`.
    pub fn is_forgotten(&self, now: Timestamp, reserved: SignedDuration) -> bool {
        self.state(now).1.is_some_and(|over| now.duration_since(over) >= reserved)
    }

    /// Whether a redirect needs nothing but this row: no password to ask for, no click to commit.
    pub fn is_plain(&self) -> bool {
        self.password.is_none() && self.click_limit.is_none()
    }
}
