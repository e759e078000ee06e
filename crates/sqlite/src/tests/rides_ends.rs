//! What those are told who wait for rides to be stored, when the writer ends.

use std::{sync::Arc, time::Duration};

use lodge_domain::rides::{Recorded, RideLog as _};
use lodge_sql::App;
use rusqlite::Connection;

use super::{
    groups::held,
    is_unavailable, open,
    rides::{event, waiting},
};
use crate::{Options, failure::Shared, job::Job, replies::Replies, rides::SqliteRides};

/// A defect of the writer itself, which ends its thread.
struct Defect;

impl Job for Defect {
    fn is_abandoned(&self) -> bool {
        panic!("a defect of the writer")
    }

    fn run(&mut self, _: &Connection) -> bool {
        false
    }

    fn answer(self: Box<Self>, _: Option<&Shared>, _: &mut Replies) {}
}

#[tokio::test]
async fn whoever_waits_when_the_writer_is_closed_is_served_and_nobody_after() {
    let (engine, _folder) =
        open(&Options { close_wait: Duration::from_millis(1), ..Options::default() });
    let barrier = held(&engine).await;
    let rides = SqliteRides(Arc::clone(&engine));
    let caller = tokio::spawn(async move { rides.record(vec![event(1)]).await });
    waiting(&engine, 1).await;
    engine.writer.close();
    let rides = SqliteRides(Arc::clone(&engine));
    assert!(is_unavailable(&rides.record(vec![event(2)]).await));
    barrier.set(1);
    assert_eq!(caller.await.unwrap().unwrap(), [Recorded::Stored]);
}

#[tokio::test]
async fn whoever_waits_is_told_when_the_writer_fails() {
    let (engine, _folder) = open(&Options::default());
    let barrier = held(&engine).await;
    engine.writer.submit(App::Rides, Box::new(Defect)).unwrap();
    let record = |skier| {
        let rides = SqliteRides(Arc::clone(&engine));
        tokio::spawn(async move { rides.record(vec![event(skier)]).await })
    };
    let callers = [record(1), record(2), record(3)];
    waiting(&engine, 4).await;
    barrier.set(1);
    for caller in callers {
        assert!(is_unavailable(&caller.await.unwrap()));
    }
}
