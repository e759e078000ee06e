//! In-process parts that work with any engine: caches as decorators of ports, failure counters, the thread pool that
//! hashes passwords, the list of stolen ones, and the security log.

mod account_changes;
mod accounts;
mod breached;
mod copied_sessions;
mod epochs;
mod failures;
mod fair_queue;
mod feed_trust;
mod finish;
mod gates;
mod keys;
mod links;
mod passwords;
mod security_log;
mod single_flight;
mod token_cache;

pub use self::{
    accounts::CachedAccounts,
    breached::BreachedFilter,
    copied_sessions::CopiedSessions,
    failures::CountedFailures,
    gates::CachedGates,
    keys::CachedKeys,
    links::CachedLinks,
    passwords::Argon2Pool,
    security_log::{SECURITY_EVENTS_WAITING_MAX, SecurityLog},
};
