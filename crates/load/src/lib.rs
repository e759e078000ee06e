//! The load generator: `lodge load links-get|links-put|links-mixed|accounts-get|accounts-sign-in` and
//! `lodge load rides|rides-batch|rides-get` and `lodge load board`, and its reports.
//!
//! It speaks to any HTTP/1.1 server and imports nothing of Lodge's. What it promises a reader of
//! its figures:
//!
//! - An error answer is never a success, and latencies are those of successes alone.
//! - In an open loop (`--rate`) request k is due at start + k / rate whatever the server does, and
//!   its latency counts from then: a stall is paid by every request that fell due in it.
//! - The client's own lateness is reported apart (pacing lag): a timerfd on Linux, some tens of
//!   microseconds on an idle machine; up to 1 ms on other systems.
//! - With `--verify` every acknowledged write is read back. What nobody can know (timeout, lost
//!   connection, 5xx) is counted as unknown, never as acknowledged.
//!
//! Few threads, each with a single-threaded runtime, its share of the connections and a record of
//! its own; the records are merged when all have ended.

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
pub use report::figures::Spread;
pub use report::page::Outcome;
pub use values::parse_duration;
