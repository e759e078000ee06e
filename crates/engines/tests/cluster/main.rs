//! The engines against real servers, which `cargo xtask cluster up` starts.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod answer_proxy;
mod behind;
mod cassandra;
mod cassandra_role;
mod mariadb;
mod redis;
mod redis_server;
mod redis_sessions;
mod rights;
mod testbed;
mod tls;
