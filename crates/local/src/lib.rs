//! In-process parts that work with any engine: caches as decorators of ports, failure counters, and the thread pool
//! that hashes passwords.

mod accounts;
mod epochs;
mod failures;
mod feed_trust;
mod finish;
mod gates;
mod keys;
mod links;
mod passwords;
mod single_flight;
mod token_cache;

pub use self::{
    accounts::CachedAccounts, failures::CountedFailures, gates::CachedGates, keys::CachedKeys,
    links::CachedLinks, passwords::Argon2Pool,
};
