//! Sends requests and measures them: threads, connections, pacing, records.

pub(crate) mod client;
pub(crate) mod control;
pub(crate) mod exchange;
pub(crate) mod interrupt;
pub(crate) mod limits;
pub(crate) mod outcome;
pub(crate) mod pace;
pub(crate) mod record;
pub(crate) mod run;
pub(crate) mod series;
mod threads;
mod timer;
pub(crate) mod times;
pub(crate) mod wire;

pub(crate) use threads::{on_threads, threads};
