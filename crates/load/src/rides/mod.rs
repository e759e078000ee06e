//! Workloads for lift rides: recording them one by one, recording them in batches, reading them.
//!
//! Every event has an id that is minted before its first try and sent with each retry, so that a server can
//! count it once however often it arrives. The expected results are kept as sums for each skier's day:
//! memory grows with those, not with the events.

mod batch;
mod cli;
mod get;
mod plan;
mod post;
mod read;
mod report;
mod request;
mod ride;
mod run;
mod tally;
mod verify;

pub(crate) use cli::RidesCommand;
pub(crate) use run::run_to;
