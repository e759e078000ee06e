//! Tests of what cannot be seen from outside.

mod accounts;
mod board;
mod board_origins;
mod groups;
mod log;
mod plans;
mod readers;
mod rides;
mod rides_apart;
mod rides_batches;
mod rides_ends;
mod turns;

use lodge_contract::samples::{RESERVED, chosen, fresh, link};
use lodge_domain::{Error, Result, links::Short};
use tempfile::TempDir;

use crate::{Options, engine::Engine};

pub(crate) fn open(options: &Options) -> (std::sync::Arc<Engine>, TempDir) {
    let folder = TempDir::new().unwrap();
    (std::sync::Arc::new(Engine::open(folder.path(), options).unwrap()), folder)
}

fn is_unavailable<T>(answer: &Result<T>) -> bool {
    matches!(answer, Err(Error::Unavailable { .. }))
}

/// Claims a new short.
async fn create(engine: &std::sync::Arc<Engine>) -> Result<Short> {
    let wanted = link(&fresh("made"));
    let short = wanted.short.clone();
    crate::Sqlite(std::sync::Arc::clone(engine))
        .links()
        .claim(vec![chosen(wanted)], RESERVED, None)
        .await
        .map(|_| short)
}

async fn is_there(engine: &std::sync::Arc<Engine>, short: &Short) -> bool {
    crate::Sqlite(std::sync::Arc::clone(engine)).links().find(short).await.unwrap().is_some()
}
