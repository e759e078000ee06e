//! Tests of several processes on a real cluster, which `cargo xtask cluster up` starts. Without it they fail.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking")]

mod accounts;
#[path = "../it/client.rs"]
#[expect(dead_code, reason = "the tests on one machine use the rest")]
mod client;
mod coherence;
mod database_outage;
mod haproxy;
mod keyspace;
mod moving;
mod moving_accounts;
mod namespace;
mod pictures;
mod secrecy;
#[path = "../it/server.rs"]
#[expect(dead_code, reason = "the tests on one machine use the rest")]
mod server;
mod stores;
mod testbed;
mod write_behind;
