//! A board: many listen, some post, and what everybody got is compared.
//!
//! Each message carries the run's name and a number, in its client id and in its text. What became of it is
//! kept by number, for all streams together; a stream keeps one bit for each message that it has.

mod cli;
mod event;
mod listen;
mod messages;
mod order;
mod people;
mod plan;
mod post;
mod reader;
mod report;
mod request;
mod run;
mod sse;
mod verify;

pub(crate) use cli::BoardArgs;
pub(crate) use run::run_to;
