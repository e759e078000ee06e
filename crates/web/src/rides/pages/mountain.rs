//! The mountain on a day: the newest, or any.

use std::borrow::Borrow;

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error, Result,
    rides::{Day, LiftTally, Mountain, MountainDay, ResortId, Rides, Season},
};

use super::{When, lift_name};
use crate::{
    error::HttpResult,
    pages::{self, errors::FormErrors},
    request::{Asked, Parameters},
    rides::RidesApp,
};

/// Lifts that the page names.
const LIFTS_SHOWN: usize = 10;

#[derive(Template)]
#[template(path = "rides/mountain.html")]
pub(super) struct MountainPage<'a> {
    pub(super) mountain: &'a Mountain,
    /// `None` if nobody has ridden yet.
    pub(super) shown: Option<&'a Shown>,
    /// A command that sends a ride.
    pub(super) example: &'a str,
    /// What the form to find a skier holds.
    pub(super) typed: &'a str,
    /// What is wrong with it.
    pub(super) errors: &'a FormErrors,
}

impl MountainPage<'_> {
    /// Whether what the page shows goes on.
    fn is_live(&self) -> bool {
        self.shown.is_none_or(|shown| shown.is_newest)
    }

    fn resort_name(&self, id: impl Borrow<ResortId>) -> &str {
        self.mountain.resort_name(*id.borrow())
    }
}

/// A day.
pub(super) struct Shown {
    pub(super) day: MountainDay,
    /// Whether none is newer.
    pub(super) is_newest: bool,
    pub(super) lifts: Vec<BusyLift>,
    /// The day before on which somebody rode.
    pub(super) before: Option<Day>,
    /// The day after.
    pub(super) after: Option<Day>,
}

/// One of the lifts that were ridden most often.
pub(super) struct BusyLift {
    pub(super) resort: ResortId,
    pub(super) name: String,
    pub(super) rides: u64,
}

/// `GET /rides`.
pub(super) async fn show(
    State(app): State<RidesApp>,
    Parameters(when): Parameters<When>,
    asked: Asked,
) -> HttpResult {
    let mountain = &app.rides.mountain;
    let shown = match chosen(&app.rides, &when).await? {
        Some(chosen) => Some(read(&app.rides, chosen).await?),
        None => None,
    };
    let page = MountainPage {
        mountain,
        shown: shown.as_ref(),
        example: &example(mountain, &asked),
        typed: "",
        errors: &FormErrors::default(),
    };
    Ok(pages::page(&app.site, StatusCode::OK, &page)?)
}

/// The day to show, and the newest.
struct Chosen {
    day: (Season, Day),
    newest: (Season, Day),
}

async fn chosen(rides: &Rides, when: &When) -> Result<Option<Chosen>> {
    let (season, day) = (when.season(&rides.mountain)?, when.day(&rides.mountain)?);
    let Some(newest) = rides.newest_day().await? else { return Ok(None) };
    let season = season.unwrap_or(newest.0);
    let day = match day {
        Some(day) => day,
        None if season == newest.0 => newest.1,
        None => {
            let last = rides.days(season).await?.pop_last();
            last.ok_or(Error::not_found("nobody rode in this season"))?
        }
    };
    Ok(Some(Chosen { day: (season, day), newest }))
}

async fn read(rides: &Rides, chosen: Chosen) -> Result<Shown> {
    let Chosen { day: (season, day), newest } = chosen;
    let days = rides.days(season).await?;
    let lifts = rides.busiest_lifts(season, day, LIFTS_SHOWN).await?;
    Ok(Shown {
        day: rides.mountain_day(season, day).await?,
        is_newest: (season, day) == newest,
        lifts: lifts.into_iter().map(|lift| busy(&rides.mountain, lift)).collect(),
        before: days.range(..day).next_back().copied(),
        after: days.range(day..).find(|other| **other > day).copied(),
    })
}

fn busy(mountain: &Mountain, (resort, lift): (ResortId, LiftTally)) -> BusyLift {
    let known = mountain.resort(resort.0.into()).ok();
    let known = known.and_then(|(_, resort)| resort.lifts.get(&lift.lift));
    BusyLift { resort, name: lift_name(known, lift.lift), rides: lift.tally.rides }
}

/// A command of numbers that there are; what is put into it needs no quoting.
pub(super) fn example(mountain: &Mountain, asked: &Asked) -> String {
    let ranges = mountain.ranges();
    let year = asked.at.strftime("%Y").to_string().parse().unwrap_or(*ranges.seasons.start());
    let season = year.clamp(*ranges.seasons.start(), *ranges.seasons.end());
    let first = mountain.resorts().next();
    let (resort, lift) = first.map_or((1, 1), |(id, resort)| {
        (id.0, resort.lifts.first_key_value().map_or(1, |(lift, _)| lift.0))
    });
    let (day, skier) = (ranges.days.start(), ranges.skiers.start());
    let path = format!("/skiers/{resort}/seasons/{season}/days/{day}/skiers/{skier}");
    let body = format!("{{\"time\":{},\"liftID\":{lift}}}", ranges.minutes.start());
    format!("curl {}{path} -H 'Content-Type: application/json' -d '{body}'", asked.base_url)
}
