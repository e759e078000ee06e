//! Security events of accounts.

use std::collections::{HashMap, hash_map::Entry};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{AccountId, Accounts, Username};
use crate::{
    Error, Result,
    security::{
        SECURITY_EVENTS_PER_CALL_MAX, SecurityActor, SecurityEvent, SecurityEventKind,
        SecurityEventQuery,
    },
};

/// The filter of a list of security events; `None` matches all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SecurityEventFilter {
    /// Events of this kind only.
    pub kind: Option<SecurityEventKind>,
    /// Events that concern this account, or that it caused.
    pub account: Option<Username>,
    /// Events from this origin, as the list shows it.
    pub origin: Option<String>,
    /// Events from this time on.
    pub since: Option<Timestamp>,
    /// Events before the one with this id.
    pub before: Option<Uuid>,
    /// The maximum number; at most [`SECURITY_EVENTS_PER_CALL_MAX`].
    pub limit: usize,
}

/// A security event with the names of its accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSecurityEvent {
    /// The event.
    pub event: SecurityEvent,
    /// The account that caused it, if one did that still exists.
    pub actor: Option<Username>,
    /// The account that it concerns, if that still exists.
    pub account: Option<Username>,
}

impl NamedSecurityEvent {
    /// Names the party that caused the event.
    pub fn by(&self) -> String {
        match self.event.actor {
            SecurityActor::Visitor => "a visitor".to_owned(),
            SecurityActor::Operator => "the command line".to_owned(),
            SecurityActor::Account(id) => named(self.actor.as_ref(), id),
            SecurityActor::Key(id) => format!("API key {id}"),
        }
    }

    /// Names the account that the event concerns, if it does.
    pub fn about(&self) -> Option<String> {
        self.event.account.map(|id| named(self.account.as_ref(), id))
    }
}

fn named(name: Option<&Username>, AccountId(id): AccountId) -> String {
    name.map_or_else(|| format!("deleted account {id}"), ToString::to_string)
}

impl Accounts {
    /// Stores security events of this process or of a web process.
    pub async fn store_security_events(&self, events: Vec<SecurityEvent>) -> Result<()> {
        if events.len() > SECURITY_EVENTS_PER_CALL_MAX {
            return Err(Error::invalid(
                "events",
                format!("must be at most {SECURITY_EVENTS_PER_CALL_MAX}"),
            ));
        }
        self.ports.security_events.append(events).await
    }

    /// Returns security events, newest first. None is of an account that does not exist.
    pub async fn security_events(
        &self,
        filter: SecurityEventFilter,
    ) -> Result<Vec<NamedSecurityEvent>> {
        let SecurityEventFilter { kind, account, origin, since, before, limit } = filter;
        let account = match account {
            None => None,
            Some(name) => match self.ports.store.find(&name).await? {
                Some((account, _)) => Some(account.id),
                None => return Ok(Vec::new()),
            },
        };
        let limit = limit.min(SECURITY_EVENTS_PER_CALL_MAX);
        let query = SecurityEventQuery { kind, account, origin, since, before, limit };
        let events = self.ports.security_events.list(query).await?;
        let mut names = HashMap::new();
        for id in events.iter().flat_map(accounts_of) {
            if let Entry::Vacant(unknown) = names.entry(id) {
                let found = self.ports.store.get(id).await?;
                unknown.insert(found.map(|(account, _)| account.username));
            }
        }
        let name = |id: Option<AccountId>| id.and_then(|id| names.get(&id).cloned().flatten());
        let told = events.into_iter().map(|event| NamedSecurityEvent {
            actor: name(actor_of(&event)),
            account: name(event.account),
            event,
        });
        Ok(told.collect())
    }
}

fn actor_of(event: &SecurityEvent) -> Option<AccountId> {
    if let SecurityActor::Account(id) = event.actor { Some(id) } else { None }
}

fn accounts_of(event: &SecurityEvent) -> impl Iterator<Item = AccountId> + use<> {
    actor_of(event).into_iter().chain(event.account)
}
