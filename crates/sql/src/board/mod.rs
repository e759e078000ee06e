//! The board's stores: a log of events, and what is made of them.
//!
//! Events are only added to the log; of a deleted message its texts are erased. Everything else about messages (whether each can be read, which event has its text, its
//! words, mentions and reactions, and so what is unread) is a projection, which [`record()`] brings up to date in the
//! transaction that stores an event, whatever the order in which events of several origins arrive.

mod amend;
mod channels;
mod events;
mod hooks;
mod log;
mod messages;
mod origins;
mod pending;
mod people;
mod pictures;
mod post;
mod projection;
mod reading;
mod record;
mod reports;
mod row;
mod store;
mod words;

pub use self::{
    origins::{ChannelRow, channel, next},
    people::{FORGOTTEN_AT_ONCE, forget_mentions, note},
    reading::SqlReads,
    record::{Recorded, record},
    store::SqlBoard,
    words::WordIndex,
};
use crate::Statement;

/// Every statement that finds its way by an index. Those that read all channels, origins or hooks, of which there are
/// a few hundred at most, are left out.
pub fn statements() -> impl Iterator<Item = &'static Statement> {
    [
        amend::STATEMENTS,
        channels::STATEMENTS,
        events::STATEMENTS,
        hooks::STATEMENTS,
        messages::STATEMENTS,
        origins::STATEMENTS,
        people::STATEMENTS,
        pictures::STATEMENTS,
        post::STATEMENTS,
        projection::STATEMENTS,
        reading::STATEMENTS,
        record::STATEMENTS,
        reports::STATEMENTS,
        row::STATEMENTS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Those whose rows come in the order of an index.
pub fn pages() -> impl Iterator<Item = &'static Statement> {
    [events::STATEMENTS, messages::PAGES, reports::PAGES].into_iter().flatten().copied()
}
