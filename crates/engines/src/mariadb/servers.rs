//! Connections to the servers, and which server is used.

use std::{
    collections::HashMap,
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lodge_domain::{Error, Result};
use mysql::{Conn, OptsBuilder, SslOpts, consts::CapabilityFlags, prelude::Queryable as _};
use secrecy::ExposeSecret as _;
use tempfile::NamedTempFile;

use super::{failure::is_unknown_collation, options::Options};
use crate::Tls;

/// The reason of a server that does not know the first statement of a connection.
const NOT_MARIADB: &str = "the server is not MariaDB 10.2 or newer; MySQL is not supported";

/// Size of a connection's cache of prepared statements.
const PREPARED_MAX: usize = 256;

/// How much longer than the server's own limit the client waits for an answer.
const GRACE: Duration = Duration::from_secs(1);

/// The pause between two questions whether a server can be used, if there are several.
const PROBE_EVERY: Duration = Duration::from_millis(250);

/// The timeout of that question.
const PROBE_WAIT: Duration = Duration::from_secs(1);

/// How long an earlier server must have been usable until it is used again: one that was suspended does not know yet that
/// its cluster has excluded it.
const RETURN_AFTER: Duration = Duration::from_secs(5);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Transactions.
    Write,
    /// Statements that only read.
    Read,
    /// Migrations, whose statements may take long.
    Migrate,
    /// Questions whether the server can be used.
    Probe,
}

/// Timeout of a statement of a migration.
const MIGRATE: Duration = Duration::from_mins(1);

/// A server.
struct Node {
    host: String,
    port: u16,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A connection that asks whether its server can be used, and since when the answer has been yes.
#[derive(Default)]
struct Probe(Option<(Conn, Instant)>);

impl Probe {
    /// Returns for how long the server could be used. Asks once more on a new connection if the kept one fails.
    fn usable_for(&mut self, open: impl Fn() -> mysql::Result<Conn>) -> mysql::Result<Duration> {
        if let Some((mut connection, since)) = self.0.take()
            && join(&mut connection, true).is_ok()
        {
            self.0 = Some((connection, since));
            return Ok(since.elapsed());
        }
        let mut connection = open()?;
        join(&mut connection, true)?;
        self.0 = Some((connection, Instant::now()));
        Ok(Duration::ZERO)
    }
}

/// Connects to the servers.
pub(super) struct Servers {
    nodes: Vec<Node>,
    /// The number of the node that is used.
    used: AtomicUsize,
    options: Options,
    /// The trusted certificates, which the driver reads from a file for every connection.
    authorities: Option<NamedTempFile>,
}

impl Servers {
    pub(super) fn new(options: Options) -> Result<Arc<Self>> {
        let nodes: Vec<Node> =
            options.nodes.iter().map(|node| parse(node)).collect::<Result<_>>()?;
        if nodes.is_empty() {
            return Err(Error::invalid("mariadb.nodes", "must list at least one server"));
        }
        let authorities = options.tls.as_ref().map(Tls::authorities_file).transpose()?;
        Ok(Arc::new(Self { nodes, used: AtomicUsize::new(0), options, authorities }))
    }

    /// Chooses a server and, if there are several, starts a thread that keeps choosing until `self` is dropped. Of two
    /// processes whose choices differ for a while, each reads what the other has written.
    pub(super) fn watch(self: &Arc<Self>) -> io::Result<()> {
        if self.nodes.len() < 2 {
            return Ok(());
        }
        let mut probes: Vec<Probe> = self.nodes.iter().map(|_| Probe::default()).collect();
        self.choose(&mut probes);
        let servers = Arc::downgrade(self);
        let watch = move || {
            while let Some(servers) = servers.upgrade() {
                servers.choose(&mut probes);
                drop(servers);
                thread::sleep(PROBE_EVERY);
            }
        };
        thread::Builder::new().name("mariadb-probe".to_owned()).spawn(watch)?;
        Ok(())
    }

    /// Keeps the server that is used while it can be, and no earlier one could be for a while. Otherwise chooses the
    /// first that can be used, if there is one.
    fn choose(&self, probes: &mut [Probe]) {
        let (used, count) = (self.used(), self.nodes.len());
        let mut usable_for = |number: usize| {
            probes[number].usable_for(|| self.open(&self.nodes[number], Use::Probe))
        };
        let earlier =
            (0..used).find(|number| usable_for(*number).is_ok_and(|time| time > RETURN_AFTER));
        if let Some(earlier) = earlier {
            tracing::info!(server = %self.nodes[earlier], "MariaDB: the server is used again");
            return self.used.store(earlier, Ordering::Relaxed);
        }
        let Err(error) = usable_for(used) else { return };
        let mut others = (0..count).filter(|number| *number != used);
        if let Some(other) = others.find(|number| usable_for(*number).is_ok()) {
            let (left, server) = (&self.nodes[used], &self.nodes[other]);
            tracing::warn!(%left, %error, %server, "MariaDB: another server is used");
            self.used.store(other, Ordering::Relaxed);
        }
    }

    /// Returns the number of the server that is used now.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Connects to the server that is used, or else to the first other one that can be used. Returns the number of the
    /// server that was to be used. The error names each server and its reason.
    pub(super) fn connect(&self, of_use: Use) -> std::result::Result<(Conn, usize), String> {
        let used = self.used();
        let others = (0..self.nodes.len()).filter(|number| *number != used);
        let mut reasons = Vec::new();
        for number in [used].into_iter().chain(others) {
            let node = &self.nodes[number];
            match self.connect_to(node, of_use) {
                Ok(connection) => return Ok((connection, used)),
                Err(error) => reasons.push(format!("{node}: {}", reason(&error))),
            }
        }
        Err(reasons.join("; "))
    }

    fn connect_to(&self, node: &Node, of_use: Use) -> mysql::Result<Conn> {
        let several = self.nodes.len() > 1;
        if several && of_use != Use::Probe {
            // One that hangs is left for another one sooner than after the timeout of a statement.
            join(&mut self.open(node, Use::Probe)?, several)?;
        }
        let mut connection = self.open(node, of_use)?;
        join(&mut connection, several)?;
        Ok(connection)
    }

    fn open(&self, node: &Node, of_use: Use) -> mysql::Result<Conn> {
        Conn::new(self.settings(&node.host, node.port, of_use)).map_err(explain)
    }

    /// Connects to each server. Returns the version of each, or why it cannot be used; fails if none can be.
    pub(super) fn probe(&self) -> Result<Vec<String>> {
        let versions = self.nodes.iter().map(|node| {
            let mut connection = self.connect_to(node, Use::Probe)?;
            let version: Option<String> = connection.query_first("SELECT VERSION()")?;
            Ok(version.unwrap_or_default())
        });
        let versions: Vec<mysql::Result<String>> = versions.collect();
        let has_one = versions.iter().any(mysql::Result::is_ok);
        let lines = self.nodes.iter().zip(versions).map(|(node, version)| match version {
            Ok(version) => format!("{node}: {version}"),
            Err(error) => format!("{node}: cannot be used: {}", reason(&error)),
        });
        let lines: Vec<String> = lines.collect();
        if has_one { Ok(lines) } else { Err(Error::unavailable(lines.join("; "))) }
    }

    fn settings(&self, host: &str, port: u16, of_use: Use) -> OptsBuilder {
        let options = &self.options;
        let (statement_wait, grace) = match of_use {
            Use::Migrate => (MIGRATE, GRACE),
            Use::Probe => (PROBE_WAIT, Duration::ZERO),
            Use::Read | Use::Write => (options.statement_wait, GRACE),
        };
        let trusted = self.authorities.as_ref().map(|file| file.path().to_owned());
        OptsBuilder::new()
            .ip_or_hostname(Some(host))
            .tcp_port(port)
            .user(Some(&options.username))
            .pass(Some(options.password.expose_secret()))
            .db_name(Some(&options.database))
            .prefer_socket(false)
            .ssl_opts(trusted.map(|file| SslOpts::default().with_root_cert_path(Some(file))))
            // UPDATE returns the number of matched rows, not of changed ones.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
            .stmt_cache_size(Some(PREPARED_MAX))
            .tcp_connect_timeout(Some(options.connect_wait))
            .read_timeout(Some(statement_wait + grace))
            .write_timeout(Some(statement_wait.min(options.statement_wait)))
            .init(vec![self.session(of_use, statement_wait)])
    }

    /// The statement that sets up each connection. With the idle timeout the server rolls back the
    /// transaction of a client that vanished, which would keep its locks otherwise.
    fn session(&self, of_use: Use, statement_wait: Duration) -> String {
        format!(
            "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin, \
             sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO', \
             tx_isolation = '{}', tx_read_only = {}, autocommit = 1, \
             innodb_lock_wait_timeout = {}, lock_wait_timeout = {}, max_statement_time = {}, \
             idle_transaction_timeout = {idle}",
            // A transaction that only reads needs one snapshot.
            if of_use == Use::Read { "REPEATABLE-READ" } else { "READ-COMMITTED" },
            u8::from(of_use == Use::Read),
            self.options.lock_wait.as_secs().max(1),
            statement_wait.as_secs().max(1),
            statement_wait.as_secs_f64(),
            idle = IDLE_TRANSACTION.as_secs(),
        )
    }
}

/// Time after which the server rolls back a transaction whose client is idle.
pub(super) const IDLE_TRANSACTION: Duration = Duration::from_secs(5);

/// Replaces the error of a server that is not MariaDB by what is wrong with it.
fn explain(error: mysql::Error) -> mysql::Error {
    if is_unknown_collation(&error) { io::Error::other(NOT_MARIADB).into() } else { error }
}

/// Returns the text of an error without the name of its kind.
fn reason(error: &mysql::Error) -> String {
    match error {
        mysql::Error::IoError(error) => error.to_string(),
        mysql::Error::DriverError(error) => error.to_string(),
        mysql::Error::MySqlError(error) => error.to_string(),
        _ => error.to_string(),
    }
}

/// Prepares a connection for the use of its server. Fails if that is a Galera node that is behind or without a majority,
/// or is no Galera node although it is one of several servers: which of them is up to date would be unknown.
fn join(connection: &mut Conn, is_one_of_several: bool) -> mysql::Result<()> {
    if !replicates(connection)? {
        let refused = io::Error::other("several servers must be the nodes of one Galera cluster");
        return if is_one_of_several { Err(refused.into()) } else { Ok(()) };
    }
    let asked =
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_local_state_comment', 'wsrep_ready')";
    let status: HashMap<String, String> = connection.query(asked)?.into_iter().collect();
    let value = |name: &str| status.get(name).map_or("unknown", String::as_str);
    let (state, ready) = (value("wsrep_local_state_comment"), value("wsrep_ready"));
    // A donor is desynchronized and still applies what others commit.
    if !matches!(state, "Synced" | "Donor/Desynced") || ready != "ON" {
        let reason = format!("the Galera node is not ready ({ready}); its state is {state}");
        return Err(io::Error::other(reason).into());
    }
    // BEGIN, and a SELECT outside of a transaction, wait for what was committed at other nodes before.
    connection.query_drop("SET SESSION wsrep_sync_wait = 1")
}

/// Whether the server is a node of a Galera cluster.
fn replicates(connection: &mut Conn) -> mysql::Result<bool> {
    let asked = "SHOW GLOBAL VARIABLES WHERE Variable_name = 'wsrep_on' AND Value = 'ON'";
    let found: Option<(String, String)> = connection.query_first(asked)?;
    Ok(found.is_some())
}

/// Parses `host:port`; an IPv6 host is in brackets.
fn parse(node: &str) -> Result<Node> {
    let refused = || Error::invalid("mariadb.nodes", "must be host:port");
    let (host, port) = node.rsplit_once(':').ok_or_else(refused)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() {
        return Err(refused());
    }
    Ok(Node { host: host.to_owned(), port: port.parse().map_err(|_| refused())? })
}

#[cfg(test)]
mod tests {
    use mysql::{MySqlError, ServerError};

    use super::*;

    fn refusal(code: u16) -> mysql::Error {
        let message = "Unknown collation: 'utf8mb4_nopad_bin'".to_owned();
        mysql::Error::MySqlError(MySqlError { state: "HY000".to_owned(), message, code })
    }

    #[test]
    fn a_server_that_is_mysql_is_refused_as_such() {
        let unknown_collation = ServerError::ER_UNKNOWN_COLLATION as u16;
        assert!(explain(refusal(unknown_collation)).to_string().contains(NOT_MARIADB));
        let denied = ServerError::ER_ACCESS_DENIED_ERROR as u16;
        assert!(!explain(refusal(denied)).to_string().contains(NOT_MARIADB));
    }
}
