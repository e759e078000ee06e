//! Data of the ride pages: a resort's day, leaderboards, a skier's season.

use super::{
    AllResortsDay, Breakdown, Day, DayTally, Leader, ResortDay, ResortId, Rides, Season,
    SeasonVertical, SkierDay, SkierId, Span,
};
use crate::Result;

/// The number of lifts in a day's ranking.
const LIFTS_NAMED: usize = 10;

/// A resort's day and the days of its season.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResortView {
    /// The resort and the day.
    pub on: ResortDay,
    /// The total of the day.
    pub total: DayTally,
    /// The rides by lift and by hour.
    pub breakdown: Breakdown,
    /// The leaderboard of the day.
    pub leaders: Vec<Leader>,
    /// The days of the season with rides.
    pub days: Vec<Day>,
}

/// A skier's season, with at least one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkierView {
    /// The season.
    pub season: Season,
    /// The days, ordered by resort and day.
    pub days: Vec<SkierDay>,
}

impl Rides {
    /// Returns the seasons of a resort with rides, in order, and a view of one day with `leaders` leaders: the
    /// given day, or the last one, of the given season, or the last one. `None` if there are no rides.
    pub async fn resort_view(
        &self,
        resort: ResortId,
        season: Option<Season>,
        day: Option<Day>,
        leaders: usize,
    ) -> Result<(Vec<Season>, Option<ResortView>)> {
        let seasons = self.stores.tallies.seasons(resort).await?;
        let Some(season) = season.or(seasons.last().copied()) else { return Ok((seasons, None)) };
        let days = self.stores.tallies.days(resort, season).await?;
        let days: Vec<Day> = days.into_iter().map(|(day, _)| day).collect();
        let Some(day) = day.or(days.last().copied()) else { return Ok((seasons, None)) };
        let on = ResortDay { season, resort, day };
        let view = ResortView {
            on,
            total: self.stores.tallies.total(on.into()).await?,
            breakdown: self.stores.tallies.breakdown(on).await?,
            leaders: self.stores.tallies.leaders(on.into(), leaders).await?,
            days,
        };
        Ok((seasons, Some(view)))
    }

    /// Returns the leaderboard of a resort's day or season; without a season, of the last one with rides. `None` if
    /// the resort never had rides.
    pub async fn leaderboard(
        &self,
        resort: ResortId,
        season: Option<Season>,
        day: Option<Day>,
        limit: usize,
    ) -> Result<Option<(Span, Vec<Leader>)>> {
        let season = match season {
            Some(season) => Some(season),
            None => self.stores.tallies.seasons(resort).await?.pop(),
        };
        let Some(season) = season else { return Ok(None) };
        let span = Span { season, resort, day };
        Ok(Some((span, self.stores.tallies.leaders(span, limit).await?)))
    }

    /// Returns a skier's vertical of each season, oldest first, and the days of one: the given one, or the last
    /// one. `None` if the skier has no rides in it.
    pub async fn skier_view(
        &self,
        skier: SkierId,
        season: Option<Season>,
    ) -> Result<(Vec<SeasonVertical>, Option<SkierView>)> {
        let seasons = self.stores.tallies.skier_seasons(skier, Vec::new(), Vec::new()).await?;
        let Some(season) = season.or(seasons.last().map(|last| last.season)) else {
            return Ok((seasons, None));
        };
        let mut days = self.stores.tallies.skier_season(skier, season).await?;
        days.retain(|day| day.tally.rides > 0);
        let view = (!days.is_empty()).then_some(SkierView { season, days });
        Ok((seasons, view))
    }

    /// Returns the number of stored events, which rises with every change of a sum.
    pub async fn stored(&self) -> Result<u64> {
        Ok(self.stores.log.ledger().await?.stored)
    }

    /// Returns a day at all resorts, including those without rides; without a day the last one of the season,
    /// without a season the newest one. `None` if there are no rides.
    pub async fn all_resorts_day(
        &self,
        season: Option<Season>,
        day: Option<Day>,
    ) -> Result<Option<AllResortsDay>> {
        let resorts = self.catalog.resorts().map(|(resort, _)| resort).collect();
        let found = self.stores.tallies.all_resorts_day(resorts, season, day, LIFTS_NAMED).await?;
        let Some(mut whole) = found else {
            return Ok(None);
        };
        for (resort, _) in self.catalog.resorts() {
            if let Err(place) = whole.resorts.binary_search_by_key(&resort, |(id, _)| *id) {
                whole.resorts.insert(place, (resort, DayTally::default()));
            }
        }
        Ok(Some(whole))
    }
}
