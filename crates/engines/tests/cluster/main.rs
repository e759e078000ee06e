//! The engines against the real thing: `cargo xtask cluster up` brings it up.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod behind;
mod cassandra;
mod mariadb;
mod muffled;
mod own_redis;
mod redis;
mod testbed;
mod tls;
