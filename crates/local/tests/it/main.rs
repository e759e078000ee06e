//! Caches, failure counters and hashing through their public interface, on a real data folder.

#![expect(clippy::unwrap_used, reason = "tests")]

mod accounts;
mod cache;
mod copies;
mod hashing;
mod key_sessions;
mod promises;
mod sign_in;
mod support;
mod trust;
