//! Batches of rides whose keys are used for other bodies.

use std::sync::Arc;

use lodge_domain::{
    Error,
    rides::{NamedBatch, Recorded, RideLog as _, RideTallies as _},
};
use lodge_sql::App;
use rusqlite::Connection;

use super::{
    groups::held,
    is_unavailable, open,
    rides::{ON, event, waiting},
    rides_apart::{DAMAGED, damage},
};
use crate::{Options, rides::SqliteRides};

fn batch(body: &str) -> NamedBatch {
    NamedBatch::of("day 9".parse().unwrap(), body.as_bytes())
}

/// Asks for two bodies under one key and for a ride in one group; behind a ride that cannot be stored, if they
/// are to be stored apart.
async fn two_bodies_in_one_group(apart: bool) {
    let (engine, _folder) = open(&Options::default());
    damage(&engine).await;
    let barrier = held(&engine).await;
    let mut callers = Vec::new();
    let damaged = apart.then_some((None, vec![DAMAGED]));
    let sent = [(Some("a body"), vec![1, 2]), (Some("another"), vec![3, 4]), (None, vec![5])];
    for (place, (body, skiers)) in damaged.into_iter().chain(sent).enumerate() {
        let rides = SqliteRides(Arc::clone(&engine));
        let events = skiers.into_iter().map(event).collect();
        callers.push(tokio::spawn(async move {
            match body {
                Some(body) => rides.record_batch(batch(body), events).await,
                None => rides.record(events).await,
            }
        }));
        waiting(&engine, place + 1).await;
    }
    barrier.set(1);
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
    let rides = SqliteRides(engine);
    assert_eq!(rides.total(ON.into()).await.unwrap().tally.rides, 3);
    let ledger = rides.ledger().await.unwrap();
    assert_eq!((ledger.stored, ledger.refused), (3, 2));
}

#[tokio::test]
async fn of_two_bodies_under_one_key_in_a_group_the_first_is_stored_and_nobody_else_hindered() {
    two_bodies_in_one_group(false).await;
    two_bodies_in_one_group(true).await;
}

#[tokio::test]
async fn a_batch_that_was_not_stored_leaves_its_key() {
    let (engine, _folder) = open(&Options::default());
    damage(&engine).await;
    // SQLite looks at a deferred constraint when it commits.
    let fails_at_commit = "CREATE TABLE parent (id INTEGER PRIMARY KEY); \
        CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED); \
        CREATE TRIGGER fails AFTER INSERT ON rides WHEN new.skier = 99 BEGIN INSERT INTO child VALUES (1); END;";
    let fails = move |connection: &Connection| Ok(connection.execute_batch(fails_at_commit)?);
    engine.writer.write(App::Links, fails).await.unwrap();
    let rides = SqliteRides(engine);
    let good = event(1);
    let together = |other| vec![good.clone(), event(other)];
    let failed = rides.record_batch(batch("a body"), together(DAMAGED)).await;
    assert!(matches!(failed, Err(Error::Internal(_))), "{failed:?}");
    assert!(is_unavailable(&rides.record_batch(batch("another"), together(99)).await));
    let stored = rides.record_batch(batch("a third"), vec![good]).await;
    assert_eq!(stored.unwrap(), [Recorded::Stored]);
}
