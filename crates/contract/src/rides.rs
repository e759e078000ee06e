//! Rides and their totals.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lodge_domain::rides::{
    BatchKey, Breakdown, Day, DayTally, GateId, HourTally, KeyedBatch, LEADERS_MAX, Leader, LiftId,
    LiftTally, Minute, Recorded, ResortDay, ResortId, Ride, RideEvent, RideEventContent,
    RideEventId, Season, SeasonVertical, SkierDay, SkierId, Span, StoreTotals, Tally,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use uuid::Uuid;

use crate::{
    RidesFixture,
    samples::{BEGIN, at_once},
};

const RESORT: ResortId = ResortId(3);

/// A season that no other test uses.
pub(crate) fn new_season() -> Season {
    Season(rand::random_range(1..=9_999))
}

pub(crate) fn ride(season: Season, day: u16, skier: u32, minute: u16, lift: u16) -> Ride {
    let on = ResortDay { season, resort: RESORT, day: Day(day) };
    let vertical = u32::from(lift) * 10;
    Ride { on, skier: SkierId(skier), minute: Minute(minute), lift: LiftId(lift), vertical }
}

pub(crate) fn event(ride: Ride) -> RideEvent {
    let id = RideEventId::Uuid(Uuid::now_v7());
    RideEvent { gate: GateId::ANONYMOUS, id, what: RideEventContent::Ride(ride), at: BEGIN }
}

pub(crate) fn void(of: &RideEvent) -> RideEvent {
    RideEvent {
        id: RideEventId::Uuid(Uuid::now_v7()),
        what: RideEventContent::Void(of.id.clone()),
        ..of.clone()
    }
}

async fn record(fixture: &RidesFixture, event: &RideEvent) -> Recorded {
    fixture.log.record(vec![event.clone()]).await.unwrap()[0]
}

async fn rides_of_season(fixture: &RidesFixture, season: Season) -> u64 {
    let span = Span { season, resort: RESORT, day: None };
    fixture.tallies.total(span).await.unwrap().tally.rides
}

/// For any number of repetitions, alone or in a batch.
pub async fn an_event_is_stored_once(fixture: &RidesFixture) {
    let season = new_season();
    let first = event(ride(season, 1, 7, 100, 4));
    let other =
        RideEvent { what: RideEventContent::Ride(ride(season, 1, 7, 101, 4)), ..first.clone() };
    assert_eq!(record(fixture, &first).await, Recorded::Stored);
    assert_eq!(record(fixture, &first).await, Recorded::Duplicate);
    assert_eq!(record(fixture, &other).await, Recorded::OtherEvent);
    let second = event(ride(season, 1, 7, 100, 4));
    let together = vec![second.clone(), first.clone(), second.clone(), other];
    let recorded = fixture.log.record(together).await.unwrap();
    assert_eq!(
        recorded,
        [Recorded::Stored, Recorded::Duplicate, Recorded::Duplicate, Recorded::OtherEvent]
    );
    let on = first_day(&first);
    let tally = fixture.tallies.skier_day(SkierId(7), on).await.unwrap();
    assert_eq!(tally, Some(Tally { rides: 2, vertical: 80 }));
}

pub(crate) fn first_day(event: &RideEvent) -> ResortDay {
    ride_of(event).on
}

/// The vertical comes from the lift table, not from the sender: a repetition is one even if the table has changed.
pub async fn a_repetition_is_a_duplicate_after_the_lift_has_changed(fixture: &RidesFixture) {
    let first = event(ride(new_season(), 1, 7, 100, 4));
    assert_eq!(record(fixture, &first).await, Recorded::Stored);
    let ride = ride_of(&first);
    let again = RideEvent {
        what: RideEventContent::Ride(Ride { vertical: 5_000, ..ride }),
        ..first.clone()
    };
    assert_eq!(record(fixture, &again).await, Recorded::Duplicate);
    let tally = fixture.tallies.skier_day(SkierId(7), ride.on).await.unwrap();
    assert_eq!(tally, Some(Tally { rides: 1, vertical: 40 }));
}

/// For both forms of ids.
pub async fn event_ids_are_scoped_to_a_gate(fixture: &RidesFixture) {
    let season = new_season();
    for id in
        [RideEventId::Uuid(Uuid::now_v7()), format!("scan {}", Uuid::now_v7()).parse().unwrap()]
    {
        let at_gate = |gate| RideEvent {
            gate: GateId(gate),
            id: id.clone(),
            ..event(ride(season, 1, u32::try_from(gate).unwrap() + 1, 100, 4))
        };
        for gate in 0..3 {
            assert_eq!(record(fixture, &at_gate(gate)).await, Recorded::Stored);
            assert_eq!(record(fixture, &at_gate(gate)).await, Recorded::Duplicate);
        }
        let of_another = RideEvent { gate: GateId(3), ..void(&at_gate(1)) };
        assert_eq!(record(fixture, &of_another).await, Recorded::NothingToVoid);
    }
    assert_eq!(rides_of_season(fixture, season).await, 6);
}

/// The key is scoped to its gate. Another body under the key is refused as a whole, also events with ids of their
/// own.
pub async fn a_batch_key_is_for_one_body(fixture: &RidesFixture) {
    let season = new_season();
    let key: BatchKey = Uuid::now_v7().to_string().parse().unwrap();
    let rides = [1, 2]
        .map(|line| RideEvent { id: key.event(line), ..event(ride(season, 1, 7, 100 + line, 4)) });
    let (batch, other) = (KeyedBatch::of(key, b"a body"), KeyedBatch::of(key, b"another"));
    let record = async |batch, events: &[RideEvent]| {
        fixture.log.record_batch(batch, events.to_vec()).await.unwrap()
    };
    assert_eq!(record(other, &[]).await, [], "an empty batch takes no key");
    assert_eq!(record(batch, &rides).await, [Recorded::Stored; 2]);
    assert_eq!(record(batch, &rides).await, [Recorded::Duplicate; 2]);
    let own = event(ride(season, 1, 7, 200, 4));
    let third = RideEvent { id: key.event(3), ..event(ride(season, 1, 7, 300, 4)) };
    let [first, _] = rides.clone();
    let shifted = [own.clone(), first, void(&rides[1]), third];
    assert_eq!(record(other, &shifted).await, [Recorded::KeyReused; 4]);
    assert_eq!(rides_of_season(fixture, season).await, 2);
    assert_eq!(record(batch, &rides).await, [Recorded::Duplicate; 2]);

    let own = [own];
    let another_key = Uuid::now_v7().to_string().parse().unwrap();
    let under_another = KeyedBatch::of(another_key, b"another");
    assert_eq!(record(under_another, &own).await, [Recorded::Stored]);
    let of_another = own.map(|event| RideEvent { gate: GateId(4), ..event });
    assert_eq!(record(other, &of_another).await, [Recorded::Stored]);
    assert_eq!(rides_of_season(fixture, season).await, 4);
}

/// A skier whose only ride was voided disappears from the totals.
pub async fn a_ride_is_voided_once(fixture: &RidesFixture) {
    let season = new_season();
    let (first, second) = (event(ride(season, 1, 7, 100, 4)), event(ride(season, 1, 7, 200, 5)));
    let (of_first, again) = (void(&first), void(&first));
    assert_eq!(record(fixture, &of_first).await, Recorded::NothingToVoid);
    fixture.log.record(vec![first.clone(), second.clone()]).await.unwrap();
    assert_eq!(record(fixture, &of_first).await, Recorded::Stored);
    assert_eq!(record(fixture, &of_first).await, Recorded::Duplicate);
    assert_eq!(record(fixture, &again).await, Recorded::AlreadyVoided);
    assert_eq!(record(fixture, &void(&of_first)).await, Recorded::NothingToVoid);
    let reused = RideEvent { id: of_first.id.clone(), ..second.clone() };
    assert_eq!(record(fixture, &reused).await, Recorded::OtherEvent);
    let of_other = RideEvent { id: of_first.id.clone(), ..void(&second) };
    assert_eq!(record(fixture, &of_other).await, Recorded::OtherEvent);
    // The ride is still known, but no longer counted.
    assert_eq!(record(fixture, &first).await, Recorded::Duplicate);
    let on = first_day(&first);
    let tally = fixture.tallies.skier_day(SkierId(7), on).await.unwrap();
    assert_eq!(tally, Some(Tally { rides: 1, vertical: 50 }));
    assert_eq!(record(fixture, &void(&second)).await, Recorded::Stored);
    assert_eq!(fixture.tallies.skier_day(SkierId(7), on).await.unwrap(), None);
    assert_eq!(fixture.tallies.total(on.into()).await.unwrap(), DayTally::default());
    assert_eq!(fixture.tallies.leaders(on.into(), 10).await.unwrap(), []);
    assert_eq!(fixture.tallies.breakdown(on).await.unwrap(), Breakdown::default());
    assert_eq!(fixture.tallies.days(RESORT, season).await.unwrap(), []);
}

/// Several senders repeat each other's events.
pub async fn concurrent_repetitions_count_once(fixture: &RidesFixture) {
    let season = new_season();
    let events: Arc<Vec<_>> =
        Arc::new((0..200).map(|n| event(ride(season, 1, n % 50 + 1, 100, 4))).collect());
    let stored = at_once(8, |sender| {
        let (log, events) = (Arc::clone(&fixture.log), Arc::clone(&events));
        async move {
            let mut stored = 0;
            for n in 0..events.len() {
                let event = events[(n + sender * 25) % events.len()].clone();
                stored +=
                    usize::from(log.record(vec![event]).await.unwrap()[0] == Recorded::Stored);
            }
            stored
        }
    });
    let stored: usize = stored.await.into_iter().sum();
    assert_eq!((stored, rides_of_season(fixture, season).await), (200, 200));
}

/// An in-memory model of the store.
#[derive(Default)]
pub(crate) struct Model(pub(crate) Vec<Ride>);

impl Model {
    fn tally<'m>(rides: impl Iterator<Item = &'m Ride>) -> Tally {
        rides.fold(Tally::default(), |sum, ride| Tally {
            rides: sum.rides + 1,
            vertical: sum.vertical + u64::from(ride.vertical),
        })
    }

    pub(crate) fn of(&self, is: impl Fn(&Ride) -> bool) -> Vec<&Ride> {
        self.0.iter().filter(|ride| is(ride)).collect()
    }

    pub(crate) fn total(rides: &[&Ride]) -> DayTally {
        let skiers: BTreeSet<_> = rides.iter().map(|ride| ride.skier).collect();
        DayTally { tally: Self::tally(rides.iter().copied()), skiers: skiers.len() as u64 }
    }

    fn leaders(rides: &[&Ride], limit: usize) -> Vec<Leader> {
        let mut skiers: BTreeMap<SkierId, u64> = BTreeMap::new();
        for ride in rides {
            *skiers.entry(ride.skier).or_default() += u64::from(ride.vertical);
        }
        let mut leaders: Vec<_> =
            skiers.into_iter().map(|(skier, vertical)| Leader { skier, vertical }).collect();
        leaders.sort_by_key(|leader| (std::cmp::Reverse(leader.vertical), leader.skier));
        leaders.truncate(limit);
        leaders
    }
}

/// For any sequence of stores, repetitions and voids, alone or in batches, in any order of days.
pub async fn totals_match_the_stored_rides(fixture: &RidesFixture) {
    let season = new_season();
    let mut random = StdRng::seed_from_u64(7);
    let (mut model, mut sent): (Model, Vec<RideEvent>) = (Model::default(), Vec::new());
    for _ in 0..60 {
        let events: Vec<_> = (0..random.random_range(1..20))
            .map(|_| match random.random_range(0..10) {
                0..2 if !sent.is_empty() => sent[random.random_range(0..sent.len())].clone(),
                2..4 if !sent.is_empty() => void(&sent[random.random_range(0..sent.len())]),
                _ => event(ride(
                    season,
                    random.random_range(1..4),
                    random.random_range(1..12),
                    random.random_range(1..=1440),
                    random.random_range(1..6),
                )),
            })
            .collect();
        let recorded = fixture.log.record(events.clone()).await.unwrap();
        for (event, _) in
            events.into_iter().zip(recorded).filter(|(_, came)| *came == Recorded::Stored)
        {
            match &event.what {
                RideEventContent::Ride(ride) => model.0.push(*ride),
                RideEventContent::Void(of) => {
                    let voided = sent.iter().find(|event| event.id == *of).unwrap();
                    let RideEventContent::Ride(ride) = &voided.what else {
                        panic!("a void of a void")
                    };
                    let place = model.0.iter().position(|stored| stored == ride).unwrap();
                    model.0.swap_remove(place);
                }
            }
            sent.push(event);
        }
    }
    assert!(model.0.len() > 100, "{} rides", model.0.len());
    compare(fixture, &model, season).await;
}

async fn compare(fixture: &RidesFixture, model: &Model, season: Season) {
    let tallies = &fixture.tallies;
    let mut days = Vec::new();
    for day in (1..4).map(Day) {
        let on = ResortDay { season, resort: RESORT, day };
        let rides = model.of(|ride| ride.on == on);
        assert_eq!(tallies.total(on.into()).await.unwrap(), Model::total(&rides));
        assert_eq!(tallies.leaders(on.into(), 5).await.unwrap(), Model::leaders(&rides, 5));
        assert_eq!(tallies.breakdown(on).await.unwrap(), breakdown(&rides));
        days.push((day, Model::total(&rides)));
    }
    assert_eq!(tallies.days(RESORT, season).await.unwrap(), days);
    let all = model.of(|_| true);
    let span = Span { season, resort: RESORT, day: None };
    assert_eq!(tallies.total(span).await.unwrap(), Model::total(&all));
    assert_eq!(tallies.leaders(span, 100).await.unwrap(), Model::leaders(&all, 100));
    assert!(tallies.seasons(RESORT).await.unwrap().contains(&season));
    for skier in (1..12).map(SkierId) {
        let mut season_days = Vec::new();
        for day in (1..4).map(Day) {
            let rides = model.of(|ride| ride.skier == skier && ride.on.day == day);
            let tally = Model::tally(rides.into_iter());
            if tally.rides > 0 {
                season_days.push(SkierDay { resort: RESORT, day, tally });
            }
        }
        assert_eq!(tallies.skier_season(skier, season).await.unwrap(), season_days);
        let vertical = season_days.iter().map(|day| day.tally.vertical).sum();
        let seasons = tallies.skier_seasons(skier, vec![RESORT], vec![season]).await.unwrap();
        assert_eq!(seasons, [SeasonVertical { season, vertical }]);
        let elsewhere = tallies.skier_seasons(skier, vec![ResortId(4)], vec![season]).await;
        assert_eq!(elsewhere.unwrap(), []);
    }
}

fn breakdown(rides: &[&Ride]) -> Breakdown {
    let of =
        |is: &dyn Fn(&Ride) -> bool| Model::tally(rides.iter().copied().filter(|ride| is(ride)));
    let lifts: BTreeSet<_> = rides.iter().map(|ride| ride.lift).collect();
    let hours: BTreeSet<_> = rides.iter().map(|ride| ride.minute.hour()).collect();
    let of_lift = |lift| LiftTally { lift, tally: of(&|ride| ride.lift == lift) };
    let of_hour = |hour| HourTally { hour, tally: of(&|ride| ride.minute.hour() == hour) };
    Breakdown {
        lifts: lifts.into_iter().map(of_lift).collect(),
        hours: hours.into_iter().map(of_hour).collect(),
    }
}

/// Even if most of the leaders drop out.
pub async fn the_leaderboard_is_right_after_many_voids(fixture: &RidesFixture) {
    let season = new_season();
    let skiers = 5_000;
    let rides: Vec<_> = (1..=skiers)
        .map(|n| event(ride(season, 1, n, 100, u16::try_from(n % 40 + 1).unwrap())))
        .collect();
    let mut model = Model::default();
    for rides in rides.chunks(500) {
        fixture.log.record(rides.to_vec()).await.unwrap();
    }
    let mut places: Vec<_> = rides.iter().collect();
    places.sort_by_key(|event| {
        let ride = ride_of(event);
        (std::cmp::Reverse(ride.vertical), ride.skier)
    });
    let on = ResortDay { season, resort: RESORT, day: Day(1) };
    for places in places.chunks(600) {
        let left = |ride: &Ride| model.of(|gone| gone.skier == ride.skier).is_empty();
        let all: Vec<Ride> = rides.iter().map(ride_of).filter(left).collect();
        let expected = Model::leaders(&all.iter().collect::<Vec<_>>(), LEADERS_MAX);
        for span in [Span::from(on), Span { day: None, ..on.into() }] {
            assert_eq!(fixture.tallies.leaders(span, LEADERS_MAX).await.unwrap(), expected);
        }
        let voids: Vec<_> = places.iter().map(|event| void(event)).collect();
        fixture.log.record(voids).await.unwrap();
        model.0.extend(places.iter().map(|event| ride_of(event)));
    }
    assert_eq!(fixture.tallies.total(on.into()).await.unwrap(), DayTally::default());
}

pub(crate) fn ride_of(event: &RideEvent) -> Ride {
    let RideEventContent::Ride(ride) = &event.what else { panic!("not a ride") };
    *ride
}

/// An added season is listed once, apart from the seasons that have rides.
pub async fn an_added_season_belongs_to_its_resort(fixture: &RidesFixture) {
    // Outside the seasons of other tests.
    let (late, early) = (Season(19_002), Season(19_001));
    for season in [late, early, late] {
        fixture.log.add_season(RESORT, season).await.unwrap();
    }
    assert_eq!(fixture.log.added_seasons(RESORT).await.unwrap(), [early, late]);
    assert_eq!(fixture.log.added_seasons(ResortId(4)).await.unwrap(), []);
    assert!(!fixture.tallies.seasons(RESORT).await.unwrap().contains(&late));
}

/// For a day that arrives after a newer one, and for late rides of a past day.
pub async fn late_events_count_on_their_own_day(fixture: &RidesFixture) {
    let season = new_season();
    for (day, minute) in [(5, 700), (4, 100), (5, 20), (1, 1)] {
        record(fixture, &event(ride(season, day, 9, minute, 2))).await;
    }
    let days = fixture.tallies.days(RESORT, season).await.unwrap();
    let rides: Vec<_> = days.iter().map(|(day, total)| (day.0, total.tally.rides)).collect();
    assert_eq!(rides, [(1, 1), (4, 1), (5, 2)]);
    let newest =
        fixture.tallies.all_resorts_day(vec![RESORT], None, None, 1).await.unwrap().unwrap();
    assert_eq!((newest.season, newest.day), newest.newest);
    assert!(newest.newest >= (season, Day(5)), "{newest:?}");
}

/// At all resorts with rides, and no others.
pub async fn a_day_at_all_resorts_is_one_query(fixture: &RidesFixture) {
    let season = new_season();
    for (resort, day, skier, lift) in [
        (9, 1, 7, 1),
        (2, 3, 7, 1),
        (2, 3, 7, 4),
        (2, 3, 8, 4),
        (4, 3, 7, 2),
        (4, 3, 9, 3),
        (4, 5, 7, 1),
    ] {
        let on = ResortDay { season, resort: ResortId(resort), day: Day(day) };
        let ride = Ride { on, ..ride(season, day, skier, 100, lift) };
        record(fixture, &event(ride)).await;
    }
    let there = || [2, 4, 9].map(ResortId).to_vec();
    let told = async |day: Option<u16>, lifts| {
        let day = fixture
            .tallies
            .all_resorts_day(there(), Some(season), day.map(Day), lifts)
            .await
            .unwrap();
        day.unwrap()
    };
    let third = told(Some(3), 3).await;
    assert_eq!((third.season, third.day), (season, Day(3)));
    assert_eq!((third.before(), third.after()), (Some(Day(1)), Some(Day(5))));
    let days: Vec<_> = third.days.iter().map(|(day, tally)| (day.0, tally.rides)).collect();
    assert_eq!(days, [(1, 1), (3, 5), (5, 1)], "each day with rides at any resort, once");
    let season_rides = (third.season_total.tally.rides, third.season_total.skiers);
    assert_eq!(season_rides, (7, 5), "the skiers of each resort");
    assert!(third.seasons.contains(&season) && third.seasons.is_sorted(), "{third:?}");
    let resorts = third.resorts.iter().map(|(id, of)| (id.0, of.tally.rides, of.skiers));
    assert_eq!(resorts.collect::<Vec<_>>(), [(2, 3, 2), (4, 2, 2)]);
    assert_eq!((third.total.tally.rides, third.total.skiers), (5, 4));
    let vertical: u64 = third.resorts.iter().map(|(_, of)| of.tally.vertical).sum();
    assert_eq!(third.total.tally.vertical, vertical);
    let lifts = third.lifts.iter().map(|(id, of)| (id.0, of.lift.0, of.tally.rides));
    assert_eq!(lifts.collect::<Vec<_>>(), [(2, 4, 2), (2, 1, 1), (4, 2, 1)]);

    let last = told(None, 0).await;
    assert_eq!((last.day, last.before(), last.after()), (Day(5), Some(Day(3)), None));
    let empty = told(Some(4), 9).await;
    assert_eq!((empty.before(), empty.after()), (Some(Day(3)), Some(Day(5))));
    assert_eq!((empty.total, empty.resorts, empty.lifts), (DayTally::default(), vec![], vec![]));
    let no_rides =
        fixture.tallies.all_resorts_day(there(), Some(new_season()), None, 9).await.unwrap();
    assert_eq!(no_rides, None);
}

/// The ledger changes in the transaction of the event. No other test may write to the store meanwhile.
pub async fn the_ledger_counts_every_event(fixture: &RidesFixture) {
    let before = fixture.log.ledger().await.unwrap();
    let season = new_season();
    let first = event(ride(season, 1, 7, 100, 4));
    let other =
        RideEvent { what: RideEventContent::Ride(ride(season, 1, 7, 101, 4)), ..first.clone() };
    let together = vec![first.clone(), first.clone(), other, void(&first), first.clone()];
    fixture.log.record(together).await.unwrap();
    let key = Uuid::now_v7().to_string().parse().unwrap();
    for (body, minutes) in [("a body", 1..=1), ("another", 2..=4)] {
        let rides = minutes.map(|minute| event(ride(season, 1, 7, minute, 4))).collect();
        let batch = KeyedBatch::of(key, body.as_bytes());
        fixture.log.record_batch(batch, rides).await.unwrap();
    }
    fixture.log.note_refused(10).await.unwrap();
    let after = fixture.log.ledger().await.unwrap();
    let expected = StoreTotals {
        stored: before.stored + 3,
        duplicates: before.duplicates + 2,
        refused: before.refused + 14,
    };
    assert_eq!((after, after.accepted()), (expected, before.accepted() + 5));
}

/// The rebuild reads at least the events of this test, and reports no wrong totals.
pub async fn a_rebuild_finds_no_wrong_totals(fixture: &RidesFixture) {
    let season = new_season();
    let rides: Vec<_> = (0..2_500).map(|n| event(ride(season, 1, n + 1, 100, 4))).collect();
    fixture.log.record(rides.clone()).await.unwrap();
    let voids = rides.iter().step_by(3).map(void).collect();
    fixture.log.record(voids).await.unwrap();
    let rebuilt = fixture.log.rebuild().await.unwrap();
    assert_eq!(rebuilt.differences, []);
    assert!(rebuilt.events >= 2_500 + 834, "{rebuilt:?}");
}
