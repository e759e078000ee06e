//! The public interface of the embedded engine.

#![expect(clippy::unwrap_used, reason = "tests")]

mod files;
mod moving;
mod promises;
mod rollups;
mod support;
