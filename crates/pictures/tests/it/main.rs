//! What becomes of files that somebody sends, and of pictures that are kept.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail by panicking")]

mod decoding;
mod metadata;
mod process;
mod store;
