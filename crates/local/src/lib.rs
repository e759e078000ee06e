//! What every process has beside its engines: caches as decorators of ports, failure counts, and the
//! pool of threads that hash passwords.

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
