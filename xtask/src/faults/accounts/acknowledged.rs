//! The acknowledged accounts and sessions.

use std::time::Instant;

use crate::faults::workload::List;

/// What was acknowledged.
#[derive(Default)]
pub(crate) struct Acknowledged {
    pub(super) people: List<Person>,
    /// Sessions that no client ends.
    pub(super) sessions: List<Session>,
    pub(super) ended: List<EndedSession>,
    /// The token of an admin.
    pub(super) admin: List<String>,
}

/// A session of an account.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) username: String,
    pub(super) token: String,
}

/// A session whose end was acknowledged at a moment.
#[derive(Debug, Clone)]
pub(super) struct EndedSession {
    pub(super) token: String,
    pub(super) at: Instant,
}

/// An acknowledged account, with what it may look like.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) username: String,
    pub(super) password: String,
    /// Two if the outcome of the last change is unknown.
    pub(super) nicknames: Vec<String>,
    /// The possible paths of its picture; empty without one.
    pub(super) pictures: Vec<String>,
    /// Whether it may have a picture whose path is not known, because there was no answer.
    pub(super) may_have_another: bool,
    /// `None` if unknown.
    pub(super) is_banned: Option<bool>,
}

impl Person {
    pub(super) fn new(username: String) -> Self {
        Self {
            password: format!("the password of {username}"),
            nicknames: vec![username.clone()],
            pictures: vec![String::new()],
            may_have_another: false,
            is_banned: Some(false),
            username,
        }
    }
}
