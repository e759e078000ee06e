//! Workloads for short links and accounts.

mod cli;
mod create;
mod ledger;
mod plan;
mod raw;
mod report;
mod run;
mod set;
mod verify;
mod work;

pub(crate) use cli::RequestCommand;
pub(crate) use run::run_to;
