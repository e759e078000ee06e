//! The client side of HTTP/1.1: prepared requests, and an incremental response decoder.

pub(crate) mod http1;
pub(crate) mod target;
pub(crate) mod template;
