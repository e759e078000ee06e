//! The contract.

use lodge_contract::{AccountsFixture, BoardFixture, Fixture, RidesFixture};
use lodge_sqlite::{Options, Sqlite};
use tempfile::TempDir;

use crate::support::{open, open_with};

#[expect(clippy::unused_async, reason = "an engine on the network is made asynchronously")]
async fn bare_stores() -> Fixture {
    let (engine, folder) = open();
    let (links, clicks, keys) = (engine.links(), engine.clicks(), engine.keys());
    Fixture {
        links,
        clicks,
        keys,
        can_search: true,
        stores_later: false,
        guard: Box::new((engine, folder)),
    }
}

mod bare {
    lodge_contract::promises!(super::bare_stores);
}

#[expect(clippy::unused_async, reason = "as above")]
async fn accounts_stores() -> AccountsFixture {
    let (engine, folder) = open();
    let (accounts, sessions) = (engine.accounts(), engine.sessions());
    let identities = engine.identities();
    AccountsFixture { accounts, sessions, identities, guard: Box::new((engine, folder)) }
}

mod accounts {
    lodge_contract::accounts_promises!(super::accounts_stores);
}

fn rides_stores_on((engine, folder): (Sqlite, TempDir)) -> RidesFixture {
    let (log, tallies) = (engine.ride_log(), engine.ride_tallies());
    let (search, gates, passes) = (engine.ride_search(), engine.gates(), engine.passes());
    RidesFixture { gates, log, passes, tallies, search, guard: Box::new((engine, folder)) }
}

#[expect(clippy::unused_async, reason = "as above")]
async fn rides_stores() -> RidesFixture {
    rides_stores_on(open())
}

mod rides {
    lodge_contract::rides_promises!(super::rides_stores);
}

/// With so little memory for skiers' days that some are written with every group.
#[expect(clippy::unused_async, reason = "as above")]
async fn rides_stores_that_write_at_once() -> RidesFixture {
    rides_stores_on(open_with(&Options { sums_unwritten: 3, ..Options::default() }))
}

mod rides_written_at_once {
    lodge_contract::rides_promises!(super::rides_stores_that_write_at_once);
}

#[expect(clippy::unused_async, reason = "as above")]
async fn board_stores() -> BoardFixture {
    let (engine, folder) = open();
    BoardFixture {
        pictures: engine.board_pictures(),
        log: engine.board_log(),
        channels: engine.board_channels(),
        people: engine.board_people(),
        positions: engine.board_positions(),
        reports: engine.board_reports(),
        hooks: engine.board_hooks(),
        guard: Box::new((engine, folder)),
    }
}

mod board {
    lodge_contract::board_promises!(super::board_stores);
}
