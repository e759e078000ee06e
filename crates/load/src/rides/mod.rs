//! Lift rides: recorded one by one, recorded many at a time, asked for.
//!
//! Every event has an id of its own, minted before it is sent and the same at each try, so that a server
//! can count it once however often it comes. What a run must find afterwards is kept as sums for each
//! skier's day: memory grows with those, not with the events.

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
