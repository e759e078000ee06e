//! Searches, lookups and exports of rides.

use std::collections::{BTreeMap, BTreeSet};

use lodge_domain::rides::{
    Day, DayTally, Dimension, GROUPS_MAX, GateId, GroupOrder, LiftId, Minute, ResortId, Ride,
    RideEvent, RideEventContent, RideGroup, RideQuery, Season, SkierId,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use crate::{
    RidesFixture,
    rides::{Model, event, first_day, new_season, ride, ride_of, void},
    samples::all_pages,
};

/// For any filter and grouping, with and without counting skiers.
pub async fn a_search_matches_the_stored_rides(fixture: &RidesFixture) {
    let season = new_season();
    let mut random = StdRng::seed_from_u64(11);
    let mut model = Model::default();
    let events: Vec<_> = (0..400)
        .map(|n| {
            let day = random.random_range(1..5);
            let minute = random.random_range(1..=300);
            let lift = random.random_range(1..5);
            let mut ride = ride(season, day, random.random_range(1..9), minute, lift);
            ride.on.resort = ResortId(n % 3 + 1);
            event(ride)
        })
        .collect();
    fixture.log.record(events.clone()).await.unwrap();
    let voids = events.iter().step_by(4).map(void).collect();
    fixture.log.record(voids).await.unwrap();
    let left = events.iter().enumerate().filter(|(n, _)| n % 4 > 0);
    model.0.extend(left.map(|(_, event)| ride_of(event)));
    let mut read_from = BTreeMap::new();
    for _ in 0..400 {
        let query = any_query(&mut random, season);
        let found = fixture.search.search(query.clone()).await.unwrap();
        let (groups, more) = model.search(&query);
        assert_eq!(found.groups, groups, "{query:?} from {:?}", found.read_from);
        assert_eq!(found.more, more, "{query:?}");
        *read_from.entry(format!("{:?}", found.read_from)).or_insert(0) += 1;
    }
    assert!(read_from.len() == 2, "{read_from:?}");
}

fn any_query(random: &mut StdRng, season: Season) -> RideQuery {
    let mut query = RideQuery { seasons: vec![season], limit: GROUPS_MAX, ..RideQuery::default() };
    if random.random_bool(0.3) {
        query.resorts = vec![ResortId(1), ResortId(3)];
    }
    if random.random_bool(0.3) {
        query.days = Some(Day(random.random_range(1..3))..=Day(3));
    }
    if random.random_bool(0.3) {
        let first = [1, 61, 75][random.random_range(0..3)];
        query.minutes =
            Some(Minute(first)..=Minute(if random.random_bool(0.5) { 180 } else { 200 }));
    }
    if random.random_bool(0.2) {
        query.lifts = vec![LiftId(2), LiftId(3)];
    }
    if random.random_bool(0.2) {
        query.skiers = vec![SkierId(random.random_range(1..9)), SkierId(99)];
    }
    query.by = Dimension::ALL.into_iter().filter(|_| random.random_bool(0.3)).collect();
    if random.random_bool(0.3) {
        query.by.reverse();
    }
    query.count_skiers = random.random_bool(0.5);
    if random.random_bool(0.1) {
        query.limit = 3;
    }
    query.order =
        [GroupOrder::Numbers, GroupOrder::Rides, GroupOrder::Vertical][random.random_range(0..3)];
    query
}

impl Model {
    fn search(&self, query: &RideQuery) -> (Vec<RideGroup>, bool) {
        let is_among = |ride: &Ride| {
            (query.resorts.is_empty() || query.resorts.contains(&ride.on.resort))
                && query.days.as_ref().is_none_or(|days| days.contains(&ride.on.day))
                && query.minutes.as_ref().is_none_or(|minutes| minutes.contains(&ride.minute))
                && (query.lifts.is_empty() || query.lifts.contains(&ride.lift))
                && (query.skiers.is_empty() || query.skiers.contains(&ride.skier))
        };
        let mut groups: BTreeMap<Vec<u32>, Vec<&Ride>> = BTreeMap::new();
        for ride in self.of(is_among) {
            let key = query.by.iter().map(|dimension| part(ride, *dimension)).collect();
            groups.entry(key).or_default().push(ride);
        }
        let group = |(key, rides): (Vec<u32>, Vec<&Ride>)| {
            let DayTally { tally, skiers } = Self::total(&rides);
            RideGroup { key, tally, skiers: query.count_skiers.then_some(skiers) }
        };
        let mut groups: Vec<_> = groups.into_iter().map(group).collect();
        groups.sort_by_key(|group| match query.order {
            GroupOrder::Numbers => 0,
            GroupOrder::Rides => u64::MAX - group.tally.rides,
            GroupOrder::Vertical => u64::MAX - group.tally.vertical,
        });
        let more = groups.len() > query.limit;
        groups.truncate(query.limit);
        (groups, more)
    }
}

fn part(ride: &Ride, dimension: Dimension) -> u32 {
    match dimension {
        Dimension::Season => ride.on.season.0.into(),
        Dimension::Resort => ride.on.resort.0.into(),
        Dimension::Day => ride.on.day.0.into(),
        Dimension::Hour => ride.minute.hour().0.into(),
        Dimension::Lift => ride.lift.0.into(),
        Dimension::Skier => ride.skier.0,
    }
}

/// Voids too, each event once, by resort and day.
pub async fn a_season_is_exported_whole_in_pages(fixture: &RidesFixture) {
    let season = new_season();
    let mut events: Vec<_> = (0..50)
        .map(|n| {
            let mut ride = ride(season, n % 3 + 1, 7, n + 1, 4);
            ride.on.resort = ResortId(n % 4 + 1);
            event(ride)
        })
        .collect();
    events.push(void(&events[0]));
    fixture.log.record(events.clone()).await.unwrap();
    for resort in [None, Some(ResortId(2))] {
        let page = async |after| fixture.search.page(season, resort, after, 7).await.unwrap();
        let exported = all_pages(7, page, |stored| stored.place).await;
        assert!(exported.is_sorted_by_key(|stored| (stored.ride.on.resort, stored.ride.on.day)));
        let ids: BTreeSet<_> = exported.iter().map(|stored| stored.id.clone()).collect();
        let expected: BTreeSet<_> = events
            .iter()
            .filter(|event| match &event.what {
                RideEventContent::Ride(ride) => {
                    resort.is_none_or(|resort| resort == ride.on.resort)
                }
                RideEventContent::Void(_) => resort.is_none(),
            })
            .map(|event| event.id.clone())
            .collect();
        assert_eq!((exported.len(), &ids), (expected.len(), &expected));
    }
}

/// Voids too, in the order of arrival, without events of other days, skiers or gates.
pub async fn events_are_found_by_their_day_and_by_their_id(fixture: &RidesFixture) {
    let season = new_season();
    let mut events: Vec<_> = (0..9).map(|n| event(ride(season, 2, n % 2 + 7, 100, 4))).collect();
    events.push(void(&events[0]));
    let others = [event(ride(season, 1, 7, 100, 4)), event(ride(season, 3, 7, 100, 4))];
    fixture.log.record([&others[..], &events[..]].concat()).await.unwrap();
    let on = first_day(&events[0]);
    let ids =
        |events: &[RideEvent]| -> Vec<_> { events.iter().map(|event| event.id.clone()).collect() };
    let sevens: Vec<_> = [0, 2, 4, 6, 8, 9].into_iter().map(|n: usize| events[n].clone()).collect();
    for (skier, expected) in [(None, ids(&events)), (Some(SkierId(7)), ids(&sevens))] {
        let page = async |after| fixture.search.on_day(on, skier, after, 4).await.unwrap();
        let found = all_pages(4, page, |stored| stored.place).await;
        assert_eq!(found.into_iter().map(|stored| stored.id).collect::<Vec<_>>(), expected);
    }
    let find = |gate, of: &RideEvent| fixture.search.event(gate, of.id.clone());
    let (first, taken_back) = (&events[0], &events[9]);
    let found = find(GateId::ANONYMOUS, first).await.unwrap().unwrap();
    assert_eq!((RideEventContent::Ride(found.ride), found.voids), (first.what.clone(), None));
    let found = find(GateId::ANONYMOUS, taken_back).await.unwrap().unwrap();
    assert_eq!(
        (RideEventContent::Ride(found.ride), found.voids),
        (first.what.clone(), Some(first.id.clone()))
    );
    assert_eq!(find(GateId(1_000_000), first).await.unwrap(), None);
}
