//! The contract suites.

use lodge_contract::{AccountsFixture, BoardFixture, Fixture, RidesFixture};
use lodge_sqlite::{Options, Sqlite};
use tempfile::TempDir;

use crate::support::{open, open_with};

/// The engine and its folder.
type Guard = (Sqlite, TempDir);

#[expect(clippy::unused_async, reason = "an engine on the network is made asynchronously")]
async fn bare_stores() -> (Fixture, Guard) {
    let (engine, folder) = open();
    let (links, clicks, keys) = (engine.links(), engine.clicks(), engine.keys());
    let key_sessions = engine.key_sessions();
    let fixture =
        Fixture { links, clicks, keys, key_sessions, can_search: true, stores_later: false };
    (fixture, (engine, folder))
}

mod bare {
    lodge_contract::promises!(super::bare_stores);
}

#[expect(clippy::unused_async, reason = "as above")]
async fn accounts_stores() -> (AccountsFixture, Guard) {
    let (engine, folder) = open();
    let (accounts, sessions) = (engine.accounts(), engine.sessions());
    let identities = engine.identities();
    let security_events = engine.security_events();
    (AccountsFixture { accounts, sessions, identities, security_events }, (engine, folder))
}

mod accounts {
    lodge_contract::accounts_promises!(super::accounts_stores);
    lodge_contract::first_admin_promises!(super::accounts_stores);
}

#[expect(clippy::unused_async, reason = "as above")]
async fn rides_stores() -> (RidesFixture, Guard) {
    let (engine, folder) = open();
    (rides_of(&engine), (engine, folder))
}

fn rides_of(engine: &Sqlite) -> RidesFixture {
    let (log, tallies) = (engine.ride_log(), engine.ride_tallies());
    let (search, gates, passes) = (engine.ride_search(), engine.gates(), engine.passes());
    RidesFixture { gates, log, passes, tallies, search }
}

mod rides {
    lodge_contract::rides_promises!(super::rides_stores);
}

/// With a buffer of skier days so small that every group writes some back.
#[expect(clippy::unused_async, reason = "as above")]
async fn rides_stores_that_write_at_once() -> (RidesFixture, Guard) {
    let (engine, folder) = open_with(&Options { sums_unwritten: 3, ..Options::default() });
    (rides_of(&engine), (engine, folder))
}

mod rides_written_at_once {
    lodge_contract::rides_promises!(super::rides_stores_that_write_at_once);
}

#[expect(clippy::unused_async, reason = "as above")]
async fn board_stores() -> (BoardFixture, Guard) {
    let (engine, folder) = open();
    let fixture = BoardFixture {
        pictures: engine.board_pictures(),
        log: engine.board_log(),
        channels: engine.board_channels(),
        people: engine.board_people(),
        positions: engine.board_positions(),
        reports: engine.board_reports(),
        hooks: engine.board_hooks(),
    };
    (fixture, (engine, folder))
}

mod board {
    lodge_contract::board_promises!(super::board_stores);
}
