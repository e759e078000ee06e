//! Stores ride events, and updates the sums with the new ones.

use std::iter;

use lodge_domain::rides::{
    GateId, KeyedBatch, LiftId, Minute, Recorded, ResortId, Ride, RideEvent, RideEventContent,
    RideEventId, Season, SkierId,
};
use rusqlite::{
    CachedStatement, Connection, OptionalExtension, Row, ToSql,
    types::{FromSqlError, ToSqlOutput, ValueRef},
};

use super::{
    state::resort_day,
    sums::{Change, Changes},
    write_back::{WriteBack, work::SumChanges},
};
use crate::{failure::Failure, query};

const INSERT: &str = "INSERT INTO rides (gate, event, season, resort, day, skier, minute, lift, vertical, voids, at) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (gate, event) DO NOTHING";
const FIND: &str = "SELECT season, resort, day, skier, minute, lift, vertical, voids FROM rides WHERE gate = ?1 AND event = ?2";
const IS_VOID: &str = "SELECT 1 FROM rides WHERE gate = ?1 AND voids = ?2";
const NAME: &str = "INSERT INTO ride_batches (gate, key, digest) VALUES (?1, ?2, ?3) ON CONFLICT (gate, key) DO NOTHING";
const IS_NAMED: &str = "SELECT 1 FROM ride_batches WHERE gate = ?1 AND key = ?2 AND digest = ?3";
const COUNT: &str = "UPDATE ride_ledger SET stored = stored + ?1, duplicates = duplicates + ?2, refused = refused + ?3 WHERE one = 1";
const ADD_SEASON: &str =
    "INSERT INTO seasons (resort, season) VALUES (?1, ?2) ON CONFLICT (resort, season) DO NOTHING";

/// For the test of query plans.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 7] = [INSERT, FIND, IS_VOID, NAME, IS_NAMED, COUNT, ADD_SEASON];

/// Stores the events or batches of several callers, in order; returns the outcome of each event.
pub(super) fn record<'e>(
    connection: &Connection,
    write_back: &WriteBack,
    sent: impl Iterator<Item = (Option<KeyedBatch>, &'e [RideEvent])>,
) -> Result<Vec<Recorded>, Failure> {
    let mut log = Log {
        connection,
        insert: connection.prepare_cached(INSERT)?,
        find: connection.prepare_cached(FIND)?,
        is_void: connection.prepare_cached(IS_VOID)?,
        changes: Changes::default(),
    };
    let mut recorded = Vec::new();
    for (batch, events) in sent {
        log.store_all(batch, events, &mut recorded)?;
    }
    let mut work = SumChanges::new(connection, write_back)?;
    log.changes.apply(connection, &mut work)?;
    let count = |wanted| recorded.iter().filter(|came| **came == wanted).count();
    let (stored, duplicates) = (count(Recorded::Stored), count(Recorded::Duplicate));
    let refused = recorded.len() - stored - duplicates;
    query::run(connection, COUNT, (stored, duplicates, refused))?;
    work.write_some(stored)?;
    work.stage();
    Ok(recorded)
}

/// Counts events that were refused before they reached the store.
pub(super) fn note_refused(connection: &Connection, events: u64) -> Result<(), Failure> {
    query::run(connection, COUNT, (0, 0, events.cast_signed()))?;
    Ok(())
}

pub(super) fn add_season(
    connection: &Connection,
    resort: ResortId,
    season: Season,
) -> Result<(), Failure> {
    Ok(query::run(connection, ADD_SEASON, (resort.0, season.0)).map(drop)?)
}

/// The table of rides, and the pending changes of its sums.
struct Log<'c> {
    connection: &'c Connection,
    insert: CachedStatement<'c>,
    find: CachedStatement<'c>,
    is_void: CachedStatement<'c>,
    changes: Changes,
}

impl Log<'_> {
    fn store_all(
        &mut self,
        batch: Option<KeyedBatch>,
        events: &[RideEvent],
        recorded: &mut Vec<Recorded>,
    ) -> rusqlite::Result<()> {
        if let (Some(batch), Some(first)) = (batch, events.first())
            && !self.store_batch_key(first.gate, &batch)?
        {
            recorded.extend(iter::repeat_n(Recorded::KeyReused, events.len()));
            return Ok(());
        }
        for event in events {
            recorded.push(self.store(event)?);
        }
        Ok(())
    }

    /// Stores the batch's key; returns false if the gate has used the key for another body.
    fn store_batch_key(&self, gate: GateId, batch: &KeyedBatch) -> rusqlite::Result<bool> {
        let row = (gate.0, batch.key.as_bytes(), batch.digest);
        Ok(query::run(self.connection, NAME, row)? > 0
            || self.connection.prepare_cached(IS_NAMED)?.exists(row)?)
    }

    fn store(&mut self, event: &RideEvent) -> rusqlite::Result<Recorded> {
        match &event.what {
            RideEventContent::Ride(ride) => self.store_ride(event, ride),
            RideEventContent::Void(of) => self.store_void(event, of),
        }
    }

    fn store_ride(&mut self, event: &RideEvent, ride: &Ride) -> rusqlite::Result<Recorded> {
        if self.insert(event, ride, None)? {
            self.changes.add(Change::of(ride, 1, self.connection.last_insert_rowid()));
            return Ok(Recorded::Stored);
        }
        let same = |(stored, voids): (Ride, Option<RideEventId>)| {
            voids.is_none() && stored.has_same_content(ride)
        };
        Ok(repeated(self.find(event.gate, &event.id)?.is_some_and(same)))
    }

    fn store_void(&mut self, event: &RideEvent, of: &RideEventId) -> rusqlite::Result<Recorded> {
        if let Some((_, voids)) = self.find(event.gate, &event.id)? {
            return Ok(repeated(voids.as_ref() == Some(of)));
        }
        let Some((ride, None)) = self.find(event.gate, of)? else {
            return Ok(Recorded::NothingToVoid);
        };
        if self.is_void.exists((event.gate.0, StoredEventId(of)))? {
            return Ok(Recorded::AlreadyVoided);
        }
        self.insert(event, &ride, Some(of))?;
        self.changes.add(Change::of(&ride, -1, self.connection.last_insert_rowid()));
        Ok(Recorded::Stored)
    }

    /// Inserts the event; returns false if the gate has already sent one with its id.
    fn insert(
        &mut self,
        event: &RideEvent,
        ride: &Ride,
        voids: Option<&RideEventId>,
    ) -> rusqlite::Result<bool> {
        let Ride { on, skier, minute, lift, vertical } = ride;
        let inserted = self.insert.execute((
            event.gate.0,
            StoredEventId(&event.id),
            on.season.0,
            on.resort.0,
            on.day.0,
            skier.0,
            minute.0,
            lift.0,
            vertical,
            voids.map(StoredEventId),
            event.at.as_millisecond(),
        ))?;
        Ok(inserted > 0)
    }

    /// Returns an event's ride, and for a void the id of the event that it withdraws.
    fn find(
        &mut self,
        gate: GateId,
        id: &RideEventId,
    ) -> rusqlite::Result<Option<(Ride, Option<RideEventId>)>> {
        self.find.query_row((gate.0, StoredEventId(id)), read).optional()
    }
}

fn repeated(the_same: bool) -> Recorded {
    if the_same { Recorded::Duplicate } else { Recorded::OtherEvent }
}

/// Reads the columns of [`FIND`], with which the row must begin.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<(Ride, Option<RideEventId>)> {
    let ride = Ride {
        on: resort_day(row, 0)?,
        skier: SkierId(row.get(3)?),
        minute: Minute(row.get(4)?),
        lift: LiftId(row.get(5)?),
        vertical: row.get(6)?,
    };
    Ok((ride, event_id(row.get_ref(7)?)?))
}

/// An event id as stored: 16 bytes if it is a UUID, else text.
pub(super) struct StoredEventId<'e>(pub(super) &'e RideEventId);

impl ToSql for StoredEventId<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            RideEventId::Uuid(uuid) => ValueRef::Blob(uuid.as_bytes()),
            RideEventId::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

pub(super) fn event_id(stored: ValueRef<'_>) -> rusqlite::Result<Option<RideEventId>> {
    match stored {
        ValueRef::Null => Ok(None),
        ValueRef::Blob(bytes) => {
            let uuid = uuid::Uuid::from_slice(bytes).map_err(FromSqlError::other)?;
            Ok(Some(RideEventId::Uuid(uuid)))
        }
        other => Ok(Some(RideEventId::Text(other.as_str()?.into()))),
    }
}
