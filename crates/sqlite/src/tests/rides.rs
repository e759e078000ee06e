//! Rides and their sums in the database.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc, task::Poll, time::Duration};

use futures_util::poll;
use lodge_domain::{
    Result,
    rides::{
        Day, Dimension, GateId, LiftId, Minute, ReadFrom, Recorded, ResortDay, ResortId, Ride,
        RideEvent, RideEventContent, RideEventId, RideLog as _, RideQuery, RideSearch as _,
        RideTallies as _, Season, SkierId, Span,
    },
};
use lodge_sql::App;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::{REFUSED_BY_COMMIT, execute, groups::block_writer, is_unavailable};
use crate::{
    Options,
    engine::Engine,
    rides::{SqliteRides, rebuild, repair_skier_day},
};

pub(super) const ON: ResortDay =
    ResortDay { season: Season(2025), resort: ResortId(3), day: Day(9) };

fn ride(skier: u32) -> Ride {
    Ride { on: ON, skier: SkierId(skier), minute: Minute(61), lift: LiftId(4), vertical: 40 }
}

fn of_ride(ride: Ride) -> RideEvent {
    let (id, what) = (RideEventId::Uuid(Uuid::now_v7()), RideEventContent::Ride(ride));
    RideEvent { gate: GateId::ANONYMOUS, id, what, at: lodge_contract::samples::BEGIN }
}

pub(super) fn event(skier: u32) -> RideEvent {
    of_ride(ride(skier))
}

pub(super) fn open(options: &Options) -> (SqliteRides, TempDir) {
    let (engine, folder) = super::open(options);
    (SqliteRides(engine), folder)
}

/// Opens the file again in the state that a killed process leaves.
fn reopen(rides: SqliteRides, folder: &TempDir, options: &Options) -> SqliteRides {
    drop(rides);
    SqliteRides(Arc::new(Engine::open(folder.path(), options).unwrap()))
}

/// Waits until this many requests to store rides, or to change their sums, are unanswered.
pub(super) async fn waiting(rides: &SqliteRides, requests: usize) {
    super::waiting(&rides.0, App::Rides, requests).await;
}

/// Records events in a task.
pub(super) fn record(
    rides: &SqliteRides,
    events: Vec<RideEvent>,
) -> JoinHandle<Result<Vec<Recorded>>> {
    let rides = rides.clone();
    tokio::spawn(async move { rides.record(events).await })
}

#[tokio::test]
async fn rides_that_come_together_change_each_sum_once() {
    let (rides, _folder) = open(&Options::default());
    let writes = |connection: &Connection| Ok(connection.total_changes());
    let before = rides.0.writer.write(App::Links, writes).await.unwrap();
    let held = block_writer(&rides.0).await;
    let callers: Vec<_> = (1..=20).map(|skier| record(&rides, vec![event(skier)])).collect();
    waiting(&rides, 20).await;
    held.release().await;
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap(), [Recorded::Stored]);
    }
    let changed = rides.0.writer.write(App::Links, writes).await.unwrap();
    // Twenty rides; and once for all: the day, the season, the lift, the hour and the ledger.
    assert_eq!(changed - before, 20 + 5);
}

#[tokio::test]
async fn rides_beyond_the_queue_limit_are_refused() {
    let (rides, _folder) = open(&Options { queue_per_app: 2, ..Options::default() });
    let held = block_writer(&rides.0).await;
    let record = |skier: u32, events: usize| record(&rides, vec![event(skier); events]);
    let (first, second) = (record(1, 1), record(2, 60_000));
    waiting(&rides, 2).await;
    assert!(is_unavailable(&record(3, 1).await.unwrap()));
    assert!(is_unavailable(&record(3, 10_000).await.unwrap()));
    held.release().await;
    assert_eq!(first.await.unwrap().unwrap().len(), 1);
    assert_eq!(second.await.unwrap().unwrap().len(), 60_000);
    assert_eq!(rides.total(ON.into()).await.unwrap().tally.rides, 2);
}

#[tokio::test]
async fn a_rebuild_repairs_wrong_sums_and_names_them() {
    let (rides, _folder) = open(&Options::default());
    rides.record((1..=50).map(event).collect()).await.unwrap();
    // Writes back the skier days, so that the damage below is not overwritten.
    assert_eq!(rides.rebuild().await.unwrap().differences, []);
    let season = Span { day: None, ..ON.into() };
    let right = sums(&rides, season).await;
    let damages = [
        ("DELETE FROM skier_days WHERE skier = 7", "skiers' days"),
        ("UPDATE skier_days SET vertical = 50 WHERE skier = 7", "skiers' days"),
        ("UPDATE skier_days SET vertical = 50", "skiers' days"),
        ("UPDATE skier_days SET rides = -1 WHERE skier = 7", "skiers' days"),
        ("UPDATE skier_days SET up_to = 1000000 WHERE skier = 7", "skiers' days"),
        ("UPDATE skier_days SET up_to = 1 WHERE skier = 7", "skiers' days"),
        ("INSERT INTO skier_days VALUES (99, 2025, 3, 9, 1, 10, 1)", "skiers' days"),
        (
            "INSERT INTO skier_days VALUES (97, 2025, 3, 8, 1, 10, 1), (97, 2025, 3, 9, -1, 0, 1)",
            "skiers' days",
        ),
        ("INSERT INTO skier_days VALUES (98, 2025, 3, 9, -1, -10, 1)", "skiers' days"),
        ("INSERT INTO skier_days VALUES (99, 2025, 3, 10, 1, 10, 1)", "skiers' days"),
        ("INSERT INTO skier_days VALUES (99, 2024, 8, 10, 1, 10, 1)", "skiers' days"),
        ("UPDATE lift_days SET rides = rides + 1", "lifts' days"),
        ("INSERT INTO lift_days VALUES (2025, 3, 9, 40, -1, -400)", "lifts' days"),
        ("INSERT INTO lift_days VALUES (2025, 3, 10, 4, 1, 40)", "lifts' days"),
        ("DELETE FROM hour_days", "hours"),
        ("INSERT INTO hour_days VALUES (2025, 3, 9, 23, 1, 10)", "hours"),
        ("INSERT INTO hour_days VALUES (2024, 8, 9, 23, 1, 10)", "hours"),
        ("UPDATE resort_days SET skiers = 49 WHERE day = 9", "resorts' days"),
        ("UPDATE resort_days SET rides = 1 WHERE day = 0", "resorts' seasons"),
        ("UPDATE resort_days SET rides = -1 WHERE day = 0", "resorts' seasons"),
        ("INSERT INTO resort_days VALUES (2024, 8, 0, 1, 1, 1, 0, NULL, NULL)", "resorts' seasons"),
        ("DELETE FROM resort_days", "resorts' days"),
        ("DELETE FROM leaders WHERE skier = 1 AND day = 9", "leaderboards"),
        ("UPDATE leaders SET vertical = 1 WHERE skier = 1 AND day = 0", "leaderboards"),
        ("INSERT INTO leaders VALUES (2024, 8, 0, 1, 10)", "leaderboards"),
        ("UPDATE resort_days SET leaders = leaders + 1 WHERE day = 0", "leaderboards"),
        (
            "UPDATE resort_days SET floor_vertical = 1, floor_skier = 1 WHERE day = 9",
            "leaderboards",
        ),
        ("UPDATE resort_days SET floor_vertical = 0 WHERE day = 0", "leaderboards"),
        ("INSERT INTO resort_days VALUES (2025, 3, 10, 1, 10, 1, 0, NULL, NULL)", "resorts' days"),
        ("UPDATE ride_ledger SET stored = stored + 1", "the ledger"),
    ];
    for (damage, name) in damages {
        let done = move |connection: &Connection| Ok(connection.execute(damage, [])?);
        assert!(rides.0.writer.write(App::Rides, done).await.unwrap() > 0, "{damage}");
        let rebuilt = rides.rebuild().await.unwrap();
        assert_eq!(rebuilt.events, 50);
        let told: Vec<_> = rebuilt.differences.iter().map(|(what, _)| what.as_str()).collect();
        assert!(told.contains(&name), "{damage}: {rebuilt:?}");
        assert_eq!(rides.rebuild().await.unwrap().differences, [], "{damage}");
        assert_eq!(sums(&rides, season).await, right, "{damage}");
    }
    let all = rides.ledger().await.unwrap();
    assert_eq!(all.stored, 50);
}

#[tokio::test]
async fn a_damaged_floor_of_a_full_leaderboard_is_repaired() {
    let (rides, _folder) = open(&Options::default());
    rides.record((1..=2_500).map(event).collect()).await.unwrap();
    assert_eq!(rides.rebuild().await.unwrap().differences, []);
    let damages = [
        "UPDATE resort_days SET floor_vertical = NULL, floor_skier = NULL WHERE day = 9",
        "UPDATE resort_days SET floor_skier = 2000 WHERE day = 9",
        "UPDATE resort_days SET floor_skier = 100 WHERE day = 0",
        "UPDATE resort_days SET floor_skier = NULL WHERE day = 0",
        "UPDATE resort_days SET floor_skier = 300, leaders = 300 WHERE day = 0; DELETE FROM leaders WHERE day = 0 AND skier > 300",
    ];
    for damage in damages {
        execute(&rides.0, damage).await.unwrap();
        let found = rides.rebuild().await.unwrap().differences;
        assert_eq!(found, [("leaderboards".to_owned(), 1)], "{damage}");
        assert_eq!(rides.rebuild().await.unwrap().differences, [], "{damage}");
        // All skiers have the same vertical, so those with the lowest numbers lead.
        for span in [ON.into(), Span { day: None, ..ON.into() }] {
            let leaders = rides.leaders(span, 3).await.unwrap();
            assert_eq!(leaders.iter().map(|leader| leader.skier.0).collect::<Vec<_>>(), [1, 2, 3]);
        }
    }
}

/// Rows per request, few so that there are many requests.
const FEW: usize = 7;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_finds_no_differences_while_rides_arrive() {
    let (rides, _folder) = open(&Options { sums_unwritten: 20, ..Options::default() });
    let send = |number: u32| {
        let rides = rides.clone();
        tokio::spawn(async move {
            for round in 0..20 {
                let events: Vec<_> = (0..30).map(|n| event(number + (n * round) % 70)).collect();
                rides.record(events.clone()).await.unwrap();
                rides.record(events.iter().step_by(3).map(void).collect()).await.unwrap();
            }
        })
    };
    let senders = [send(1), send(30)];
    while !senders.iter().all(JoinHandle::is_finished) {
        assert_eq!(rebuild(&rides, FEW).await.unwrap().differences, []);
    }
    let rebuilt = rebuild(&rides, FEW).await.unwrap();
    assert_eq!((rebuilt.events, rebuilt.differences), (2 * 20 * 40, Vec::new()));
}

#[tokio::test]
async fn a_repair_also_corrects_sums_in_memory() {
    // So long that all requests run in one group.
    let options = Options { group_time: Duration::from_mins(1), ..Options::default() };
    let (rides, folder) = open(&options);
    rides.record(vec![event(7)]).await.unwrap();
    assert_eq!(rides.rebuild().await.unwrap().differences, []);
    execute(&rides.0, "UPDATE skier_days SET rides = 5 WHERE skier = 7").await.unwrap();
    let held = block_writer(&rides.0).await;
    // Adds to the wrong sum in memory; so many events that a later request is not combined with this one.
    let many = (0..5_000).map(|n| event(if n == 0 { 7 } else { 100 + n })).collect();
    let before = record(&rides, many);
    waiting(&rides, 1).await;
    let mending = rides.clone();
    let mend =
        tokio::spawn(async move { repair_skier_day(&mending, ON, SkierId(7)).await.unwrap() });
    waiting(&rides, 2).await;
    let after = record(&rides, vec![event(7)]);
    waiting(&rides, 3).await;
    held.release().await;
    assert_eq!((before.await.unwrap().unwrap().len(), mend.await.unwrap()), (5_000, 1));
    after.await.unwrap().unwrap();
    assert_eq!(rides_on_day(&rides, 7).await, 3);
    assert_eq!(rides.rebuild().await.unwrap().differences, []);
    let rides = reopen(rides, &folder, &Options::default());
    assert_eq!(rides_on_day(&rides, 7).await, 3);
}

#[tokio::test]
async fn a_refused_search_writes_nothing() {
    let (rides, _folder) = open(&Options::default());
    rides.record(vec![event(7)]).await.unwrap();
    let written = || async {
        let count = |connection: &Connection| {
            Ok(connection.query_row("SELECT count(*) FROM skier_days", [], |row| row.get(0))?)
        };
        rides.0.readers.read::<i64>(App::Rides, count).await.unwrap()
    };
    let mut places = Vec::new();
    while let Ok(place) = rides.0.searches.acquire() {
        places.push(place);
    }
    assert!(is_unavailable(&rides.search(of_skier(7)).await));
    assert_eq!(written().await, 0);
    places.pop();
    let found = rides.search(of_skier(7)).await.unwrap().groups;
    assert_eq!((found[0].tally.rides, written().await), (1, 1));
    let is_free = rides.0.searches.acquire().is_ok();
    assert!(is_free, "the slot of a search that has ended");
}

#[tokio::test]
async fn concurrent_searches_write_skier_days_once() {
    let (rides, _folder) = open(&Options::default());
    rides.record(vec![event(7)]).await.unwrap();
    let holding = block_writer(&rides.0).await;
    let mut searches: Vec<_> = (0..4).map(|_| rides.search(by_skier())).collect();
    for search in &mut searches {
        assert!(matches!(poll!(search), Poll::Pending));
    }
    assert_eq!(rides.0.writer.unanswered(App::Rides), 1);
    holding.release().await;
    for search in searches {
        assert_eq!(search.await.unwrap().groups[0].tally.rides, 1);
    }
    // Nothing is buffered, so nothing is written back: the search ends while the writer is blocked.
    let holding = block_writer(&rides.0).await;
    assert_eq!(rides.search(by_skier()).await.unwrap().groups.len(), 1);
    holding.release().await;
}

#[tokio::test]
async fn a_search_for_some_skiers_writes_their_days_alone() {
    let (rides, _folder) = open(&Options::default());
    rides.record((1..=9).map(event).collect()).await.unwrap();
    let found = rides.search(of_skier(7)).await.unwrap().groups;
    assert_eq!(found[0].tally.rides, 1);
    let written = |connection: &Connection| {
        let mut skiers = connection.prepare("SELECT skier FROM skier_days")?;
        Ok(skiers.query_map([], |row| row.get(0))?.collect::<Result<Vec<u32>, _>>()?)
    };
    assert_eq!(rides.0.readers.read(App::Rides, written).await.unwrap(), [7]);
    rides.record((1..=9).map(event).collect()).await.unwrap();
    assert_eq!(rides.search(of_skier(7)).await.unwrap().groups[0].tally.rides, 2);
    assert_eq!(rides.rebuild().await.unwrap().differences, []);
}

fn of_skier(skier: u32) -> RideQuery {
    RideQuery { skiers: vec![SkierId(skier)], limit: 10, ..RideQuery::default() }
}

#[tokio::test]
async fn the_skiers_of_one_day_are_read_from_its_row() {
    let (rides, _folder) = open(&Options::default());
    rides.record((1..=5).map(event).collect()).await.unwrap();
    let query = RideQuery {
        seasons: vec![ON.season],
        resorts: vec![ON.resort],
        days: Some(ON.day..=ON.day),
        count_skiers: true,
        limit: 10,
        ..RideQuery::default()
    };
    let held = block_writer(&rides.0).await;
    // No skier day is written back: the search ends while the writer is blocked.
    let found = rides.search(query).await.unwrap();
    held.release().await;
    assert_eq!((found.groups[0].skiers, found.read_from), (Some(5), ReadFrom::Sums));
}

#[tokio::test]
async fn a_skiers_season_has_only_its_own_days_written_back_or_not() {
    let (rides, _folder) = open(&Options::default());
    for times in 1..=2 {
        let all = [(2024, 3), (2025, 3), (2025, 4)];
        let all = all.map(|(season, resort)| ride_on(resort_day(season, resort, 9)));
        rides.record(all.to_vec()).await.unwrap();
        let days = rides.skier_season(SkierId(7), Season(2025)).await.unwrap();
        let days: Vec<_> = days.iter().map(|day| (day.resort.0, day.tally.rides)).collect();
        assert_eq!(days, [(3, times), (4, times)]);
        for (resorts, seasons, expected) in [
            (vec![], vec![], vec![(2024, 40 * times), (2025, 80 * times)]),
            (vec![3], vec![], vec![(2024, 40 * times), (2025, 40 * times)]),
            (vec![], vec![2024], vec![(2024, 40 * times)]),
            (vec![4, 5], vec![2024, 2025], vec![(2025, 40 * times)]),
        ] {
            let resorts = resorts.into_iter().map(ResortId).collect();
            let seasons = seasons.into_iter().map(Season).collect();
            let found = rides.skier_seasons(SkierId(7), resorts, seasons).await.unwrap();
            let found: Vec<_> = found.iter().map(|sum| (sum.season.0, sum.vertical)).collect();
            assert_eq!(found, expected);
        }
        // In the second round some days are on disk, and newer ones in memory.
        rides.rebuild().await.unwrap();
    }
}

fn ride_on(on: ResortDay) -> RideEvent {
    of_ride(Ride { on, ..ride(7) })
}

fn resort_day(season: u16, resort: u16, day: u16) -> ResortDay {
    ResortDay { season: Season(season), resort: ResortId(resort), day: Day(day) }
}

#[tokio::test]
async fn a_ride_in_a_far_off_season_is_not_the_newest_for_ever() {
    let (rides, _folder) = open(&Options::default());
    let on = resort_day;
    let newest = || async {
        let here = vec![ResortId(3), ResortId(4)];
        let newest = rides.all_resorts_day(here, None, None, 0).await.unwrap()?;
        Some((newest.season.0, newest.day.0))
    };
    assert_eq!(newest().await, None);
    // A late ride does not replace a newer day, nor does a ride of a resort that is not in the list.
    rides.record(vec![ride_on(on(2025, 3, 9)), ride_on(on(2025, 4, 8))]).await.unwrap();
    rides.record(vec![ride_on(on(9998, 8, 1))]).await.unwrap();
    assert_eq!(newest().await, Some((2025, 9)));
    let far_off = ride_on(on(9999, 3, 1));
    rides.record(vec![far_off.clone()]).await.unwrap();
    assert_eq!(newest().await, Some((9999, 1)));
    rides.record(vec![void(&far_off)]).await.unwrap();
    assert_eq!(newest().await, Some((2025, 9)));
    rides.record(vec![ride_on(on(9999, 3, 2))]).await.unwrap();
    assert_eq!(newest().await, Some((9999, 2)));
    rides.record((0..1_000).map(|_| ride_on(on(2025, 4, 10))).collect()).await.unwrap();
    assert_eq!(newest().await, Some((2025, 10)));
}

#[tokio::test]
async fn all_resorts_day_lists_every_season_once() {
    let (rides, _folder) = open(&Options::default());
    let on = |season, resort| resort_day(season, resort, 1);
    let only_ride = ride_on(on(2022, 3));
    let ridden = [on(2025, 3), on(2024, 4), on(2025, 4), on(2023, 8)].map(ride_on);
    rides.record([&ridden[..], &[only_ride.clone(), void(&only_ride)]].concat()).await.unwrap();
    let here = [3, 4].map(ResortId).to_vec();
    let day = rides.all_resorts_day(here, Some(Season(2024)), None, 0).await.unwrap().unwrap();
    assert_eq!(day.seasons, [2024, 2025].map(Season));
}

async fn sums(rides: &SqliteRides, season: Span) -> String {
    let day = (rides.total(ON.into()).await, rides.leaders(ON.into(), 50).await);
    let whole = (rides.total(season).await, rides.leaders(season, 50).await);
    let parts = (rides.breakdown(ON).await, rides.days(ON.resort, ON.season).await);
    let skiers = (rides.skier_day(SkierId(7), ON).await, rides.skier_day(SkierId(99), ON).await);
    format!("{day:?} {whole:?} {parts:?} {skiers:?}")
}

/// Rides of few skiers on few days, some voided, under several thresholds, with simulated kills in between. With low
/// thresholds a round of write-back spans many groups, and begins and ends between days of one skier.
#[tokio::test]
async fn unwritten_skier_days_are_rebuilt_from_the_rides() {
    for (sums_unwritten, rides_unwritten, part) in
        [(1, 90, 1), (2, 1_000, 3), (5, 90, 7), (20, 10, 5), (1_000, 90, 4_096)]
    {
        let options =
            Options { sums_unwritten, rides_unwritten, sums_part: part, ..Options::default() };
        let (mut rides, folder) = open(&options);
        let (mut random, mut expected) =
            (StdRng::seed_from_u64(sums_unwritten as u64), BTreeMap::new());
        for _ in 0..12 {
            for _ in 0..random.random_range(1..6) {
                ride_and_void(&rides, &mut random, &mut expected).await;
            }
            if random.random_bool(0.3) {
                rides.search(by_skier()).await.unwrap();
            }
            for ((skier, on), left) in &expected {
                let tally = rides.skier_day(*skier, *on).await.unwrap();
                assert_eq!(tally.map_or(0, |tally| tally.rides), *left, "{skier} {on:?}");
            }
            assert_leaders(&rides, &expected).await;
            rides = reopen(rides, &folder, &options);
        }
        assert_eq!(rides.rebuild().await.unwrap().differences, []);
    }
}

type Expected = BTreeMap<(SkierId, ResortDay), u64>;

/// More skiers than a leaderboard stores, and voids of leaders, so that leaderboards are truncated and refilled, with
/// simulated kills in between.
#[tokio::test]
async fn leaders_match_the_rides_after_cuts_voids_and_kills() {
    let options = Options { sums_unwritten: 1_500, rides_unwritten: 2_000, ..Options::default() };
    let (mut rides, folder) = open(&options);
    let (mut random, mut expected) = (StdRng::seed_from_u64(1), Expected::new());
    for _ in 0..8 {
        let events: Vec<_> = (0..1_500)
            .map(|_| event_on(random.random_range(1..4_000), random.random_range(1..3)))
            .collect();
        rides.record(events.clone()).await.unwrap();
        for event in &events {
            *expected.entry(of(event)).or_default() += 1;
        }
        assert_leaders(&rides, &expected).await;
        let leads = |event: &&RideEvent| expected[&of(event)] > 1 || of(event).0.0 < 1_500;
        let voided: Vec<_> = events.iter().filter(leads).cloned().collect();
        rides.record(voided.iter().map(void).collect()).await.unwrap();
        for event in &voided {
            *expected.get_mut(&of(event)).unwrap() -= 1;
        }
        assert_leaders(&rides, &expected).await;
        rides = reopen(rides, &folder, &options);
    }
    assert_leaders(&rides, &expected).await;
    assert_eq!(rides.rebuild().await.unwrap().differences, []);
}

/// Checks the leaders of the season and of its second day.
async fn assert_leaders(rides: &SqliteRides, expected: &Expected) {
    for day in [None, Some(Day(2))] {
        let mut verticals: BTreeMap<SkierId, u64> = BTreeMap::new();
        let in_span = expected.iter().filter(|((_, on), _)| day.is_none_or(|day| on.day == day));
        for ((skier, _), rode) in in_span {
            *verticals.entry(*skier).or_default() += 40 * rode;
        }
        verticals.retain(|_, vertical| *vertical > 0);
        let mut leaders: Vec<_> = verticals.into_iter().collect();
        leaders.sort_by_key(|(_, vertical)| Reverse(*vertical));
        leaders.truncate(100);
        let shown = rides.leaders(Span { day, ..ON.into() }, 100).await.unwrap();
        let shown: Vec<_> =
            shown.into_iter().map(|leader| (leader.skier, leader.vertical)).collect();
        assert_eq!(shown, leaders, "{day:?}");
    }
}

/// Records a group of rides, mostly small, and voids of some of them.
async fn ride_and_void(rides: &SqliteRides, random: &mut StdRng, expected: &mut Expected) {
    let events: Vec<_> = (0..[1, 2, 30][random.random_range(0..3)])
        .map(|_| event_on(random.random_range(1..12), random.random_range(1..6)))
        .collect();
    rides.record(events.clone()).await.unwrap();
    let voided: Vec<_> = events.iter().filter(|_| random.random_bool(0.3)).collect();
    rides.record(voided.iter().map(|event| void(event)).collect()).await.unwrap();
    for event in &events {
        *expected.entry(of(event)).or_default() += 1;
    }
    for event in voided {
        *expected.get_mut(&of(event)).unwrap() -= 1;
    }
}

fn by_skier() -> RideQuery {
    RideQuery { by: vec![Dimension::Skier], limit: 100, ..RideQuery::default() }
}

fn event_on(skier: u32, day: u16) -> RideEvent {
    of_ride(Ride { on: ResortDay { day: Day(day), ..ON }, ..ride(skier) })
}

fn of(event: &RideEvent) -> (SkierId, ResortDay) {
    let RideEventContent::Ride(ride) = &event.what else { panic!("not a ride") };
    (ride.skier, ride.on)
}

fn void(of: &RideEvent) -> RideEvent {
    RideEvent {
        id: RideEventId::Uuid(Uuid::now_v7()),
        what: RideEventContent::Void(of.id.clone()),
        ..of.clone()
    }
}

#[tokio::test]
async fn a_lost_group_leaves_skier_days_unchanged() {
    // So few that the group is lost in the middle of a round of write-back.
    let group_time = Duration::from_secs(10);
    let options = Options { sums_unwritten: 4, sums_part: 2, group_time, ..Options::default() };
    let (rides, folder) = open(&options);
    rides.record((7..20).map(event).collect()).await.unwrap();
    rides.record(vec![event(30)]).await.unwrap();
    execute(&rides.0, REFUSED_BY_COMMIT).await.unwrap();
    let held = block_writer(&rides.0).await;
    let caller = record(&rides, vec![event(7), event(8)]);
    waiting(&rides, 1).await;
    let of_links = Arc::clone(&rides.0);
    let fails =
        tokio::spawn(async move { execute(&of_links, "INSERT INTO child VALUES (1)").await });
    super::waiting(&rides.0, App::Links, 2).await;
    held.release().await;
    assert!(is_unavailable(&caller.await.unwrap()));
    assert!(fails.await.unwrap().is_err());
    assert_eq!((rides_on_day(&rides, 7).await, rides_on_day(&rides, 8).await), (1, 1));
    // Until the round is complete.
    for _ in 0..2 {
        rides.record(vec![event(7), event(8)]).await.unwrap();
    }
    let rides = reopen(rides, &folder, &options);
    assert_eq!((rides_on_day(&rides, 8).await, rides_on_day(&rides, 30).await), (3, 1));
    assert_eq!(rides.rebuild().await.unwrap().differences, []);
}

/// Returns a skier's number of rides on the day.
async fn rides_on_day(rides: &SqliteRides, skier: u32) -> u64 {
    rides.skier_day(SkierId(skier), ON).await.unwrap().map_or(0, |tally| tally.rides)
}
