//! Places among the leaders as they stand in the database.

use std::collections::{BTreeMap, btree_map::Entry};

use lodge_domain::rides::{ResortDay, Span};
use rusqlite::{Connection, Statement};

use super::{DayKey, Days, Place, PlaceKey, days, keys_in_season};
use crate::rides::{day_number, leaders::Board};

pub(super) const SET: &str = "INSERT OR REPLACE INTO leaders (season, resort, day, skier, vertical) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(super) const END: &str =
    "DELETE FROM leaders WHERE season = ?1 AND resort = ?2 AND day = ?3 AND skier = ?4";

/// What is asked of the database here, for the test of plans.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 2] = [SET, END];

pub(super) fn write(
    set: &mut Statement<'_>,
    end: &mut Statement<'_>,
    (span, skier): PlaceKey,
    place: Place,
) -> rusqlite::Result<()> {
    let (season, resort, day) = (span.season.0, span.resort.0, day_number(span));
    match place {
        Some(vertical) => set.execute((season, resort, day, skier.0, vertical))?,
        None => end.execute((season, resort, day, skier.0))?,
    };
    Ok(())
}

/// The places of those whose days were `touched`, as the days say: those on the disk and what is `newer`. How
/// far each board reaches is always on the disk.
pub(super) fn replay(
    connection: &Connection,
    newer: &Days,
    touched: &[DayKey],
) -> rusqlite::Result<BTreeMap<PlaceKey, Place>> {
    let (mut places, mut boards) = (BTreeMap::new(), BTreeMap::new());
    let mut in_season = connection.prepare(days::IN_SEASON)?;
    let season = |(skier, on): &DayKey| (*skier, on.season, on.resort);
    for touched in touched.chunk_by(|one, next| season(one) == season(next)) {
        let (skier, season, resort) = season(&touched[0]);
        let mut days: BTreeMap<ResortDay, _> = BTreeMap::new();
        for state in in_season.query_map((skier.0, season.0, resort.0), days::read)? {
            let state = state?;
            days.insert(state.on, state.tally);
        }
        let newer = newer.range(keys_in_season(skier, season, resort));
        days.extend(newer.map(|((_, on), state)| (*on, state.tally)));
        let mut place = |span: Span, (rides, vertical): (u64, u64)| -> rusqlite::Result<()> {
            let board = match boards.entry(span) {
                Entry::Vacant(place) => place.insert(Board::read(connection, span)?),
                Entry::Occupied(place) => place.into_mut(),
            };
            let is_on = rides > 0 && board.reaches(vertical, skier);
            places.insert((span, skier), is_on.then_some(vertical));
            Ok(())
        };
        for (_, on) in touched {
            let tally = days.get(on).copied().unwrap_or_default();
            place((*on).into(), (tally.rides, tally.vertical))?;
        }
        let whole = days.values().fold((0, 0), |(rides, vertical), tally| {
            (rides + tally.rides, vertical + tally.vertical)
        });
        place(Span { season, resort, day: None }, whole)?;
    }
    Ok(places)
}
