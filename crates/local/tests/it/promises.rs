//! The contract suite, with the caches in front of the stores.

use std::sync::Arc;

use lodge_contract::{Fixture, RidesFixture};
use lodge_local::{CachedGates, CachedKeys, CachedLinks};
use lodge_sqlite::Sqlite;
use tempfile::TempDir;

use crate::support::open;

#[expect(clippy::unused_async, reason = "an engine on the network is made asynchronously")]
async fn cached_stores() -> (Fixture, (Sqlite, TempDir)) {
    let (engine, folder) = open();
    let fixture = Fixture {
        links: Arc::new(CachedLinks::new(engine.links(), 1 << 20)),
        clicks: engine.clicks(),
        keys: Arc::new(CachedKeys::new(engine.keys())),
        key_sessions: engine.key_sessions(),
        can_search: true,
        stores_later: false,
    };
    (fixture, (engine, folder))
}

mod links {
    lodge_contract::promises!(super::cached_stores);
}

#[expect(clippy::unused_async, reason = "as above")]
async fn cached_rides_stores() -> (RidesFixture, (Sqlite, TempDir)) {
    let (engine, folder) = open();
    let (log, tallies) = (engine.ride_log(), engine.ride_tallies());
    let (search, passes) = (engine.ride_search(), engine.passes());
    let gates = Arc::new(CachedGates::new(engine.gates()));
    (RidesFixture { gates, log, passes, tallies, search }, (engine, folder))
}

mod rides {
    lodge_contract::rides_promises!(super::cached_rides_stores);
}
