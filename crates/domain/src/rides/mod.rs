//! Lift rides: gates, events that count once, passes, and sums of rides.

mod event;
mod gate;
mod ledger;
mod mountain;
mod mountain_day;
mod pass;
mod ride;
mod search;
mod service;
mod store;
mod tally;
mod views;

pub use self::{
    event::{BatchKey, EventId, GateId, NamedBatch, RideEvent, What},
    gate::{GATE_PREFIX, Gate, GateStore, Gates, Sender},
    ledger::{Ledger, Progress},
    mountain::{Lift, Mountain, Ranges, Resort},
    mountain_day::MountainDay,
    pass::{Claimed, PASSES_MAX, Pass, PassCode, PassCodes, PassStore, Passes},
    ride::{Day, Hour, LiftId, Minute, ResortDay, ResortId, Ride, Season, SkierId, Span},
    search::{
        Dimension, EXPORTS_MAX, GROUPS_MAX, GroupOrder, ReadFrom, RideGroup, RidePlace, RideQuery,
        RideSearch, RidesFound, SEARCHES_MAX, StoredRide,
    },
    service::{NewEvent, Outcome, RideStores, Rides},
    store::{ForEver, HIDDEN_MAX, LEADERS_MAX, Rebuilt, Recorded, RideLog, RideTallies},
    tally::{Breakdown, DayTally, HourTally, Leader, LiftTally, SeasonVertical, SkierDay, Tally},
    views::{ResortView, SkierView},
};
