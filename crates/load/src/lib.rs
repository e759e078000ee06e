//! The load generator: `lodge load links-get|links-put|links-mixed|accounts-get|accounts-sign-in`,
//! `lodge load rides|rides-batch|rides-get` and `lodge load board`, and their reports.
//!
//! It works against any HTTP/1.1 server and does not depend on Lodge's other crates. Guarantees about
//! its figures:
//!
//! - An error response is never a success. Latencies are those of successful requests only.
//! - In an open loop (`--rate`), request k is due at start + k / rate whatever the server does, and
//!   its latency counts from that time: every request that falls due during a stall pays for the stall.
//! - The client's own lateness (pacing lag) is reported separately. The timer is a timerfd on Linux, late by
//!   some tens of microseconds on an idle machine; on other systems it is up to 1 ms late.
//! - With `--verify` every acknowledged write is read back. An indeterminate outcome (timeout, lost
//!   connection, 5xx) is counted as unknown, never as acknowledged.
//!
//! A run uses few threads. Each has a single-threaded runtime, its share of the connections and its own
//! record; the records are merged when all threads have ended.

mod accounts;
mod board;
mod cli;
mod engine;
mod http;
mod links;
mod report;
mod rides;
mod values;

pub use accounts::{SEED_PASSWORD, SEEDED_MAX, seeded_name};
pub use cli::{LoadCommand, run_to};
pub use engine::limits::allow_connections;
pub use report::figures::Spread;
pub use report::page::RunOutcome;
pub use values::parse_duration;
