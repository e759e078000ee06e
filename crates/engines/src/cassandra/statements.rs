//! The statements, prepared once.

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

/// How long a read may take.
const READ: Duration = Duration::from_secs(2);

/// How long it may take to find a link, before what is remembered will do; and how long the one may take
/// who is asked for that, so that all of it is done before a balancer asks another process.
const FIND: Duration = Duration::from_secs(1);
const ANYWHERE: Duration = Duration::from_millis(200);

/// How long a read may take that is no use when it is late.
const POLL: Duration = Duration::from_millis(400);

/// How long a write may take.
const WRITE: Duration = Duration::from_secs(3);

/// How long a lightweight transaction may take, and the read that settles one. Past it another node is
/// asked what came of it: that is sooner than until a node that hangs is known to.
const TRANSACTION: Duration = Duration::from_secs(2);

/// Rows that are fetched in one go.
const PAGE: i32 = 500;

/// Seconds after which an attempt's row goes by itself: twice as long as it counts.
const ATTEMPT_SECONDS: i64 = 2 * lodge_domain::once::KEPT_SECONDS;

macro_rules! statements {
    ($($name:ident: $kind:ident $text:expr;)+) => {
        /// Every statement.
        pub(crate) struct Statements {
            $(pub(crate) $name: Prepared,)+
        }

        impl Statements {
            /// Has the cluster prepare them; `@` stands before every table.
            pub(crate) async fn prepare(session: &Arc<Session>, keyspace: &str) -> Result<Self> {
                let whole = |text: &str| text.replace('@', &format!("\"{keyspace}\"."));
                Ok(Self { $($name: prepare(session, Kind::$kind, &whole(&$text)).await?,)+ })
            }
        }
    };
}

/// What a statement does, and so with which consistency and deadline.
enum Kind {
    /// Reads, at QUORUM.
    Read,
    /// Reads what somebody waits for, at QUORUM.
    Find,
    /// Reads at QUORUM, again and again: a late answer is of no use.
    Poll,
    /// Reads what any one node has.
    Anywhere,
    /// Reads what the last lightweight transaction left, and ends one that is under way.
    Serial,
    /// Writes, at QUORUM; the same again changes nothing.
    Write,
    /// A lightweight transaction.
    Transaction,
}

statements! {
    find: Find format!("SELECT {COLUMNS} FROM @links WHERE short = ?");
    find_anywhere: Anywhere format!("SELECT {COLUMNS} FROM @links WHERE short = ?");
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
        IF NOT EXISTS USING TTL {ATTEMPT_SECONDS}");
    propose_anew: Transaction format!("UPDATE @attempts USING TTL {ATTEMPT_SECONDS} \
        SET fingerprint = ?, at = ?, plan = ?, outcome = null WHERE id = ? IF plan = :was_plan");
    put_outcome: Transaction format!("INSERT INTO @attempts (id, fingerprint, at, plan, outcome) VALUES (?, ?, ?, ?, ?) \
        IF NOT EXISTS USING TTL {ATTEMPT_SECONDS}");
    keep_outcome: Transaction format!("UPDATE @attempts USING TTL {ATTEMPT_SECONDS} SET outcome = ? WHERE id = ? IF plan = ?");
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
    add_setting: Transaction "INSERT INTO @settings (name, value) VALUES (?, ?) IF NOT EXISTS";
    change_setting: Transaction "UPDATE @settings SET value = ? WHERE name = ? IF value = :was_value";
    setting: Serial "SELECT value FROM @settings WHERE name = ?";
}

impl Kind {
    /// Its consistency, its deadline, and whether it may be sent twice without harm.
    fn terms(self) -> (Consistency, Duration, bool) {
        match self {
            Self::Read => (Consistency::Quorum, READ, true),
            Self::Find => (Consistency::Quorum, FIND, true),
            Self::Poll => (Consistency::Quorum, POLL, true),
            Self::Anywhere => (Consistency::One, ANYWHERE, true),
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
    // Only what may be sent twice without harm does the driver send again elsewhere.
    statement.set_is_idempotent(repeatable);
    Ok(Prepared::new(Arc::clone(session), statement))
}

/// Writes that are sent as one, on the terms of each. What a batch is sent on is set on the batch: the
/// terms of its statements count for nothing in it.
pub(crate) fn batch_of_writes(writes: Vec<BatchStatement>) -> Batch {
    let (consistency, deadline, repeatable) = Kind::Write.terms();
    // Not logged: the log is for batches of several partitions.
    let mut batch = Batch::new_with_statements(BatchType::Unlogged, writes);
    batch.set_consistency(consistency);
    batch.set_serial_consistency(Some(SerialConsistency::Serial));
    batch.set_request_timeout(Some(deadline));
    batch.set_is_idempotent(repeatable);
    batch
}

/// A mark for each column.
fn marks(columns: &str) -> String {
    columns.split(',').map(|_| "?").collect::<Vec<_>>().join(", ")
}

/// An assignment for each column but the key.
fn assignments(columns: &str) -> String {
    let columns = columns.split(',').map(str::trim).filter(|column| *column != "short");
    columns.map(|column| format!("{column} = ?")).collect::<Vec<_>>().join(", ")
}
