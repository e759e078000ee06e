//! Migrations of the schema.

use std::time::{Duration, Instant};

use lodge_domain::{Error, Result};
use scylla::{
    client::session::Session,
    response::query_result::QueryResult,
    statement::{Consistency, Statement},
};
use uuid::Uuid;

use super::{failure::Failure, options::Options, prepared::is_applied};

/// The tables that each version adds. In a statement `@` before a table stands for the keyspace.
const MIGRATIONS: [&[&str]; 2] = [
    &[
        "links (short text PRIMARY KEY, id uuid, target text, redirect int, version bigint, key_version int, \
     owner bigint, created_at timestamp, changed_at timestamp, deleted_at timestamp, expires_at timestamp, \
     clicks_max bigint, clicks_used bigint, exhausted_at timestamp, password text, tags frozen<list<text>>, \
     writes frozen<list<uuid>>)",
        "links_by_owner (owner bigint, id uuid, short text, PRIMARY KEY (owner, id)) \
     WITH CLUSTERING ORDER BY (id DESC)",
        "links_by_tag (owner bigint, tag text, id uuid, short text, PRIMARY KEY ((owner, tag), id)) \
     WITH CLUSTERING ORDER BY (id DESC)",
        "link_changes (bucket bigint, at timestamp, id uuid, shorts frozen<list<text>>, PRIMARY KEY (bucket, at, id)) \
     WITH default_time_to_live = 600",
        "attempts (id blob PRIMARY KEY, fingerprint blob, at timestamp, plan text, outcome text)",
        "clicks_by_hour (link uuid, hour bigint, device text, incarnation uuid, number bigint, clicks bigint, \
     PRIMARY KEY (link, hour, device, incarnation))",
        "clicks_by_day (link uuid, day bigint, device text, incarnation uuid, number bigint, clicks bigint, \
     PRIMARY KEY (link, day, device, incarnation))",
        "clicks_by_referrer (link uuid, host text, incarnation uuid, number bigint, clicks bigint, \
     PRIMARY KEY (link, host, incarnation))",
        "keys_by_name (name text PRIMARY KEY, id bigint, digest blob, created_at timestamp, revoked_at timestamp)",
        "keys_by_digest (digest blob PRIMARY KEY, name text)",
        "keys_by_id (id bigint PRIMARY KEY, name text)",
        "settings (name text PRIMARY KEY, value blob)",
    ],
    &["key_sessions (digest blob PRIMARY KEY, key_id bigint, expires_at timestamp)"],
];

/// The UUID namespace of table ids.
const TABLES: Uuid = Uuid::from_u128(0x6c6f_6467_6500_4000_8000_0000_0000_0001);

/// Seconds after which the lock of a process that died is free.
const LOCK_SECONDS: u32 = 30;

/// Timeout of one statement: a busy machine needs seconds to create a table.
const STEP: Duration = Duration::from_secs(30);

/// Creates the keyspace, and migrates it to this Lodge's version; of processes that start together, one
/// does so and the others wait.
///
/// `holder` identifies the owner of the lock: it is the same in every try of one process, so that a try
/// owns a lock that an earlier one got without receiving the answer.
pub(crate) async fn migrate(session: &Session, options: &Options, holder: Uuid) -> Result<()> {
    let migration = Migration { session, keyspace: &options.keyspace, holder };
    let (keyspace, copies) = (&options.keyspace, options.copies);
    // A role that may use one keyspace may not create any, not even one that exists.
    if !migration.has_keyspace().await? {
        migration
            .run(&format!(
                "CREATE KEYSPACE IF NOT EXISTS \"{keyspace}\" WITH replication = \
                 {{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}"
            ))
            .await?;
    }
    // The id is derived from the name: a table created twice at once would get two ids, on which the
    // nodes never agree.
    let id = Uuid::new_v5(&TABLES, keyspace.as_bytes());
    migration
        .run(&format!(
            "CREATE TABLE IF NOT EXISTS @schema_versions (name text PRIMARY KEY, holder uuid, version int) \
             WITH ID = {id}"
        ))
        .await?;
    if migration.version().await? == MIGRATIONS.len() {
        return Ok(());
    }
    let deadline = Instant::now() + Duration::from_secs(2 * u64::from(LOCK_SECONDS));
    while !migration.lock().await? {
        if Instant::now() > deadline {
            return Err(Error::unavailable("another process is migrating the Cassandra schema"));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let migrated = migration.bring_up().await;
    let unlock = format!("DELETE FROM @schema_versions WHERE name = 'lock' IF holder = {holder}");
    migration.run(&unlock).await?;
    migrated
}

struct Migration<'a> {
    session: &'a Session,
    keyspace: &'a str,
    holder: Uuid,
}

impl Migration<'_> {
    async fn bring_up(&self) -> Result<()> {
        let version = self.version().await?;
        let Some(missing) = MIGRATIONS.get(version..) else {
            return Err(Error::internal(format!(
                "the keyspace has schema version {version}, made by a newer Lodge; this one supports up to {}",
                MIGRATIONS.len()
            )));
        };
        for (tables, next) in missing.iter().zip(version + 1..) {
            for table in *tables {
                if !self.lock().await? {
                    return Err(Error::unavailable("the lock of the schema was lost"));
                }
                // An interrupted migration may have created some tables.
                self.run(&format!("CREATE TABLE IF NOT EXISTS @{table}")).await?;
            }
            let note = if next == 1 {
                "INSERT INTO @schema_versions (name, version) VALUES ('schema', 1) IF NOT EXISTS"
                    .to_owned()
            } else {
                format!(
                    "UPDATE @schema_versions SET version = {next} WHERE name = 'schema' IF version = {}",
                    next - 1
                )
            };
            self.run(&note).await?;
        }
        Ok(())
    }

    async fn has_keyspace(&self) -> Result<bool> {
        let known = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?";
        let mut known = Statement::new(known);
        known.set_request_timeout(Some(STEP));
        let result = self.session.query_unpaged(known, (self.keyspace,)).await;
        let rows = result.map_err(Failure::from)?.into_rows_result().map_err(Failure::from)?;
        Ok(rows.rows_num() > 0)
    }

    async fn version(&self) -> Result<usize> {
        let mut question =
            self.statement("SELECT version FROM @schema_versions WHERE name = 'schema'");
        question.set_consistency(Consistency::Serial);
        let result = self.session.query_unpaged(question, ()).await.map_err(Failure::from)?;
        let rows = result.into_rows_result().map_err(Failure::from)?;
        let row = rows.maybe_first_row::<(Option<i32>,)>().map_err(Failure::from)?;
        let version = row.and_then(|(version,)| version).unwrap_or(0);
        Ok(usize::try_from(version).unwrap_or(0))
    }

    /// Takes the lock, or extends it.
    async fn lock(&self) -> Result<bool> {
        let holder = self.holder;
        let keep = format!(
            "UPDATE @schema_versions USING TTL {LOCK_SECONDS} SET holder = {holder} WHERE name = 'lock' IF holder = {holder}"
        );
        let take = format!(
            "INSERT INTO @schema_versions (name, holder) VALUES ('lock', {holder}) IF NOT EXISTS USING TTL {LOCK_SECONDS}"
        );
        Ok(is_applied(self.run(&keep).await?)? || is_applied(self.run(&take).await?)?)
    }

    async fn run(&self, text: &str) -> Result<QueryResult> {
        let result = self.session.query_unpaged(self.statement(text), ()).await;
        Ok(result.map_err(Failure::from)?)
    }

    fn statement(&self, text: &str) -> Statement {
        let mut statement = Statement::new(text.replace('@', &format!("\"{}\".", self.keyspace)));
        statement.set_consistency(Consistency::Quorum);
        statement.set_request_timeout(Some(STEP));
        statement
    }
}
