//! The embedded engine as others see it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod accounts;
mod cache;
mod files;
mod hashing;
mod moving;
mod promises;
mod rollups;
mod sign_in;
mod support;
mod trust;
