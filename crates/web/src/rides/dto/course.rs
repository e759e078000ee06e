//! The course's published API.

use lodge_domain::rides::SeasonVertical;
use serde::Serialize;
use utoipa::ToSchema;

use super::Id;

/// Why something was not done.
#[derive(ToSchema)]
#[schema(as = ResponseMsg)]
#[expect(dead_code, reason = "it is written with all other errors; this describes it")]
pub(in crate::rides) struct MessageJson {
    #[schema(example = "liftID: must be a whole number from 1 to 40")]
    message: String,
}

/// What an event is called.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredEvent)]
pub(in crate::rides) struct IdJson<'a> {
    #[schema(value_type = String)]
    pub(in crate::rides) id: Id<'a>,
}

/// A resort's day.
#[derive(Serialize, ToSchema)]
#[schema(as = ResortSkiers)]
pub(in crate::rides) struct ResortDayJson<'a> {
    /// The resort's name. The published API calls it so.
    #[schema(example = "Mission Ridge")]
    pub(in crate::rides) time: &'a str,
    /// Different skiers.
    #[serde(rename = "numSkiers")]
    pub(in crate::rides) skiers: u64,
}

/// How far up a skier went.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = SkierVerticalOrTotal)]
pub(in crate::rides) enum VerticalAnswer {
    /// By season.
    Seasons(VerticalJson),
    /// In all.
    Total(u64),
}

/// A skier's seasons.
#[derive(Serialize, ToSchema)]
#[schema(as = SkierVertical)]
pub(in crate::rides) struct VerticalJson {
    /// The seasons. The published API calls them so.
    pub(in crate::rides) resorts: Vec<SeasonJson>,
}

/// A skier's season.
#[derive(Serialize, ToSchema)]
#[schema(as = SkierSeason)]
pub(in crate::rides) struct SeasonJson {
    #[serde(rename = "seasonID")]
    #[schema(example = "2025")]
    season: String,
    /// How far up.
    #[serde(rename = "totalVert")]
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
pub(in crate::rides) struct ResortsJson<'a> {
    pub(in crate::rides) resorts: Vec<ResortJson<'a>>,
}

/// A resort.
#[derive(Serialize, ToSchema)]
#[schema(as = Resort)]
pub(in crate::rides) struct ResortJson<'a> {
    #[serde(rename = "resortName")]
    #[schema(example = "Mission Ridge")]
    pub(in crate::rides) name: &'a str,
    #[serde(rename = "resortID")]
    pub(in crate::rides) id: u16,
}

/// The seasons of a resort.
#[derive(Serialize, ToSchema)]
#[schema(as = SeasonsList)]
pub(in crate::rides) struct SeasonsJson {
    #[schema(example = json!(["2025"]))]
    pub(in crate::rides) seasons: Vec<String>,
}
