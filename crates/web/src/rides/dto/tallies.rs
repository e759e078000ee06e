//! Resorts with their lifts, and how much was ridden there.

use lodge_domain::rides::{HourTally, Leader, Lift, LiftId, LiftTally, Resort, ResortId};
use serde::Serialize;
use utoipa::ToSchema;

/// The resorts with their lifts.
#[derive(Serialize, ToSchema)]
#[schema(as = LiftTables)]
pub(in crate::rides) struct LiftTablesJson<'a> {
    pub(in crate::rides) resorts: Vec<LiftTableJson<'a>>,
}

/// A resort with its lifts.
#[derive(Serialize, ToSchema)]
#[schema(as = LiftTable)]
pub(in crate::rides) struct LiftTableJson<'a> {
    #[serde(rename = "resortID")]
    id: u16,
    #[schema(example = "Mission Ridge")]
    name: &'a str,
    lifts: Vec<LiftJson<'a>>,
}

impl<'a> LiftTableJson<'a> {
    /// Of this resort.
    pub(in crate::rides) fn of(id: ResortId, resort: &'a Resort) -> Self {
        let lift = |(LiftId(id), lift): (&LiftId, &'a Lift)| LiftJson {
            id: *id,
            name: lift.name.as_deref(),
            vertical: lift.vertical,
        };
        Self { id: id.0, name: &resort.name, lifts: resort.lifts.iter().map(lift).collect() }
    }
}

/// A lift.
#[derive(Serialize, ToSchema)]
#[schema(as = Lift)]
pub(in crate::rides) struct LiftJson<'a> {
    #[serde(rename = "liftID")]
    id: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// How far up it goes.
    vertical: u32,
}

/// Who went farthest up.
#[derive(Serialize, ToSchema)]
#[schema(as = Leaders)]
pub(in crate::rides) struct LeadersJson {
    pub(in crate::rides) leaders: Vec<LeaderJson>,
}

/// One of them.
#[derive(Serialize, ToSchema)]
#[schema(as = Leader)]
pub(in crate::rides) struct LeaderJson {
    /// 1 is the first; of two who went as far, the one with the lower number comes first.
    rank: usize,
    #[serde(rename = "skierID")]
    skier: u32,
    vertical: u64,
}

impl LeaderJson {
    /// Of the leader at this place; 0 is the first.
    pub(in crate::rides) fn at((place, leader): (usize, Leader)) -> Self {
        Self { rank: place + 1, skier: leader.skier.0, vertical: leader.vertical }
    }
}

/// A day by lift.
#[derive(Serialize, ToSchema)]
#[schema(as = LiftTallies)]
pub(in crate::rides) struct LiftsJson {
    pub(in crate::rides) lifts: Vec<LiftTallyJson>,
}

/// A lift's day.
#[derive(Serialize, ToSchema)]
#[schema(as = LiftTally)]
pub(in crate::rides) struct LiftTallyJson {
    #[serde(rename = "liftID")]
    lift: u16,
    rides: u64,
    vertical: u64,
}

impl From<LiftTally> for LiftTallyJson {
    fn from(LiftTally { lift, tally }: LiftTally) -> Self {
        Self { lift: lift.0, rides: tally.rides, vertical: tally.vertical }
    }
}

/// A day by hour.
#[derive(Serialize, ToSchema)]
#[schema(as = HourTallies)]
pub(in crate::rides) struct HoursJson {
    pub(in crate::rides) hours: Vec<HourTallyJson>,
}

/// An hour of a day.
#[derive(Serialize, ToSchema)]
#[schema(as = HourTally)]
pub(in crate::rides) struct HourTallyJson {
    /// 0 to 23.
    hour: u16,
    rides: u64,
    vertical: u64,
}

impl From<HourTally> for HourTallyJson {
    fn from(HourTally { hour, tally }: HourTally) -> Self {
        Self { hour: hour.0, rides: tally.rides, vertical: tally.vertical }
    }
}
