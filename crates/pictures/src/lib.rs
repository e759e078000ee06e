//! Pictures of accounts: from hostile bytes to two squares, and where these are kept.
//!
//! What somebody sends is looked at before anything is decoded: that it is one of four kinds and nothing
//! else besides, and what it would take to decode it. That, and the decoding, happen in a process that can
//! take little and do nothing else, and ends after it. Of the bytes none is kept.

mod alone;
mod answer;
mod child;
mod decode;
mod jpeg;
mod png;
mod process;
mod square;
mod store;
mod webp;

pub use crate::{
    child::decode_here,
    decode::squares,
    process::{DecoderOptions, DecoderProcess},
    store::ObjectPictures,
};
