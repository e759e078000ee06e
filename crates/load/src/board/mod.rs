//! A board: accounts post while many streams are open, and what every stream received is compared.
//!
//! Each message carries the run's prefix and a number, in its client id and in its text. Its outcome is
//! kept by number, for all streams together; a stream keeps one bit for each message that it has.

mod cli;
mod event;
mod listen;
mod messages;
mod order;
mod plan;
mod post;
mod reader;
mod report;
mod request;
mod run;
mod setup;
mod sse;
mod verify;

pub(crate) use cli::BoardArgs;
pub(crate) use run::run_to;
