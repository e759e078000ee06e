//! No statement scans a whole table.

use lodge_engines::mariadb::MariaDb;
use mysql::{Conn, Row, Value, prelude::Queryable as _};

use super::{admin, empty_database};

/// Rows in each table: with few rows the server prefers a full scan.
const ROWS: u32 = 5_000;

/// Fills the tables; `{n}` is the number of the row.
const FILL: [&str; 12] = [
    "INSERT INTO api_keys (name, digest, created_at) SELECT {n}, MD5({n}), {n} FROM {rows}",
    "INSERT INTO key_sessions SELECT MD5({n}), {n}, {n} FROM {rows}",
    "INSERT INTO outcomes SELECT MD5({n}), MD5({n}), {n}, '', 1 FROM {rows}",
    "INSERT INTO accounts (username, role, epoch, created_at, deleted_at, picture) \
     SELECT {n}, 0, 1, {n}, {n}, MD5({n}) FROM {rows}",
    "INSERT INTO sessions SELECT MD5({n}), UNHEX(MD5({n})), {n} DIV 10, 1, {n}, {n}, '', {n} FROM {rows}",
    "INSERT INTO account_events (account, at, kind) SELECT {n} DIV 10, {n}, '' FROM {rows}",
    "INSERT INTO security_events SELECT UNHEX(MD5({n})), {n}, {n}, 1, {n}, {n} MOD 2, {n}, {n}, {n}, '' FROM {rows}",
    "INSERT INTO account_feed SELECT {n}, {n}, {n} FROM {rows}",
    "INSERT INTO identities SELECT 'issuer', {n}, {n}, {n} FROM {rows}",
    "INSERT INTO tickets (digest, issuer, subject, expires_at) \
     SELECT MD5({n}), 'issuer', {n}, {n} FROM {rows}",
    "INSERT INTO gates (name, digest, created_at) SELECT {n}, MD5({n}), {n} FROM {rows}",
    "INSERT INTO passes SELECT {n}, {n} DIV 10, 0, {n}, {n} DIV 10 FROM {rows}",
];

/// The steps of a statement's plan that scan a whole table or index.
fn walks(connection: &mut Conn, sql: &str) -> Vec<String> {
    // Valid as numbers and as texts, and rising, so that the ends of a range are in order.
    let values = (1..=sql.matches('?').count()).map(|number| Value::from(number.to_string()));
    let steps: Vec<Row> =
        connection.exec(format!("EXPLAIN {sql}"), values.collect::<Vec<_>>()).unwrap();
    let walks = steps.into_iter().filter_map(|mut step| {
        let mut column = |name| step.take::<Option<String>, _>(name).unwrap();
        let (kind, table, key) = (column("type"), column("table"), column("key"));
        // The plan of a plain insert has no number of rows.
        let reads = column("rows").is_some();
        let is_walk = kind.as_deref().is_some_and(|kind| matches!(kind, "ALL" | "index"));
        (is_walk && reads).then(|| format!("{kind:?} of {table:?} by {key:?}"))
    });
    walks.collect()
}

/// A database with filled tables.
async fn filled(name: &str) -> Conn {
    let options = empty_database(name);
    drop(MariaDb::connect(options.clone()).await.unwrap());
    let mut connection = admin(&options, name);
    connection.query_drop("SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin").unwrap();
    for fill in FILL {
        let rows = format!("seq_1_to_{ROWS}");
        connection.query_drop(fill.replace("{rows}", &rows).replace("{n}", "seq")).unwrap();
    }
    let tables = "api_keys, key_sessions, outcomes, accounts, sessions, account_events, account_feed, identities, \
        tickets, gates, passes, security_events";
    connection.query_drop(format!("ANALYZE TABLE {tables}")).unwrap();
    connection
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_statement_uses_an_index() {
    let mut connection = filled("lodge_plans").await;
    // Bots belong to the board, which has no tables here.
    let texts = lodge_sql::statements().map(|statement| statement.mariadb);
    let texts: Vec<&str> = texts.filter(|text| !text.contains(" bots ")).collect();
    assert!(texts.len() > 40, "{}", texts.len());
    for text in texts {
        let walks = walks(&mut connection, text);
        assert!(walks.is_empty(), "{text}\n{walks:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_without_an_index_is_detected() {
    let mut connection = filled("lodge_walks").await;
    for text in [
        "SELECT id FROM accounts WHERE email = ?",
        "SELECT id FROM accounts WHERE nickname > ? ORDER BY id",
        "DELETE FROM sessions WHERE agent = ?",
        "SELECT username FROM accounts ORDER BY username",
    ] {
        assert_ne!(walks(&mut connection, text), [""; 0], "{text}");
    }
}
