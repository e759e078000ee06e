//! Tests that need the engine's internals.

mod accounts;
mod accounts_upgrade;
mod board;

mod board_origins;
mod board_projection;
mod board_upgrade;
mod groups;
mod links_upgrade;
mod log;
mod plans;
mod readers;
mod rides;
mod rides_together;
mod thread_gate;
mod turns;

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    sync::Arc,
    time::{Duration, Instant},
};

use lodge_contract::samples::{RESERVED, chosen, fresh, link};
use lodge_domain::{
    Error, Result,
    board::{Actor, BoardEventContent, Body, ClientId, EventId, Origin, Slug, Stamp, Visibility},
    links::Short,
};
use lodge_sql::{
    App, SqlBoard,
    board::{LoggedEvent, channel, note, record},
};
use rusqlite::Connection;
use tempfile::{Builder, TempDir};

use crate::{Options, engine::Engine, tx::SqliteTx, words::Fts5};

/// Tables with which `INSERT INTO child VALUES (1)` makes the commit fail: `SQLite` checks a deferred constraint only
/// then.
const REFUSED_BY_COMMIT: &str = "CREATE TABLE parent (id INTEGER PRIMARY KEY); \
    CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);";

/// A new folder that is inaccessible to other users, as a data folder with files has to be.
fn private_folder() -> TempDir {
    Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
}

pub(crate) fn open(options: &Options) -> (Arc<Engine>, TempDir) {
    let folder = TempDir::new().unwrap();
    (Arc::new(Engine::open(folder.path(), options).unwrap()), folder)
}

fn is_unavailable<T>(answer: &Result<T>) -> bool {
    matches!(answer, Err(Error::Unavailable { .. }))
}

/// Runs statements on the writer.
async fn execute(engine: &Engine, statements: &'static str) -> Result<()> {
    let run = move |connection: &Connection| Ok(connection.execute_batch(statements)?);
    engine.writer.write(App::Links, run).await
}

/// Waits until an app has this many unanswered requests.
async fn waiting(engine: &Engine, app: App, requests: usize) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while engine.writer.unanswered(app) != requests {
        assert!(Instant::now() < deadline, "there are not {requests} unanswered requests");
        tokio::task::yield_now().await;
    }
}

/// Claims a new short.
async fn create(engine: &Arc<Engine>) -> Result<Short> {
    let wanted = link(&fresh("made"));
    let short = wanted.short.clone();
    crate::Sqlite(Arc::clone(engine))
        .links()
        .claim(vec![chosen(wanted)], RESERVED, None)
        .await
        .map(|_| short)
}

async fn is_there(engine: &Arc<Engine>, short: &Short) -> bool {
    crate::Sqlite(Arc::clone(engine)).links().find(short).await.unwrap().is_some()
}

fn board(engine: &std::sync::Arc<Engine>) -> SqlBoard {
    board_of(engine, engine.origin)
}

/// The board's store for writing as another origin.
fn board_of(engine: &std::sync::Arc<Engine>, origin: Origin) -> SqlBoard {
    SqlBoard::new(engine.clone(), origin, &Fts5)
}

/// Stores an event of the lobby that an origin has written in another database.
fn store_remote_event(
    connection: &Connection,
    (id, at): (EventId, Stamp),
    what: &BoardEventContent,
    sent: Option<&ClientId>,
    by: &Actor,
) {
    let tx = &mut SqliteTx(connection);
    note(tx, &by.profile).unwrap();
    let channel = channel(tx, &Slug::lobby()).unwrap();
    let event = LoggedEvent { channel, id, at, author: by.id(), content: what, client_id: sent };
    record(tx, &Fts5, &event).unwrap();
}

/// The content of a new message.
fn written(text: &str) -> BoardEventContent {
    BoardEventContent::Message {
        body: Some(Body::parse(text).unwrap()),
        reply_to: None,
        picture: None,
        visibility: Visibility::Shown,
    }
}
