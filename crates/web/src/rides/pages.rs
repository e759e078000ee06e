//! The app's pages. Handlers read the request, call the service, and fill a template.

mod bars;
mod leaderboard;
mod mountain;
mod resort;
mod skier;

#[cfg(test)]
mod samples;

use std::{borrow::Cow, collections::BTreeMap};

use http::Method;
use lodge_domain::{
    Error, Result,
    rides::{Day, Lift, LiftId, Mountain, Resort, ResortId, Season},
};
use serde::Deserialize;

use super::{
    app::{RidesApp, called},
    number,
};
use crate::{pages::forms::given, routes::Routes};

pub(super) fn routes() -> Routes<RidesApp> {
    Routes::default()
        .on(Method::GET, "/rides", mountain::show)
        .on(Method::GET, "/rides/resorts/{resort}", resort::show)
        .on(Method::GET, "/rides/leaderboard", leaderboard::show)
        .on(Method::GET, "/rides/skiers", skier::find)
        .on(Method::GET, "/rides/skiers/{skier}", skier::show)
}

/// The start page, where no other app has one: the mountain.
pub(super) fn start() -> Routes<RidesApp> {
    Routes::default().on(Method::GET, "/", mountain::show)
}

/// A season and a day, as far as they are named.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct When {
    season: String,
    day: String,
}

impl When {
    fn season(&self, mountain: &Mountain) -> Result<Option<Season>> {
        let season = given(&self.season).map(|text| mountain.season(number::digits(text)));
        season.transpose().map_err(|error| called("season", error))
    }

    fn day(&self, mountain: &Mountain) -> Result<Option<Day>> {
        let day = given(&self.day).map(|text| mountain.day(number::digits(text)));
        day.transpose().map_err(|error| called("day", error))
    }
}

const NO_RESORT: Error = Error::not_found("there is no such resort");

/// The resort that a path names; one that is not in the configuration has its number for a name, and no lifts.
fn resort_of<'a>(mountain: &'a Mountain, segment: &str) -> Result<(ResortId, Cow<'a, Resort>)> {
    let number = number::digits(segment);
    if let Ok((id, resort)) = mountain.resort(number) {
        return Ok((id, Cow::Borrowed(resort)));
    }
    let id = u16::try_from(number).map(ResortId).map_err(|_| NO_RESORT)?;
    let name = resort_name(mountain, id).into_owned();
    Ok((id, Cow::Owned(Resort { name, lifts: BTreeMap::new() })))
}

/// What people call a resort; those that have left the configuration have their number.
fn resort_name(mountain: &Mountain, id: ResortId) -> Cow<'_, str> {
    match mountain.resort(id.0.into()) {
        Ok((_, resort)) => Cow::Borrowed(&resort.name),
        Err(_) => Cow::Owned(format!("Resort {id}")),
    }
}

/// Whether a resort is in the configuration.
fn is_known(mountain: &Mountain, id: ResortId) -> bool {
    mountain.resort(id.0.into()).is_ok()
}

/// What people call a lift.
fn lift_name(lift: Option<&Lift>, id: LiftId) -> String {
    let name = lift.and_then(|lift| lift.name.clone());
    name.unwrap_or_else(|| format!("Lift {id}"))
}
