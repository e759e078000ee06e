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

mod batch;
mod board;
mod cli;
mod connection;
mod control;
mod create;
mod crew;
mod http1;
mod interrupt;
mod ledger;
mod limits;
mod links;
mod pace;
mod people;
mod plan;
mod raw;
mod record;
mod report;
mod rides;
mod run;
mod series;
mod target;
mod template;
mod timer;
mod turns;
mod verify;
mod wire;
mod worker;

pub use board::{BoardArgs, BoardCommand};
pub use cli::{
    AccountsGetCommand, CommonArgs, GetCommand, LinkSetArgs, LoadCommand, MixedCommand, PutCommand,
    RequestCommand, SignInCommand, parse_duration,
};
pub use people::{SEED_PASSWORD, SEEDED_MAX, seeded_name};
pub use report::Spread;
pub use rides::{
    Compress, RidesArgs, RidesBatchCommand, RidesCommand, RidesGetCommand, RidesPostCommand,
};
pub use run::{Outcome, run_to};
