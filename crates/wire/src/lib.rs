//! The protocol by which the web tier asks the accounts tier, as `docs/wire.md` describes it: frames of
//! JSON over TCP, many calls at once on a connection, each with its own deadline.
//!
//! Nothing here knows what an account is: a [`lodge_domain::accounts::Call`] goes in on one side and
//! comes out on the other.

mod client;
mod frame;
mod hello;
mod key;
mod message;
mod probe;
mod server;
mod tls;

pub use self::{
    client::{Pool, PoolOptions},
    key::SharedKey,
    probe::{NotMet, say_hello},
    server::{ServerOptions, serve},
    tls::{BadTls, ClientTls, Identity, ServerTls, certificates_end},
};

/// For the fuzz targets.
pub mod raw {
    pub use crate::{
        frame::{FRAME_BYTES_MAX, codec},
        hello::{Answered, Bytes32, Greeting, Verdict},
        message::{FromClient, FromServer, Outcome},
    };
}
