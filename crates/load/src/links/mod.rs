//! Short links and accounts: followed, created, signed in.

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

pub use cli::{
    AccountsGetCommand, CommonArgs, GetCommand, LinkSetArgs, MixedCommand, PaceArgs, PutCommand,
    RequestCommand, SignInCommand,
};
pub(crate) use run::run_to;
