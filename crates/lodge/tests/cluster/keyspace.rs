//! A Cassandra keyspace for one test, with direct access.

use std::{net::SocketAddr, path::Path, time::Duration};

use lodge_testbed::{Cluster, Kind, Member};
use scylla::{
    client::{session::Session, session_builder::SessionBuilder},
    statement::{Consistency, Statement},
    value::Row,
};
use tokio::runtime::Runtime;
use uuid::Uuid;

/// The timeout of a statement: a schema change takes long on a busy machine.
const STEP: Duration = Duration::from_mins(1);

/// The tables with moved data, without the change feed, and their columns, without the ids of writes, which are
/// generated anew by each move.
const TABLES: [(&str, &str); 11] = [
    (
        "links",
        "short, id, target, redirect, version, key_version, owner, created_at, changed_at, deleted_at, \
         expires_at, clicks_max, clicks_used, exhausted_at, password, tags",
    ),
    ("links_by_owner", "owner, id, short"),
    ("links_by_tag", "owner, tag, id, short"),
    ("attempts", "id, fingerprint, at, plan, outcome"),
    ("clicks_by_hour", "link, hour, device, incarnation, number, clicks"),
    ("clicks_by_day", "link, day, device, incarnation, number, clicks"),
    ("clicks_by_referrer", "link, host, incarnation, number, clicks"),
    ("keys_by_name", "name, id, digest, created_at, revoked_at"),
    ("keys_by_digest", "digest, name"),
    ("keys_by_id", "id, name"),
    ("settings", "name, value"),
];

/// Returns the addresses of the nodes. Fails while a node is down.
fn cassandra() -> Vec<SocketAddr> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let cluster = Cluster::up_with(&workspace, Member::of(Kind::Cassandra)).unwrap();
    cluster.layout().addresses(Kind::Cassandra)
}

/// The keyspace of [`Keyspace::emptied`].
const SHARED: &str = "lodge_move_shared";

/// A keyspace, which is dropped with this value if it is a new one.
pub(crate) struct Keyspace {
    name: String,
    session: Session,
    runtime: Runtime,
}

impl Keyspace {
    /// Connects, and picks a unique name; does not create the keyspace.
    pub(crate) fn new() -> Self {
        Self::named(format!("lodge_move_{}", Uuid::now_v7().simple()))
    }

    /// Connects to a keyspace that all callers share, one after the other, and empties its tables: three nodes on a
    /// small machine need a quarter of a minute to create them. Before its first use it does not exist.
    pub(crate) fn emptied() -> Self {
        let keyspace = Self::named(SHARED.to_owned());
        for table in TABLES.map(|(table, _)| table).iter().chain(&["link_changes"]) {
            keyspace.try_run(&format!("TRUNCATE @{table}"));
        }
        keyspace
    }

    fn named(name: String) -> Self {
        let runtime = Runtime::new().unwrap();
        let nodes = SessionBuilder::new().known_nodes_addr(cassandra());
        let session = runtime.block_on(nodes.build()).unwrap();
        Self { name, session, runtime }
    }

    /// Returns the name of the keyspace.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the nodes in the form of the setting `cassandra.nodes`.
    pub(crate) fn nodes() -> String {
        let nodes: Vec<String> = cassandra().iter().map(ToString::to_string).collect();
        nodes.join(",")
    }

    /// Runs a statement, in which `@` is the keyspace prefix of a table. Returns its rows.
    pub(crate) fn run(&self, text: &str) -> Vec<Row> {
        self.try_run(text).unwrap()
    }

    /// The same; returns `None` on an error, as when the keyspace does not exist yet.
    pub(crate) fn try_run(&self, text: &str) -> Option<Vec<Row>> {
        let mut statement = Statement::new(text.replace('@', &format!("{}.", self.name)));
        statement.set_consistency(Consistency::Quorum);
        statement.set_request_timeout(Some(STEP));
        let result = self.runtime.block_on(self.session.query_unpaged(statement, ())).ok()?;
        if !result.is_rows() {
            return Some(Vec::new());
        }
        let rows = result.into_rows_result().unwrap();
        Some(rows.rows::<Row>().unwrap().collect::<Result<_, _>>().unwrap())
    }

    /// Returns the number of rows in a table.
    pub(crate) fn count(&self, table: &str) -> usize {
        self.run(&format!("SELECT * FROM @{table}")).len()
    }

    /// Returns all moved data, in a deterministic order.
    pub(crate) fn dump(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (table, columns) in TABLES {
            let rows = self.run(&format!("SELECT {columns} FROM @{table}"));
            lines.extend(rows.iter().map(|row| format!("{table}: {:?}", row.columns)));
        }
        lines.sort_unstable();
        lines
    }
}

impl Drop for Keyspace {
    fn drop(&mut self) {
        if self.name == SHARED {
            return;
        }
        let mut statement = Statement::new(format!("DROP KEYSPACE IF EXISTS {}", self.name));
        statement.set_request_timeout(Some(STEP));
        // A failed clean-up does not fail the test.
        let _ = self.runtime.block_on(self.session.query_unpaged(statement, ()));
    }
}
