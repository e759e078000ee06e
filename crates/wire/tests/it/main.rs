//! Both sides of the protocol over real sockets.

#![expect(clippy::unwrap_used, reason = "tests")]

mod bad_peers;
mod calls;
mod document;
mod limits;
mod pending_handshakes;
mod restarts;
mod samples;
mod support;
mod tls;
