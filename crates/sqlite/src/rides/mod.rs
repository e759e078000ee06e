//! The store of rides and their sums.

mod leaders;
mod read;
mod rebuild;
mod record;
mod recorder;
mod search;
mod searches;
mod state;
mod store;
mod sums;
pub(crate) mod write_back;

#[cfg(test)]
pub(crate) use self::rebuild::{rebuild, repair_skier_day};
#[cfg(test)]
pub(crate) use self::{
    leaders::STATEMENTS as OF_LEADERS,
    read::statements as of_reads,
    rebuild::statements as of_rebuilding,
    record::STATEMENTS as OF_EVENTS,
    search::statements as of_searches,
    sums::STATEMENTS as OF_SUMS,
    write_back::{OF_DAYS, OF_PLACES},
};
pub(crate) use self::{
    recorder::Recorder, searches::Searches, store::SqliteRides, write_back::Thresholds,
};
