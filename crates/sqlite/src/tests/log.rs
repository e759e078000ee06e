//! The length of the write-ahead log.

use std::{
    fs,
    time::{Duration, Instant},
};

use lodge_sql::App;
use rusqlite::Connection;

use super::{create, is_there, is_unavailable, open};
use crate::{Options, engine::Engine};

fn options() -> Options {
    Options {
        wal_checkpoint_bytes: 64 << 10,
        wal_restart_bytes: 256 << 10,
        wal_bytes_max: 1 << 20,
        ..Options::default()
    }
}

fn length(engine: &Engine) -> u64 {
    fs::metadata(engine.file.with_extension("db-wal")).unwrap().len()
}

/// Writes 16 KiB.
async fn write_much(engine: &Engine, number: u32) -> lodge_domain::Result<()> {
    let write = move |connection: &Connection| {
        let sql = "INSERT INTO meta (name, value) VALUES (?1, zeroblob(16384))";
        connection.prepare_cached(sql)?.execute([number.to_string()])?;
        Ok(())
    };
    engine.writer.write(App::Links, write).await
}

#[tokio::test]
async fn the_log_stays_short_under_steady_writes() {
    let (engine, _folder) = open(&options());
    for number in 0..400 {
        write_much(&engine, number).await.unwrap();
        // From 256 KiB it should restart, and at a quarter more writes wait for that; then come two groups of up to
        // eight pages each.
        assert!(length(&engine) < 512 << 10, "{}", length(&engine));
    }
}

#[tokio::test]
async fn a_long_read_bounds_the_log_and_then_the_writes() {
    let (engine, _folder) = open(&options());
    let first = create(&engine).await.unwrap();
    let reader = Connection::open(&engine.file).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM meta", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let before = count(&reader);

    let mut written = 0;
    let refused = loop {
        let answer = write_much(&engine, written).await;
        if is_unavailable(&answer) {
            break answer;
        }
        answer.unwrap();
        written += 1;
        assert!(length(&engine) < (1 << 20) + (128 << 10), "{}", length(&engine));
    };
    assert!(length(&engine) >= 1 << 20, "refused too early: {}", length(&engine));
    assert!(is_unavailable(&refused));
    // Reads still work, the long one and others.
    assert_eq!(count(&reader), before);
    assert!(is_there(&engine, &first).await);

    reader.execute_batch("COMMIT").unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_unavailable(&write_much(&engine, 1_000_000).await) {
        assert!(Instant::now() < deadline, "writes are refused for ever");
    }
    write_much(&engine, 1_000_001).await.unwrap();
    assert!(length(&engine) <= 512 << 10, "{}", length(&engine));
    assert_eq!(count(&reader), before + i64::from(written) + 2);
}
