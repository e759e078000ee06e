//! The statements, prepared once per session.

use std::{sync::Arc, time::Duration};

use lodge_domain::{Error, Result};
use scylla::{
    client::session::Session,
    statement::{
        Consistency, SerialConsistency,
        batch::{Batch, BatchStatement, BatchType},
    },
};

use super::{prepared::Prepared, row::COLUMNS};

/// Timeout of a read.
const READ: Duration = Duration::from_secs(2);

/// Timeout of a link's lookup, after which a stale copy may be served; and of a read of such a copy at
/// ONE. Both together end before a balancer retries on another process.
const FIND: Duration = Duration::from_secs(1);
const ANYWHERE: Duration = Duration::from_millis(200);

/// Timeout of a poll, whose late answer is of no use.
const POLL: Duration = Duration::from_millis(400);

/// Timeout of a write.
const WRITE: Duration = Duration::from_secs(3);

/// Timeout of a lightweight transaction, and of the serial read that settles one. Past it another node is
/// read for the outcome, which is sooner than a hung node is detected.
const TRANSACTION: Duration = Duration::from_secs(2);

/// Rows of a page.
const PAGE: i32 = 500;

/// TTL in seconds of an idempotency key's row: twice as long as the key is valid.
const IDEMPOTENCY_TTL_SECONDS: i64 = 2 * lodge_domain::idempotency::OUTCOME_KEPT_SECONDS;

macro_rules! statements {
    ($($name:ident: $kind:ident $text:expr;)+) => {
        /// All prepared statements.
        pub(crate) struct Statements {
            $(pub(crate) $name: Prepared,)+
        }

        impl Statements {
            /// Prepares them; `@` before a table stands for the keyspace.
            pub(crate) async fn prepare(session: &Arc<Session>, keyspace: &str) -> Result<Self> {
                let statements = [$((Kind::$kind, String::from($text))),+];
                let mut prepared = Vec::with_capacity(statements.len());
                for (kind, text) in statements {
                    let text = text.replace('@', &format!("\"{keyspace}\"."));
                    prepared.push(prepare(session, kind, &text).await?);
                }
                let Ok([$($name),+]) = <[Prepared; _]>::try_from(prepared) else {
                    return Err(Error::internal("not every statement was prepared"));
                };
                Ok(Self { $($name),+ })
            }
        }
    };
}

/// The kind of a statement, which gives its consistency and timeout.
enum Kind {
    /// A read at QUORUM.
    Read,
    /// A lookup at QUORUM that a redirect waits for.
    Find,
    /// A periodic read at QUORUM.
    Poll,
    /// A read at ONE.
    ReadOne,
    /// A read at SERIAL, which finishes a lightweight transaction in flight.
    Serial,
    /// An idempotent write at QUORUM.
    Write,
    /// A lightweight transaction.
    Transaction,
}

statements! {
    find: Find format!("SELECT {COLUMNS} FROM @links WHERE short = ?");
    find_anywhere: ReadOne format!("SELECT {COLUMNS} FROM @links WHERE short = ?");
    find_serial: Serial format!("SELECT {COLUMNS} FROM @links WHERE short = ?");
    first_page: Read format!("SELECT {COLUMNS} FROM @links");
    page: Read format!("SELECT {COLUMNS} FROM @links WHERE token(short) > token(?)");
    insert: Transaction format!("INSERT INTO @links ({COLUMNS}) VALUES ({}) IF NOT EXISTS", marks(COLUMNS));
    rewrite: Transaction format!("UPDATE @links SET {} WHERE short = ? \
        IF id = :was_id AND version = :was_version AND clicks_used = :was_used", assignments(COLUMNS));
    put: Write format!("INSERT INTO @links ({COLUMNS}) VALUES ({}) USING TIMESTAMP :at", marks(COLUMNS));
    any_link: Read "SELECT short FROM @links LIMIT 1";
    tell_change: Write "INSERT INTO @link_changes (bucket, at, id, shorts) VALUES (?, ?, ?, ?)";
    changes: Poll "SELECT id, shorts FROM @link_changes WHERE bucket = ? AND at >= ?";
    own: Write "INSERT INTO @links_by_owner (owner, id, short) VALUES (?, ?, ?)";
    disown: Write "DELETE FROM @links_by_owner WHERE owner = ? AND id = ?";
    owned: Read "SELECT id, short FROM @links_by_owner WHERE owner = ? AND id < ?";
    tag: Write "INSERT INTO @links_by_tag (owner, tag, id, short) VALUES (?, ?, ?, ?)";
    untag: Write "DELETE FROM @links_by_tag WHERE owner = ? AND tag = ? AND id = ?";
    tagged: Read "SELECT id, short FROM @links_by_tag WHERE owner = ? AND tag = ? AND id < ?";
    recall: Serial "SELECT fingerprint, at, plan, outcome FROM @attempts WHERE id = ?";
    propose: Transaction format!("INSERT INTO @attempts (id, fingerprint, at, plan) VALUES (?, ?, ?, ?) \
        IF NOT EXISTS USING TTL {IDEMPOTENCY_TTL_SECONDS}");
    propose_anew: Transaction format!("UPDATE @attempts USING TTL {IDEMPOTENCY_TTL_SECONDS} \
        SET fingerprint = ?, at = ?, plan = ?, outcome = null WHERE id = ? IF plan = :was_plan");
    put_outcome: Transaction format!("INSERT INTO @attempts (id, fingerprint, at, plan, outcome) VALUES (?, ?, ?, ?, ?) \
        IF NOT EXISTS USING TTL {IDEMPOTENCY_TTL_SECONDS}");
    keep_outcome: Transaction format!("UPDATE @attempts USING TTL {IDEMPOTENCY_TTL_SECONDS} SET outcome = ? WHERE id = ? IF plan = ?");
    withdraw: Transaction "DELETE FROM @attempts WHERE id = ? IF plan = ?";
    add_hour: Write "INSERT INTO @clicks_by_hour (link, hour, device, incarnation, number, clicks) \
        VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP :at AND TTL :ttl";
    add_day: Write "INSERT INTO @clicks_by_day (link, day, device, incarnation, number, clicks) \
        VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP :at";
    add_referrer: Write "INSERT INTO @clicks_by_referrer (link, host, incarnation, number, clicks) \
        VALUES (?, ?, ?, ?, ?) USING TIMESTAMP :at";
    hour_cell: Read "SELECT number, clicks FROM @clicks_by_hour WHERE link = ? AND hour = ? AND device = ? AND incarnation = ?";
    day_cell: Read "SELECT number, clicks FROM @clicks_by_day WHERE link = ? AND day = ? AND device = ? AND incarnation = ?";
    referrer_cell: Read "SELECT number, clicks FROM @clicks_by_referrer WHERE link = ? AND host = ? AND incarnation = ?";
    hours: Read "SELECT hour, device, clicks FROM @clicks_by_hour WHERE link = ? AND hour >= ?";
    days: Read "SELECT day, device, clicks FROM @clicks_by_day WHERE link = ?";
    all_days: Read "SELECT clicks FROM @clicks_by_day";
    referrers: Read "SELECT host, clicks FROM @clicks_by_referrer WHERE link = ?";
    forget_hours: Write "DELETE FROM @clicks_by_hour WHERE link = ?";
    forget_days: Write "DELETE FROM @clicks_by_day WHERE link = ?";
    forget_referrers: Write "DELETE FROM @clicks_by_referrer WHERE link = ?";
    add_key: Transaction "INSERT INTO @keys_by_name (name, id, digest, created_at) VALUES (?, ?, ?, ?) IF NOT EXISTS";
    put_key: Transaction "INSERT INTO @keys_by_name (name, id, digest, created_at, revoked_at) VALUES (?, ?, ?, ?, ?) IF NOT EXISTS";
    revoke_key: Transaction "UPDATE @keys_by_name SET revoked_at = ? WHERE name = ? IF revoked_at = null AND id = :was_id";
    key_by_name: Serial "SELECT name, id, created_at, revoked_at, digest FROM @keys_by_name WHERE name = ?";
    keys: Read "SELECT name, id, created_at, revoked_at, digest FROM @keys_by_name";
    index_digest: Write "INSERT INTO @keys_by_digest (digest, name) VALUES (?, ?)";
    index_id: Write "INSERT INTO @keys_by_id (id, name) VALUES (?, ?)";
    name_by_digest: Read "SELECT name FROM @keys_by_digest WHERE digest = ?";
    name_by_id: Read "SELECT name FROM @keys_by_id WHERE id = ?";
    begin_key_session: Write "INSERT INTO @key_sessions (digest, key_id, expires_at) VALUES (?, ?, ?) \
        USING TIMESTAMP 1 AND TTL :ttl";
    key_session: Read "SELECT key_id, expires_at FROM @key_sessions WHERE digest = ?";
    end_key_session: Write "DELETE FROM @key_sessions USING TIMESTAMP 2 WHERE digest = ?";
    add_setting: Transaction "INSERT INTO @settings (name, value) VALUES (?, ?) IF NOT EXISTS";
    change_setting: Transaction "UPDATE @settings SET value = ? WHERE name = ? IF value = :was_value";
    setting: Serial "SELECT value FROM @settings WHERE name = ?";
}

impl Kind {
    /// Returns the consistency, the timeout, and whether the statement is idempotent.
    fn terms(self) -> (Consistency, Duration, bool) {
        match self {
            Self::Read => (Consistency::Quorum, READ, true),
            Self::Find => (Consistency::Quorum, FIND, true),
            Self::Poll => (Consistency::Quorum, POLL, true),
            Self::ReadOne => (Consistency::One, ANYWHERE, true),
            Self::Serial => (Consistency::Serial, TRANSACTION, true),
            Self::Write => (Consistency::Quorum, WRITE, true),
            Self::Transaction => (Consistency::Quorum, TRANSACTION, false),
        }
    }
}

async fn prepare(session: &Arc<Session>, kind: Kind, text: &str) -> Result<Prepared> {
    let mut statement = session.prepare(text).await.map_err(Error::unavailable)?;
    statement.set_page_size(PAGE);
    let (consistency, deadline, repeatable) = kind.terms();
    statement.set_consistency(consistency);
    statement.set_serial_consistency(Some(SerialConsistency::Serial));
    statement.set_request_timeout(Some(deadline));
    // The driver retries only idempotent statements on another node.
    statement.set_is_idempotent(repeatable);
    Ok(Prepared::new(Arc::clone(session), statement))
}

/// A batch of writes, with the settings of a single one: the driver ignores the settings of a batch's
/// statements.
pub(crate) fn batch_of_writes(writes: Vec<BatchStatement>) -> Batch {
    let (consistency, deadline, repeatable) = Kind::Write.terms();
    // Unlogged: the log is for batches over several partitions.
    let mut batch = Batch::new_with_statements(BatchType::Unlogged, writes);
    batch.set_consistency(consistency);
    batch.set_serial_consistency(Some(SerialConsistency::Serial));
    batch.set_request_timeout(Some(deadline));
    batch.set_is_idempotent(repeatable);
    batch
}

/// Returns a bind marker for each column.
fn marks(columns: &str) -> String {
    columns.split(',').map(|_| "?").collect::<Vec<_>>().join(", ")
}

/// Returns an assignment for each column except the key.
fn assignments(columns: &str) -> String {
    let columns = columns.split(',').map(str::trim).filter(|column| *column != "short");
    columns.map(|column| format!("{column} = ?")).collect::<Vec<_>>().join(", ")
}
