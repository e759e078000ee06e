//! Lift rides: gates, events that count once, passes, and sums of rides.

mod all_resorts_day;
mod event;
mod gate;
mod ledger;
mod pass;
mod profile;
mod resort_catalog;
mod ride;
mod search;
mod service;
mod store;
mod tally;
mod views;

pub use self::{
    all_resorts_day::AllResortsDay,
    event::{BatchKey, GateId, KeyedBatch, RideEvent, RideEventContent, RideEventId},
    gate::{GATE_PREFIX, Gate, GateStore, Gates, Sender},
    ledger::{LedgerTotals, ProcessTotals},
    pass::{PASSES_MAX, Pass, PassClaim, PassCode, PassCodes, PassStore, Passes},
    profile::{HolderSync, LeaderProfile, PassHolder},
    resort_catalog::{Lift, Ranges, Resort, ResortCatalog, VerticalUnit},
    ride::{Day, Hour, LiftId, Minute, ResortDay, ResortId, Ride, Season, SkierId, Span},
    search::{
        Dimension, EXPORTS_MAX, GROUPS_MAX, GroupOrder, ReadFrom, RideGroup, RidePosition,
        RideQuery, RideSearch, RidesFound, SEARCHES_MAX, StoredRide,
    },
    service::{EventOutcome, NewEvent, RideStores, Rides},
    store::{HIDDEN_MAX, LEADERS_MAX, Rebuilt, Recorded, RideLog, RideTallies, StoreTotals},
    tally::{Breakdown, DayTally, HourTally, Leader, LiftTally, SeasonVertical, SkierDay, Tally},
    views::{NamedLeader, ResortView, SkierView},
};
