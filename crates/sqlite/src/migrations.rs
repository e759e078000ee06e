//! Migrations of the schema.

use lodge_domain::look_alikes::skeleton;
use rusqlite::{Connection, Result, TransactionBehavior, functions::FunctionFlags};

/// `application_id` of a Lodge database: "LODG".
pub(crate) const APPLICATION_ID: i32 = 0x4C4F_4447;

/// Each migrates a file from the version equal to its index to the next version.
const MIGRATIONS: [&str; 27] = [
    include_str!("migrations/0001_links.sql"),
    include_str!("migrations/0002_accounts.sql"),
    include_str!("migrations/0003_pictures.sql"),
    include_str!("migrations/0004_identities.sql"),
    include_str!("migrations/0005_rides.sql"),
    include_str!("migrations/0006_gates.sql"),
    include_str!("migrations/0007_passes.sql"),
    include_str!("migrations/0008_resort_seasons.sql"),
    include_str!("migrations/0009_leaders_by_skier.sql"),
    include_str!("migrations/0010_renewed_passes.sql"),
    include_str!("migrations/0011_seasons.sql"),
    include_str!("migrations/0012_ride_batches.sql"),
    include_str!("migrations/0013_board.sql"),
    include_str!("migrations/0014_board_hooks.sql"),
    include_str!("migrations/0015_board_search.sql"),
    include_str!("migrations/0016_board_order.sql"),
    include_str!("migrations/0017_message_pictures.sql"),
    include_str!("migrations/0018_account_feed.sql"),
    include_str!("migrations/0019_board_log.sql"),
    include_str!("migrations/0020_pass_profiles.sql"),
    include_str!("migrations/0021_link_search.sql"),
    include_str!("migrations/0022_admins.sql"),
    include_str!("migrations/0023_username_skeletons.sql"),
    include_str!("migrations/0024_key_sessions.sql"),
    include_str!("migrations/0025_security_events.sql"),
    include_str!("migrations/0026_authenticated_at.sql"),
    include_str!("migrations/0027_link_search_detail.sql"),
];

/// The schema version that this build writes, and the newest that it reads.
pub(crate) const NEWEST: u32 = {
    assert!(MIGRATIONS.len() < 1000);
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 1000")]
    {
        MIGRATIONS.len() as u32
    }
};

/// Returns the schema version of an open file.
pub(crate) fn version(connection: &Connection) -> Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Migrates a file to [`NEWEST`].
pub(crate) fn run(connection: &mut Connection) -> Result<()> {
    run_to(connection, NEWEST)
}

/// Migrates a file to a version, each step in its own transaction.
pub(crate) fn run_to(connection: &mut Connection, newest: u32) -> Result<()> {
    let found = version(connection)?;
    connection.create_scalar_function(
        "username_skeleton",
        1,
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC,
        |call| Ok(skeleton(&call.get::<String>(0)?)),
    )?;
    for (step, sql) in (1..=newest).zip(MIGRATIONS).skip(found as usize) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", step)?;
        transaction.commit()?;
    }
    // Empties the WAL, which a large migration may have filled.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}
