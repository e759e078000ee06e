//! Recomputes, from the rides, the sums that were not written back when the process ended.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use lodge_domain::rides::{ResortDay, Span};
use rusqlite::Connection;

use super::{Thresholds, WriteBack, days};
use crate::rides::{
    leaders::Leaderboard,
    state::{DayKey, Days, EntryKey, LeaderVertical, keys_in_season},
};

/// Returns the buffer, with the sums that were not written back when the file was last closed.
pub(crate) fn open(
    connection: &Connection,
    thresholds: Thresholds,
) -> rusqlite::Result<Arc<WriteBack>> {
    let written_to = days::written_to(connection)?;
    let (newer, touched) = days::replay(connection, written_to)?;
    let places = places(connection, &newer, &touched)?;
    Ok(Arc::new(WriteBack::new(thresholds, written_to, newer, places)))
}

/// Returns the leaderboard entries of the skiers whose days were `touched`, computed from the days on disk overlaid
/// with `newer`. The floor of each leaderboard on disk is always current.
fn places(
    connection: &Connection,
    newer: &Days,
    touched: &[DayKey],
) -> rusqlite::Result<BTreeMap<EntryKey, LeaderVertical>> {
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
                Entry::Vacant(place) => place.insert(Leaderboard::read(connection, span)?),
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
