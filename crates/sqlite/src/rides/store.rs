//! Implements the ports of rides.

use std::sync::Arc;

use async_trait::async_trait;
use lodge_domain::{
    Result,
    rides::{
        AllResortsDay, Breakdown, Day, DayTally, GateId, KeyedBatch, Leader, Rebuilt, Recorded,
        ResortDay, ResortId, RideEvent, RideEventId, RideLog, RidePosition, RideQuery, RideSearch,
        RideTallies, RidesFound, Season, SeasonVertical, SkierDay, SkierId, Span, StoreTotals,
        StoredRide, Tally,
    },
};
use lodge_sql::App;

use super::{
    leaders, read, read::DayFilter, rebuild, record, search, state::DayState,
    write_back::work::SumChanges,
};
use crate::engine::Engine;

/// The store of rides in the engine.
#[derive(Clone)]
pub(crate) struct SqliteRides(pub(crate) Arc<Engine>);

impl SqliteRides {
    async fn skier_days(&self, skier: SkierId, wanted: DayFilter) -> Result<Vec<DayState>> {
        let newer = self.0.rides.write_back().days_of(skier);
        let days = move |connection: &_| read::skier_days(connection, skier, &wanted, newer);
        self.0.readers.read(App::Rides, days).await
    }

    /// Writes back the buffered days of these skiers.
    async fn write_days_of(&self, skiers: &[SkierId]) -> Result<()> {
        let is_newer = |skier: &SkierId| !self.0.rides.write_back().days_of(*skier).is_empty();
        let newer: Vec<SkierId> = skiers.iter().copied().filter(is_newer).collect();
        if newer.is_empty() {
            return Ok(());
        }
        let write = move |_: &_, work: &mut SumChanges<'_>| Ok(work.write_days_of(&newer)?);
        self.0.rides.write(&self.0.writer, write).await
    }

    /// Writes back all sums that are buffered now, in bounded steps.
    pub(super) async fn write_sums(&self) -> Result<()> {
        if self.0.rides.write_back().is_empty() {
            return Ok(());
        }
        let mut begin = true;
        while !self
            .0
            .rides
            .write(&self.0.writer, move |_, work| Ok(work.write_round(begin)?))
            .await?
        {
            begin = false;
        }
        Ok(())
    }
}

#[async_trait]
impl RideLog for SqliteRides {
    async fn record(&self, events: Vec<RideEvent>) -> Result<Vec<Recorded>> {
        self.0.rides.record(&self.0.writer, None, events).await
    }

    async fn record_batch(
        &self,
        batch: KeyedBatch,
        events: Vec<RideEvent>,
    ) -> Result<Vec<Recorded>> {
        self.0.rides.record(&self.0.writer, Some(batch), events).await
    }

    async fn note_refused(&self, events: u64) -> Result<()> {
        let noted = move |connection: &_| record::note_refused(connection, events);
        self.0.writer.write(App::Rides, noted).await
    }

    async fn ledger(&self) -> Result<StoreTotals> {
        self.0.readers.read(App::Rides, read::ledger).await
    }

    async fn add_season(&self, resort: ResortId, season: Season) -> Result<()> {
        let add = move |connection: &_| record::add_season(connection, resort, season);
        self.0.writer.write(App::Rides, add).await
    }

    async fn added_seasons(&self, resort: ResortId) -> Result<Vec<Season>> {
        self.0
            .readers
            .read(App::Rides, move |connection| read::added_seasons(connection, resort))
            .await
    }

    async fn rebuild(&self) -> Result<Rebuilt> {
        rebuild::rebuild(self, rebuild::ROWS_PER_READ).await
    }
}

#[async_trait]
impl RideTallies for SqliteRides {
    async fn skier_day(&self, skier: SkierId, on: ResortDay) -> Result<Option<Tally>> {
        if let Some(tally) = self.0.rides.write_back().day(skier, on) {
            return Ok(Some(tally).filter(|tally| tally.rides > 0));
        }
        self.0
            .readers
            .read(App::Rides, move |connection| read::skier_day(connection, skier, on))
            .await
    }

    async fn skier_season(&self, skier: SkierId, season: Season) -> Result<Vec<SkierDay>> {
        let wanted = DayFilter { seasons: vec![season], resorts: Vec::new() };
        let day = |DayState { on: ResortDay { resort, day, .. }, tally, .. }| SkierDay {
            resort,
            day,
            tally,
        };
        Ok(self.skier_days(skier, wanted).await?.into_iter().map(day).collect())
    }

    async fn skier_seasons(
        &self,
        skier: SkierId,
        resorts: Vec<ResortId>,
        seasons: Vec<Season>,
    ) -> Result<Vec<SeasonVertical>> {
        let mut found: Vec<SeasonVertical> = Vec::new();
        for DayState { on: ResortDay { season, .. }, tally, .. } in
            self.skier_days(skier, DayFilter { seasons, resorts }).await?
        {
            match found.last_mut().filter(|last| last.season == season) {
                Some(last) => last.vertical += tally.vertical,
                None => found.push(SeasonVertical { season, vertical: tally.vertical }),
            }
        }
        Ok(found)
    }

    async fn total(&self, span: Span) -> Result<DayTally> {
        self.0.readers.read(App::Rides, move |connection| read::total(connection, span)).await
    }

    async fn days(&self, resort: ResortId, season: Season) -> Result<Vec<(Day, DayTally)>> {
        self.0
            .readers
            .read(App::Rides, move |connection| read::days(connection, resort, season))
            .await
    }

    async fn seasons(&self, resort: ResortId) -> Result<Vec<Season>> {
        self.0.readers.read(App::Rides, move |connection| read::seasons(connection, resort)).await
    }

    async fn breakdown(&self, on: ResortDay) -> Result<Breakdown> {
        self.0.readers.read(App::Rides, move |connection| read::breakdown(connection, on)).await
    }

    async fn leaders(&self, span: Span, limit: usize) -> Result<Vec<Leader>> {
        let engine = Arc::clone(&self.0);
        let shown = move |connection: &_| {
            // Read before the disk, so that entries written back meanwhile are in both and none is missed.
            let newer = engine.rides.write_back().entries_of(span);
            leaders::shown(connection, span, limit, newer)
        };
        self.0.readers.read(App::Rides, shown).await
    }

    async fn all_resorts_day(
        &self,
        resorts: Vec<ResortId>,
        season: Option<Season>,
        day: Option<Day>,
        lifts: usize,
    ) -> Result<Option<AllResortsDay>> {
        let read =
            move |connection: &_| read::all_resorts_day(connection, &resorts, season, day, lifts);
        self.0.readers.read(App::Rides, read).await
    }
}

#[async_trait]
impl RideSearch for SqliteRides {
    async fn search(&self, query: RideQuery) -> Result<RidesFound> {
        let searches = &self.0.searches;
        let place = searches.acquire()?;
        if search::reads_skier_days(&query) {
            if query.skiers.is_empty() {
                searches.wait_for_round(self.write_sums()).await?;
            } else {
                self.write_days_of(&query.skiers).await?;
            }
        }
        searches.read(place, move |connection| search::search(connection, &query)).await
    }

    async fn page(
        &self,
        season: Season,
        resort: Option<ResortId>,
        after: Option<RidePosition>,
        limit: usize,
    ) -> Result<Vec<StoredRide>> {
        let page = move |connection: &_| search::page(connection, season, resort, after, limit);
        self.0.exports.read(App::Rides, page).await
    }

    async fn on_day(
        &self,
        on: ResortDay,
        skier: Option<SkierId>,
        after: Option<RidePosition>,
        limit: usize,
    ) -> Result<Vec<StoredRide>> {
        let page = move |connection: &_| search::on_day(connection, on, skier, after, limit);
        self.0.exports.read(App::Rides, page).await
    }

    async fn event(&self, gate: GateId, id: RideEventId) -> Result<Option<StoredRide>> {
        self.0
            .readers
            .read(App::Rides, move |connection| search::event(connection, gate, &id))
            .await
    }
}
