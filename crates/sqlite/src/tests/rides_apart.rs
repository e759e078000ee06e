//! Rides that are stored together with such as cannot be.

use std::sync::Arc;

use lodge_domain::{
    Error,
    rides::{Recorded, RideLog as _, RideTallies as _},
};
use lodge_sql::App;
use rusqlite::Connection;

use super::{
    groups::held,
    open,
    rides::{ON, event, waiting},
};
use crate::{Options, engine::Engine, rides::SqliteRides};

pub(super) const DAMAGED: u32 = 7;

/// Makes the day of one skier one that cannot be read.
pub(super) async fn damage(engine: &Engine) {
    let damage = |connection: &Connection| {
        let sql = "INSERT INTO skier_days (skier, season, resort, day, rides, vertical, up_to) VALUES (?1, ?2, ?3, ?4, -1, -1, 0)";
        connection.execute(sql, (DAMAGED, ON.season.0, ON.resort.0, ON.day.0))?;
        Ok(())
    };
    engine.writer.write(App::Links, damage).await.unwrap();
}

/// Asks for rides of these skiers in one group: its first work, or `behind` somebody else's.
async fn stored_together(skiers: [u32; 3], behind: bool) {
    let (engine, _folder) = open(&Options::default());
    damage(&engine).await;
    let barrier = held(&engine).await;
    let mut callers = Vec::new();
    for (place, skier) in skiers.into_iter().enumerate() {
        let rides = SqliteRides(Arc::clone(&engine));
        callers.push(tokio::spawn(async move { rides.record(vec![event(skier)]).await }));
        waiting(&engine, place + 1).await;
    }
    let other = behind.then(|| {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move { engine.writer.write(App::Accounts, |_| Ok(())).await })
    });
    barrier.set(1);
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
    let rides = SqliteRides(Arc::clone(&engine));
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
