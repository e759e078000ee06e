//! Data of the ride pages: a resort's day, leaderboards, a skier's season.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{
    AllResortsDay, Breakdown, Day, DayTally, LEADERS_MAX, Leader, PassHolder, ResortDay, ResortId,
    Rides, Season, SeasonVertical, SkierDay, SkierId, Span,
};
use crate::Result;

/// The number of lifts in a day's ranking.
const LIFTS_NAMED: usize = 10;

/// The most resorts at which a skier's rank is looked up; each reads a leaderboard.
const RANKED_RESORTS: usize = 3;

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
    /// The rank on the season's leaderboards, from 1 to [`LEADERS_MAX`], at the resorts with the most vertical.
    pub ranks: Vec<(ResortId, usize)>,
}

/// An entry of a leaderboard with the holder of the skier's pass, if it is claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedLeader {
    /// The entry.
    pub leader: Leader,
    /// The holder.
    pub holder: Option<PassHolder>,
}

impl Rides {
    /// Adds the holders of passes to the entries of a leaderboard.
    pub async fn named(&self, leaders: Vec<Leader>) -> Result<Vec<NamedLeader>> {
        let skiers = leaders.iter().map(|leader| leader.skier).collect();
        let mut holders = self.passes().holders_of(skiers).await?;
        let named = |leader: Leader| NamedLeader { leader, holder: holders.remove(&leader.skier) };
        Ok(leaders.into_iter().map(named).collect())
    }

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
        if days.is_empty() {
            return Ok((seasons, None));
        }
        let ranks = self.ranks(skier, season, &days).await?;
        Ok((seasons, Some(SkierView { season, days, ranks })))
    }

    async fn ranks(
        &self,
        skier: SkierId,
        season: Season,
        days: &[SkierDay],
    ) -> Result<Vec<(ResortId, usize)>> {
        let mut verticals = BTreeMap::<ResortId, u64>::new();
        for day in days {
            *verticals.entry(day.resort).or_default() += day.tally.vertical;
        }
        // A resort that is no longer configured has no leaderboard page.
        let is_known = |(resort, _): &(ResortId, u64)| self.catalog.resort(resort.0.into()).is_ok();
        let mut resorts: Vec<_> = verticals.into_iter().filter(is_known).collect();
        resorts.sort_by_key(|(_, vertical)| Reverse(*vertical));
        let mut ranks = Vec::new();
        for (resort, _) in resorts.into_iter().take(RANKED_RESORTS) {
            let span = Span { season, resort, day: None };
            let leaders = self.stores.tallies.leaders(span, LEADERS_MAX).await?;
            let place = leaders.iter().position(|leader| leader.skier == skier);
            ranks.extend(place.map(|place| (resort, place + 1)));
        }
        Ok(ranks)
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
