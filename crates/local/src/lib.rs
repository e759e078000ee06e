//! In-process parts that work with any engine: caches as decorators of ports, failure counters, and the thread pool
//! that hashes passwords, and the list of stolen ones.

mod accounts;
mod breached;
mod epochs;
mod failures;
mod fair_queue;
mod feed_trust;
mod finish;
mod gates;
mod keys;
mod links;
mod passwords;
mod single_flight;
mod token_cache;

pub use self::{
    accounts::CachedAccounts, breached::BreachedFilter, failures::CountedFailures,
    gates::CachedGates, keys::CachedKeys, links::CachedLinks, passwords::Argon2Pool,
};
