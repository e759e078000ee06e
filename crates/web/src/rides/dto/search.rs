//! What a search finds.

use lodge_domain::rides::{Dimension, ReadFrom, RideGroup, RidesFound};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// What was found.
#[derive(Serialize, ToSchema)]
#[schema(as = RidesFound)]
pub(in crate::rides) struct FoundJson<'a> {
    #[schema(value_type = Vec<GroupJson>)]
    groups: Groups<'a>,
    /// true if there are more than these, else absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    more: Option<bool>,
    /// `sums`, if there were such that could answer, else `rides`, of which each was read.
    read_from: ReadFromJson,
}

impl<'a> FoundJson<'a> {
    /// Of what was found by these dimensions.
    pub(in crate::rides) fn of(by: &'a [Dimension], found: &'a RidesFound) -> Self {
        let read_from = match found.read_from {
            ReadFrom::Sums => ReadFromJson::Sums,
            ReadFrom::Rides => ReadFromJson::Rides,
        };
        let more = found.more.then_some(true);
        Self { groups: Groups { by, groups: &found.groups }, more, read_from }
    }
}

/// Where an answer was read.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReadFrom)]
enum ReadFromJson {
    Sums,
    Rides,
}

/// Groups, each written out where it is: there may be thousands.
struct Groups<'a> {
    by: &'a [Dimension],
    groups: &'a [RideGroup],
}

impl Serialize for Groups<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.groups.iter().map(|group| GroupJson::of(self.by, group)))
    }
}

/// Rides that have in common what was asked for, and nothing else is said of.
#[derive(Serialize, ToSchema)]
#[schema(as = RideGroup)]
struct GroupJson {
    #[serde(rename = "seasonID", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, example = "2025")]
    season: Option<Quoted>,
    #[serde(rename = "resortID", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u32, required = false)]
    resort: Option<u32>,
    #[serde(rename = "dayID", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u32, required = false)]
    day: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u32, required = false)]
    hour: Option<u32>,
    #[serde(rename = "liftID", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u32, required = false)]
    lift: Option<u32>,
    #[serde(rename = "skierID", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u32, required = false)]
    skier: Option<u32>,
    rides: u64,
    vertical: u64,
    /// Different ones, unless they were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    skiers: Option<u64>,
}

impl GroupJson {
    fn of(by: &[Dimension], group: &RideGroup) -> Self {
        let key = |wanted| {
            let place = by.iter().position(|dimension| *dimension == wanted)?;
            group.key.get(place).copied()
        };
        Self {
            season: key(Dimension::Season).map(Quoted),
            resort: key(Dimension::Resort),
            day: key(Dimension::Day),
            hour: key(Dimension::Hour),
            lift: key(Dimension::Lift),
            skier: key(Dimension::Skier),
            rides: group.tally.rides,
            vertical: group.tally.vertical,
            skiers: group.skiers,
        }
    }
}

/// A number between quotation marks, as seasons are written.
struct Quoted(u32);

impl Serialize for Quoted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// What rides can be told apart by.
#[derive(ToSchema)]
#[schema(as = RideDimension, rename_all = "snake_case")]
#[expect(dead_code, reason = "what it is read into knows more; this describes it")]
pub(in crate::rides) enum DimensionJson {
    Season,
    Resort,
    Day,
    Hour,
    Lift,
    Skier,
}
