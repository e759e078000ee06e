//! The engines against real servers, which `cargo xtask cluster up` starts.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod answer_proxy;
mod behind;
mod cassandra;
mod mariadb;
mod redis;
mod redis_server;
mod testbed;
mod tls;
