//! Decoding of uploads and storage of pictures.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail by panicking")]

mod decoding;
mod metadata;
mod moving;
mod process;
mod store;
