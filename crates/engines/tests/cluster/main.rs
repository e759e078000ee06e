//! The engines against real servers, which `cargo xtask cluster up` starts.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod behind;
mod cassandra;
mod mariadb;
mod muffled;
mod own_redis;
mod redis;
mod testbed;
mod tls;
