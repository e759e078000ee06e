//! The board's stores: a log of events, and projections of it.
//!
//! The log is append-only, except that the texts of a deleted message are erased. The rest of a message's state
//! (visibility, the event that has its text, words, mentions, reactions, unread counts) is a projection. [`record()`]
//! updates it in the transaction that stores an event; the result does not depend on the order in which events of
//! several origins arrive.

mod apply;
mod channels;
mod events;
mod hooks;
mod log;
mod members;
mod messages;
mod origins;
mod pending;
mod pictures;
mod post;
mod projection;
mod read_positions;
mod record;
mod reports;
mod row;
mod store;
mod words;

pub use self::{
    members::{MENTIONS_PER_DELETE, forget_mentions, note},
    origins::{ChannelRow, channel, next},
    read_positions::SqlReadPositions,
    record::{LoggedEvent, record},
    store::SqlBoard,
    words::WordIndex,
};
use crate::Statement;

/// Returns every statement that must use an index. Statements that read all channels, origins or hooks (a few hundred
/// rows at most) are left out.
pub fn statements() -> impl Iterator<Item = &'static Statement> {
    [
        apply::STATEMENTS,
        channels::STATEMENTS,
        events::STATEMENTS,
        hooks::STATEMENTS,
        messages::STATEMENTS,
        origins::STATEMENTS,
        members::STATEMENTS,
        pictures::STATEMENTS,
        post::STATEMENTS,
        projection::STATEMENTS,
        read_positions::STATEMENTS,
        record::STATEMENTS,
        reports::STATEMENTS,
        row::STATEMENTS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Returns the statements that must read their rows in the order of an index.
pub fn pages() -> impl Iterator<Item = &'static Statement> {
    [events::STATEMENTS, messages::PAGES, reports::PAGES].into_iter().flatten().copied()
}
