//! Profile pictures and pictures in messages: safe decoding of untrusted uploads, and storage of the results.
//!
//! Before an upload is decoded, it is checked: it must have one of four formats, must not be a polyglot, and must
//! not exceed the limits of memory and pixels. Checks and decoding run in a sandboxed child process with resource
//! limits, one per upload. The upload is re-encoded to two sizes; none of its own bytes is stored.

mod child;
mod decode;
mod jpeg;
mod moving;
mod png;
mod polyglot;
mod process;
mod protocol;
mod sandbox;
mod shape;
mod store;
mod webp;

pub use crate::{
    child::decode_here,
    decode::decode,
    moving::{PicturesComparison, PicturesMove},
    process::{DecoderOptions, DecoderProcess},
    sandbox::{Sandbox, probe_sandbox},
    store::ObjectPictures,
};
