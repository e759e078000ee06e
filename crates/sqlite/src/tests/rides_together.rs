//! Replies to callers whose rides are stored in one job: with rides that cannot be stored, with keys already used for
//! other bodies, and when the writer ends.

use std::{sync::Arc, time::Duration};

use lodge_domain::{
    Error, Result,
    rides::{KeyedBatch, Recorded, RideEvent, RideLog as _, RideTallies as _},
};
use lodge_sql::App;
use rusqlite::Connection;
use tokio::task::JoinHandle;

use super::{
    REFUSED_BY_COMMIT, execute,
    groups::block_writer,
    is_unavailable,
    rides::{ON, event, open, record, waiting},
};
use crate::{Options, failure::SharedError, job::Job, replies::Replies, rides::SqliteRides};

const DAMAGED: u32 = 7;

/// Makes the stored day of one skier unreadable.
async fn damage(rides: &SqliteRides) {
    let damage = |connection: &Connection| {
        let sql = "INSERT INTO skier_days (skier, season, resort, day, rides, vertical, up_to) VALUES (?1, ?2, ?3, ?4, -1, -1, 0)";
        connection.execute(sql, (DAMAGED, ON.season.0, ON.resort.0, ON.day.0))?;
        Ok(())
    };
    rides.0.writer.write(App::Links, damage).await.unwrap();
}

/// Stores rides of these skiers in one group, as its first job or `behind` a job of another app.
async fn stored_together(skiers: [u32; 3], behind: bool) {
    let (rides, _folder) = open(&Options::default());
    damage(&rides).await;
    let held = block_writer(&rides.0).await;
    let mut callers = Vec::new();
    for skier in skiers {
        callers.push(record(&rides, vec![event(skier)]));
        waiting(&rides, callers.len()).await;
    }
    let other = behind.then(|| {
        let engine = Arc::clone(&rides.0);
        tokio::spawn(async move { engine.writer.write(App::Accounts, |_| Ok(())).await })
    });
    held.release().await;
    for (skier, caller) in skiers.into_iter().zip(callers) {
        let answer = caller.await.unwrap();
        if skier == DAMAGED {
            assert!(matches!(answer, Err(Error::Internal(_))), "{answer:?}");
        } else {
            assert_eq!(answer.unwrap(), [Recorded::Stored]);
        }
    }
    if let Some(other) = other {
        other.await.unwrap().unwrap();
    }
    assert_eq!(rides.total(ON.into()).await.unwrap().tally.rides, 2);
    assert_eq!(rides.ledger().await.unwrap().stored, 2);
}

#[tokio::test]
async fn a_ride_that_cannot_be_stored_fails_alone() {
    for skiers in [[DAMAGED, 1, 2], [1, DAMAGED, 2], [1, 2, DAMAGED]] {
        stored_together(skiers, false).await;
        stored_together(skiers, true).await;
    }
}

fn batch(body: &str) -> KeyedBatch {
    KeyedBatch::of("day 9".parse().unwrap(), body.as_bytes())
}

/// Records a batch in a task.
fn record_batch(
    rides: &SqliteRides,
    body: &'static str,
    events: Vec<RideEvent>,
) -> JoinHandle<Result<Vec<Recorded>>> {
    let rides = rides.clone();
    tokio::spawn(async move { rides.record_batch(batch(body), events).await })
}

/// Sends two bodies with one key, and a ride, in one group. With `apart`, a ride that cannot be stored comes first, so
/// that each caller's events are stored separately.
async fn two_bodies_in_one_group(apart: bool) {
    let (rides, _folder) = open(&Options::default());
    damage(&rides).await;
    let held = block_writer(&rides.0).await;
    let mut callers = Vec::new();
    let damaged = apart.then_some((None, vec![DAMAGED]));
    let sent = [(Some("a body"), vec![1, 2]), (Some("another"), vec![3, 4]), (None, vec![5])];
    for (body, skiers) in damaged.into_iter().chain(sent) {
        let events = skiers.into_iter().map(event).collect();
        callers.push(match body {
            Some(body) => record_batch(&rides, body, events),
            None => record(&rides, events),
        });
        waiting(&rides, callers.len()).await;
    }
    held.release().await;
    let mut callers = callers.into_iter();
    if apart {
        let damaged = callers.next().unwrap().await.unwrap();
        assert!(matches!(damaged, Err(Error::Internal(_))), "{damaged:?}");
    }
    let mut recorded = Vec::new();
    for caller in callers {
        recorded.push(caller.await.unwrap().unwrap());
    }
    let [stored, reused] = [Recorded::Stored, Recorded::KeyReused].map(|came| vec![came; 2]);
    assert_eq!(recorded, [stored, reused, vec![Recorded::Stored]]);
    assert_eq!(rides.total(ON.into()).await.unwrap().tally.rides, 3);
    let ledger = rides.ledger().await.unwrap();
    assert_eq!((ledger.stored, ledger.refused), (3, 2));
}

#[tokio::test]
async fn of_two_bodies_with_one_key_in_a_group_only_the_first_is_stored() {
    two_bodies_in_one_group(false).await;
    two_bodies_in_one_group(true).await;
}

#[tokio::test]
async fn a_batch_that_was_not_stored_leaves_its_key_free() {
    let (rides, _folder) = open(&Options::default());
    damage(&rides).await;
    execute(&rides.0, REFUSED_BY_COMMIT).await.unwrap();
    let fails = "CREATE TRIGGER fails AFTER INSERT ON rides WHEN new.skier = 99 BEGIN INSERT INTO child VALUES (1); END";
    execute(&rides.0, fails).await.unwrap();
    let good = event(1);
    let together = |other| vec![good.clone(), event(other)];
    let failed = rides.record_batch(batch("a body"), together(DAMAGED)).await;
    assert!(matches!(failed, Err(Error::Internal(_))), "{failed:?}");
    assert!(is_unavailable(&rides.record_batch(batch("another"), together(99)).await));
    let stored = rides.record_batch(batch("a third"), vec![good]).await;
    assert_eq!(stored.unwrap(), [Recorded::Stored]);
}

/// A job that panics in the writer itself and ends its thread.
struct Defect;

impl Job for Defect {
    fn is_abandoned(&self) -> bool {
        panic!("a defect of the writer")
    }

    fn run(&mut self, _: &Connection) -> bool {
        false
    }

    fn answer(self: Box<Self>, _: Option<&SharedError>, _: &mut Replies) {}
}

#[tokio::test]
async fn closing_the_writer_serves_queued_callers_and_refuses_later_ones() {
    let (rides, _folder) =
        open(&Options { close_wait: Duration::from_millis(1), ..Options::default() });
    let held = block_writer(&rides.0).await;
    let caller = record(&rides, vec![event(1)]);
    waiting(&rides, 1).await;
    rides.0.writer.close();
    assert!(is_unavailable(&rides.record(vec![event(2)]).await));
    held.release().await;
    assert_eq!(caller.await.unwrap().unwrap(), [Recorded::Stored]);
}

#[tokio::test]
async fn waiting_callers_get_an_error_when_the_writer_fails() {
    let (rides, _folder) = open(&Options::default());
    let held = block_writer(&rides.0).await;
    rides.0.writer.submit(App::Rides, Box::new(Defect)).unwrap();
    let callers = [1, 2, 3].map(|skier| record(&rides, vec![event(skier)]));
    waiting(&rides, 4).await;
    held.release().await;
    for caller in callers {
        assert!(is_unavailable(&caller.await.unwrap()));
    }
}
