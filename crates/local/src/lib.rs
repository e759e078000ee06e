//! In-process parts that work with any engine: caches as decorators of ports, failure counters, and the thread pool
//! that hashes passwords.

mod accounts;
mod epochs;
mod failures;
mod finish;
mod flights;
mod following;
mod gates;
mod keys;
mod links;
mod opened;
mod passwords;

pub use self::{
    accounts::CachedAccounts, failures::CountedFailures, gates::CachedGates, keys::CachedKeys,
    links::CachedLinks, passwords::Argon2Pool,
};
