//! The JSON forms of the rides API.

use http::StatusCode;
use lodge_domain::{
    pictures::PictureSize,
    rides::{
        Dimension, HourTally, LeaderProfile, LedgerTotals, Lift, LiftId, LiftTally, NamedLeader,
        ProcessTotals, ReadFrom, Resort, ResortId, RideEventId, RideGroup, RidesFound,
        SeasonVertical, StoreTotals,
    },
};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::{error::Problem, pictures};

/// An error of the rides API.
#[derive(ToSchema)]
#[schema(as = ResponseMsg)]
#[expect(dead_code, reason = "errors are written elsewhere; this is only the schema")]
pub(super) struct MessageJson {
    /// What is wrong, and what would be right; begins with the name of the wrong field, if it is one.
    #[schema(example = "liftID: must be a whole number from 1 to 40")]
    message: String,
}

/// A ride of the skier and day that the path names.
#[derive(ToSchema)]
#[schema(as = LiftRide)]
#[expect(dead_code, reason = "a borrowing type is read; this is only the schema")]
pub(super) struct RideJson {
    /// The minute of the day; 1 is the first.
    #[schema(example = 217)]
    time: u16,
    /// The lift's number, unique at its resort.
    #[schema(rename = "liftID", example = 21)]
    lift: u16,
}

/// Serialises an event's id without an intermediate string.
pub(super) struct Id<'a>(pub(super) &'a RideEventId);

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

/// The id of an event.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredEvent)]
pub(super) struct IdJson<'a> {
    #[schema(value_type = String, example = "gate-4-17")]
    pub(super) id: Id<'a>,
}

/// A line of a batch: a ride with all of its numbers, or a void.
#[derive(ToSchema)]
#[schema(as = RideOrVoid)]
#[expect(dead_code, reason = "a borrowing type is read; this is only the schema")]
pub(super) struct EventJson {
    /// Permanent id of the event: 1 to 128 printable ASCII characters; if absent, the server generates one.
    #[schema(required = false, example = "gate-4-17")]
    id: String,
    #[schema(rename = "resortID", required = false, example = 1)]
    resort: u16,
    #[schema(rename = "seasonID", required = false, example = "2025")]
    season: String,
    #[schema(rename = "dayID", required = false, example = 1)]
    day: u16,
    #[schema(rename = "skierID", required = false, example = 7)]
    skier: u32,
    /// The minute of the day; 1 is the first.
    #[schema(required = false, example = 217)]
    time: u16,
    /// The lift's number, unique at its resort.
    #[schema(rename = "liftID", required = false, example = 21)]
    lift: u16,
    /// The id of a wrong ride to void; the line then has no number of a ride.
    #[schema(required = false, example = "gate-4-16")]
    void: String,
}

/// The outcome of a line.
#[derive(Serialize, ToSchema)]
#[schema(as = LineOutcome)]
pub(super) struct LineJson<'a> {
    /// The line's number; the first is 1.
    line: u16,
    /// 201, 200, 400, 403, 404, 409 or 503.
    #[schema(example = 201)]
    status: u16,
    /// The event's id, if it is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "gate-4-17")]
    id: Option<Id<'a>>,
    /// Why the event is not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<'a> LineJson<'a> {
    /// Creates the outcome of a line whose event is stored.
    pub(super) fn stored(line: u16, status: StatusCode, id: &'a RideEventId) -> Self {
        Self { line, status: status.as_u16(), id: Some(Id(id)), message: None }
    }

    /// Creates the outcome of a refused line.
    pub(super) fn refused(line: u16, problem: &'a Problem) -> Self {
        let message = Some(problem.detail.as_str());
        Self { line, status: problem.status.as_u16(), id: None, message }
    }
}

/// The number of skiers of a resort's day.
#[derive(Serialize, ToSchema)]
#[schema(as = ResortSkiers)]
pub(super) struct ResortDayJson<'a> {
    /// The resort's name; the published API calls this field `time`.
    #[schema(example = "Mission Ridge")]
    pub(super) time: &'a str,
    /// The number of distinct skiers.
    #[serde(rename = "numSkiers")]
    pub(super) skiers: u64,
}

/// A skier's vertical.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = SkierVerticalOrTotal)]
pub(super) enum VerticalAnswer {
    /// By season.
    Seasons(VerticalJson),
    /// The total.
    Total(u64),
}

/// A skier's seasons.
#[derive(Serialize, ToSchema)]
#[schema(as = SkierVertical)]
pub(super) struct VerticalJson {
    /// The seasons; the published API calls this field `resorts`.
    pub(super) resorts: Vec<SeasonJson>,
}

/// A skier's season.
#[derive(Serialize, ToSchema)]
#[schema(as = SkierSeason)]
pub(super) struct SeasonJson {
    #[serde(rename = "seasonID")]
    #[schema(example = "2025")]
    season: String,
    /// The vertical in this season.
    #[serde(rename = "totalVert")]
    #[schema(example = 210)]
    vertical: u64,
}

impl From<SeasonVertical> for SeasonJson {
    fn from(SeasonVertical { season, vertical }: SeasonVertical) -> Self {
        Self { season: season.to_string(), vertical }
    }
}

/// The resorts.
#[derive(Serialize, ToSchema)]
#[schema(as = ResortsList)]
pub(super) struct ResortsJson<'a> {
    pub(super) resorts: Vec<ResortJson<'a>>,
}

/// A resort.
#[derive(Serialize, ToSchema)]
#[schema(as = Resort)]
pub(super) struct ResortJson<'a> {
    #[serde(rename = "resortName")]
    #[schema(example = "Mission Ridge")]
    pub(super) name: &'a str,
    #[serde(rename = "resortID")]
    pub(super) id: u16,
}

/// A season to list.
#[derive(ToSchema)]
#[schema(as = NewSeason)]
#[expect(dead_code, reason = "a number is read; this is only the schema")]
pub(super) struct NewSeasonJson {
    #[schema(example = "2019")]
    year: String,
}

/// The seasons of a resort.
#[derive(Serialize, ToSchema)]
#[schema(as = SeasonsList)]
pub(super) struct SeasonsJson {
    #[schema(example = json!(["2025"]))]
    pub(super) seasons: Vec<String>,
}

/// The resorts with their lifts.
#[derive(Serialize, ToSchema)]
#[schema(as = LiftTables)]
pub(super) struct LiftTablesJson<'a> {
    /// The unit of all verticals: m or ft.
    #[schema(example = "m")]
    pub(super) vertical_unit: &'static str,
    pub(super) resorts: Vec<LiftTableJson<'a>>,
}

/// A resort with its lifts.
#[derive(Serialize, ToSchema)]
#[schema(as = LiftTable)]
pub(super) struct LiftTableJson<'a> {
    #[serde(rename = "resortID")]
    id: u16,
    #[schema(example = "Mission Ridge")]
    name: &'a str,
    lifts: Vec<LiftJson<'a>>,
}

impl<'a> LiftTableJson<'a> {
    /// Creates the lift table of a resort.
    pub(super) fn of(id: ResortId, resort: &'a Resort) -> Self {
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
pub(super) struct LiftJson<'a> {
    #[serde(rename = "liftID")]
    #[schema(example = 21)]
    id: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// The vertical of one ride.
    #[schema(example = 210)]
    vertical: u32,
}

/// A leaderboard.
#[derive(Serialize, ToSchema)]
#[schema(as = Leaders)]
pub(super) struct LeadersJson {
    pub(super) leaders: Vec<LeaderJson>,
}

/// An entry of a leaderboard.
#[derive(Serialize, ToSchema)]
#[schema(as = Leader)]
pub(super) struct LeaderJson {
    /// 1 is the first; of skiers with equal vertical the lower number comes first.
    rank: usize,
    #[serde(rename = "skierID")]
    #[schema(example = 7)]
    skier: u32,
    #[schema(example = 210)]
    vertical: u64,
    /// Absent unless the holder of the pass allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = LeaderProfileJson, required = false)]
    profile: Option<LeaderProfileJson>,
}

impl LeaderJson {
    /// Creates the entry at a zero-based place.
    pub(super) fn at((place, NamedLeader { leader, holder }): (usize, NamedLeader)) -> Self {
        let profile = holder.and_then(|holder| holder.profile).map(Into::into);
        Self { rank: place + 1, skier: leader.skier.0, vertical: leader.vertical, profile }
    }
}

/// The nickname and picture of an account on leaderboards.
#[derive(Serialize, ToSchema)]
#[schema(as = LeaderProfile)]
pub(super) struct LeaderProfileJson {
    nickname: String,
    /// The path of the picture on this site.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    picture: Option<String>,
}

impl From<LeaderProfile> for LeaderProfileJson {
    fn from(profile: LeaderProfile) -> Self {
        let picture = profile.picture.map(|id| pictures::path(id, PictureSize::Small));
        Self { nickname: profile.nickname, picture }
    }
}

/// A day by lift.
#[derive(Serialize, ToSchema)]
#[schema(as = LiftTallies)]
pub(super) struct LiftsJson {
    pub(super) lifts: Vec<LiftTallyJson>,
}

/// The rides of a lift on a day.
#[derive(Serialize, ToSchema)]
#[schema(as = LiftTally)]
pub(super) struct LiftTallyJson {
    #[serde(rename = "liftID")]
    #[schema(example = 21)]
    lift: u16,
    rides: u64,
    #[schema(example = 210)]
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
pub(super) struct HoursJson {
    pub(super) hours: Vec<HourTallyJson>,
}

/// The rides of an hour.
#[derive(Serialize, ToSchema)]
#[schema(as = HourTally)]
pub(super) struct HourTallyJson {
    /// The hour, 0 to 23.
    #[schema(example = 3)]
    hour: u16,
    rides: u64,
    #[schema(example = 210)]
    vertical: u64,
}

impl From<HourTally> for HourTallyJson {
    fn from(HourTally { hour, tally }: HourTally) -> Self {
        Self { hour: hour.0, rides: tally.rides, vertical: tally.vertical }
    }
}

/// The outcomes of all events.
#[derive(Serialize, ToSchema)]
#[schema(as = Ledger)]
pub(super) struct LedgerJson {
    /// Events sent to this process since it started.
    since_start: ProgressJson,
    /// All events since the store was created.
    for_ever: ForEverJson,
}

/// Events sent to this process since it started.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerSinceStart)]
pub(super) struct ProgressJson {
    /// Stored, duplicates and in flight together.
    accepted: u64,
    stored: u64,
    /// Repeats of a stored event with the same content.
    #[schema(example = 0)]
    duplicates: u64,
    /// Accepted but not yet stored; 0 where events are accepted only once stored.
    #[schema(example = 0)]
    in_flight: u64,
    /// Invalid, or answered with 503.
    #[schema(example = 0)]
    refused: u64,
    /// Neither accepted nor refused yet.
    #[schema(example = 0)]
    undecided: u64,
}

/// All events since the store was created.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerForEver)]
pub(super) struct ForEverJson {
    /// Stored and duplicates together.
    accepted: u64,
    stored: u64,
    /// Repeats of a stored event with the same content.
    #[schema(example = 0)]
    duplicates: u64,
    /// Events that were refused before the store are added with a short delay.
    #[schema(example = 0)]
    refused: u64,
}

impl From<LedgerTotals> for LedgerJson {
    fn from(LedgerTotals { since_start, for_ever }: LedgerTotals) -> Self {
        let (in_flight, accepted) = (since_start.in_flight(), for_ever.accepted());
        let StoreTotals { stored, duplicates, refused } = for_ever;
        let for_ever = ForEverJson { accepted, stored, duplicates, refused };
        let ProcessTotals { accepted, stored, duplicates, refused, undecided } = since_start;
        let since_start =
            ProgressJson { accepted, stored, duplicates, in_flight, refused, undecided };
        Self { since_start, for_ever }
    }
}

/// The result of a search.
#[derive(Serialize, ToSchema)]
#[schema(as = RidesFound)]
pub(super) struct FoundJson<'a> {
    #[schema(value_type = Vec<GroupJson>)]
    groups: Groups<'a>,
    /// true if there are more groups than these, else absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    more: Option<bool>,
    /// `sums` if stored sums answered the query, else `rides`: every ride was read.
    read_from: ReadFromJson,
}

impl<'a> FoundJson<'a> {
    /// Creates the result of a search by these dimensions.
    pub(super) fn of(by: &'a [Dimension], found: &'a RidesFound) -> Self {
        let read_from = match found.read_from {
            ReadFrom::Sums => ReadFromJson::Sums,
            ReadFrom::Rides => ReadFromJson::Rides,
        };
        let more = found.more.then_some(true);
        Self { groups: Groups { by, groups: &found.groups }, more, read_from }
    }
}

/// The source of a result.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReadFrom)]
enum ReadFromJson {
    Sums,
    Rides,
}

/// Serialises groups one at a time: there may be thousands.
struct Groups<'a> {
    by: &'a [Dimension],
    groups: &'a [RideGroup],
}

impl Serialize for Groups<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.groups.iter().map(|group| GroupJson::of(self.by, group)))
    }
}

/// Rides with equal values of the dimensions in `by`; other dimensions are absent.
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
    #[schema(example = 210)]
    vertical: u64,
    /// The number of distinct skiers, unless the query left them out.
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

/// A dimension to group rides by.
#[derive(ToSchema)]
#[schema(as = RideDimension, rename_all = "snake_case")]
#[expect(dead_code, reason = "the domain's type is read; this is only the schema")]
pub(super) enum DimensionJson {
    Season,
    Resort,
    Day,
    Hour,
    Lift,
    Skier,
}
