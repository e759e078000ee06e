//! What people look at: a resort's day, who leads, a skier's season.

use super::{
    Breakdown, Day, DayTally, Leader, MountainDay, ResortDay, ResortId, Rides, Season,
    SeasonVertical, SkierDay, SkierId, Span,
};
use crate::Result;

/// Lifts that are named of a day.
const LIFTS_NAMED: usize = 10;

/// A resort's day, and the season around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResortView {
    /// Which.
    pub on: ResortDay,
    /// How much was ridden.
    pub total: DayTally,
    /// The same by lift and by hour.
    pub breakdown: Breakdown,
    /// Who went farthest up.
    pub leaders: Vec<Leader>,
    /// The days of the season on which somebody rode there.
    pub days: Vec<Day>,
}

/// A skier's season, of one day at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkierView {
    /// Which.
    pub season: Season,
    /// By resort and day.
    pub days: Vec<SkierDay>,
}

impl Rides {
    /// The seasons in which somebody rode at a resort, in order; and a day of one of them with so many leaders:
    /// that one, or the last one, of that season or the last one. `None` if nobody rode there then.
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

    /// Who went farthest up at a resort, on that day or in the whole season: that one, or the last one in which
    /// somebody rode there. `None` if nobody ever did.
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

    /// How far up a skier went in each season, oldest first; and the days of one: that one, or the last one.
    /// `None` if they did not ride then.
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

    /// How many events are stored: whatever changes any sum raises it.
    pub async fn stored(&self) -> Result<u64> {
        Ok(self.stores.log.ledger().await?.stored)
    }

    /// That day at all resorts, those where nobody rode too; without a day the last one of that season, without
    /// a season the newest one. `None` if nobody rode then.
    pub async fn mountain_day(
        &self,
        season: Option<Season>,
        day: Option<Day>,
    ) -> Result<Option<MountainDay>> {
        let resorts = self.mountain.resorts().map(|(resort, _)| resort).collect();
        let found = self.stores.tallies.mountain_day(resorts, season, day, LIFTS_NAMED).await?;
        let Some(mut whole) = found else {
            return Ok(None);
        };
        for (resort, _) in self.mountain.resorts() {
            if let Err(place) = whole.resorts.binary_search_by_key(&resort, |(id, _)| *id) {
                whole.resorts.insert(place, (resort, DayTally::default()));
            }
        }
        Ok(Some(whole))
    }
}
