//! Caches, failure counts and hashing as others see them, over a real data folder.

#![expect(clippy::unwrap_used, reason = "tests")]

mod accounts;
mod cache;
mod hashing;
mod promises;
mod sign_in;
mod support;
mod trust;
