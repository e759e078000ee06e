//! Names of seasons, days, resorts and lifts on pages.

use std::{
    borrow::{Borrow, Cow},
    collections::BTreeMap,
};

use lodge_domain::{
    Error, Result,
    rides::{Day, Lift, LiftId, Resort, ResortCatalog, ResortId, Season, VerticalUnit},
};
use serde::Deserialize;

use crate::{
    pages::{forms::non_empty, words},
    rides::{
        number,
        query::{day_of, season_of},
    },
};

/// An optional season and an optional day.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DateParams {
    pub(super) season: String,
    pub(super) day: String,
}

impl DateParams {
    /// Parses the season; `None` if empty.
    pub(super) fn season(&self, catalog: &ResortCatalog) -> Result<Option<Season>> {
        non_empty(&self.season).map(|digits| season_of(catalog, digits)).transpose()
    }

    /// Parses the day; `None` if empty.
    pub(super) fn day(&self, catalog: &ResortCatalog) -> Result<Option<Day>> {
        non_empty(&self.day).map(|digits| day_of(catalog, digits)).transpose()
    }
}

pub(super) const NO_RESORT: Error = Error::not_found("there is no such resort");

/// Parses the resort in a path; one that is not configured is named by its number and has no lifts.
pub(super) fn resort_in_path<'a>(
    catalog: &'a ResortCatalog,
    segment: &str,
) -> Result<(ResortId, Cow<'a, Resort>)> {
    let number = number::digits(segment);
    if let Ok((id, resort)) = catalog.resort(number) {
        return Ok((id, Cow::Borrowed(resort)));
    }
    let id = u16::try_from(number).map(ResortId).map_err(|_| NO_RESORT)?;
    let name = resort_name(catalog, id).into_owned();
    Ok((id, Cow::Owned(Resort { name, lifts: BTreeMap::new() })))
}

/// Returns the name of a resort; one that is no longer configured is named by its number.
pub(super) fn resort_name(catalog: &ResortCatalog, id: impl Borrow<ResortId>) -> Cow<'_, str> {
    let id = *id.borrow();
    match catalog.resort(id.0.into()) {
        Ok((_, resort)) => Cow::Borrowed(&resort.name),
        Err(_) => Cow::Owned(format!("Resort {id}")),
    }
}

/// Formats a vertical with its unit: `1,234 m`, with a space that does not break.
pub(super) fn vertical(amount: impl Borrow<u64>, unit: impl Borrow<VerticalUnit>) -> String {
    format!("{}\u{a0}{}", words::thousands(amount), unit.borrow())
}

/// Returns the name of a lift, or `Lift` and its number.
pub(super) fn lift_name(lift: Option<&Lift>, id: LiftId) -> String {
    let name = lift.and_then(|lift| lift.name.clone());
    name.unwrap_or_else(|| format!("Lift {id}"))
}
