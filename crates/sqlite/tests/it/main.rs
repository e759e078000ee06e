//! The embedded engine as others see it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod files;
mod moving;
mod promises;
mod rollups;
mod support;
