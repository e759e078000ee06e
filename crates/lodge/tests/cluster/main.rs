//! What Lodge promises of several machines, tried on a real cluster: `cargo xtask cluster up` brings
//! it up, and these tests fail without it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking")]

mod behind;
#[path = "../it/client.rs"]
#[expect(dead_code, reason = "one machine is asked for more")]
mod client;
mod coherence;
mod keyspace;
mod moving;
mod secrecy;
#[path = "../it/server.rs"]
#[expect(dead_code, reason = "one machine is asked for more")]
mod server;
mod stores;
mod testbed;
