//! The RPC protocol between the web tier and the accounts tier, specified in `docs/wire.md`: JSON frames over
//! TCP, multiplexed calls on a connection, a deadline for each call.
//!
//! This crate does not interpret calls: it carries a [`lodge_domain::accounts::Call`] to the server and its
//! outcome back to the client.

mod client;
mod frame;
mod handshake;
mod key;
mod message;
mod probe;
mod server;
mod tls;

pub use self::{
    client::{Pool, PoolOptions},
    key::SharedKey,
    probe::{ProbeError, probe},
    server::{ServerOptions, serve},
    tls::{ClientTls, Identity, ServerTls, TlsError, certificates_expiry},
};

/// For the fuzz targets.
pub mod raw {
    pub use crate::{
        frame::{FRAME_BYTES_MAX, codec},
        handshake::{Bytes32, ClientHello, HandshakeResult, ServerHello},
        message::{FromClient, FromServer, Outcome},
    };
}
