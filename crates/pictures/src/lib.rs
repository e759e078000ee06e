//! Pictures of accounts: from hostile bytes to two squares, and where these are kept.
//!
//! What somebody sends is looked at before anything is decoded: that it is one of four kinds and nothing
//! else besides, and what it would take to decode it. Of its bytes none is kept.

mod alone;
mod decode;
mod jpeg;
mod png;
mod pool;
mod square;
mod store;
mod webp;

pub use crate::{decode::squares, pool::DecoderPool, store::ObjectPictures};
