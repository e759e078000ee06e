//! The forms that rides have in JSON.

mod course;
mod ledger;
mod line;
mod search;
mod tallies;

use lodge_domain::rides::EventId;
use serde::{Serialize, Serializer};

pub(super) use self::{
    course::{
        IdJson, MessageJson, ResortDayJson, ResortJson, ResortsJson, SeasonsJson, VerticalAnswer,
        VerticalJson,
    },
    ledger::LedgerJson,
    line::LineJson,
    search::{DimensionJson, FoundJson},
    tallies::{HoursJson, LeaderJson, LeadersJson, LiftTableJson, LiftTablesJson, LiftsJson},
};

/// An event's id, written out in its place.
pub(super) struct Id<'a>(pub(super) &'a EventId);

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}
