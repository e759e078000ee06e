//! Pictures of people and in messages: from hostile bytes to two files, and where these are kept.
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
mod shape;
mod store;
mod webp;

pub use crate::{
    child::decode_here,
    decode::decode,
    process::{DecoderOptions, DecoderProcess},
    store::ObjectPictures,
};
