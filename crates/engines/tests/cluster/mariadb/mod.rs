//! The contract on MariaDB.

/// The contract on the testbed's servers of a kind.
macro_rules! contract {
    ($kind:expr) => {
        async fn connect() -> MariaDb {
            MariaDb::connect(database_on($kind, "lodge_contract")).await.unwrap()
        }

        async fn accounts() -> (AccountsFixture, MariaDb) {
            let database = connect().await;
            (accounts_of(&database), database)
        }

        /// Accounts in a database of their own, without an admin.
        async fn accounts_without_admin() -> (AccountsFixture, MariaDb) {
            let options = emptied(database_on($kind, "lodge_first_admin"));
            let database = MariaDb::connect(options).await.unwrap();
            (accounts_of(&database), database)
        }

        async fn keys() -> (Arc<dyn KeyStore>, MariaDb) {
            let database = connect().await;
            (database.keys(), database)
        }

        async fn failures() -> (Arc<dyn Failures>, MariaDb) {
            let database = connect().await;
            (database.failures(), database)
        }

        async fn key_sessions() -> (Arc<dyn KeySessionStore>, MariaDb) {
            let database = connect().await;
            (database.key_sessions(), database)
        }

        async fn passes() -> (PassesFixture, MariaDb) {
            let database = connect().await;
            let (gates, passes) = (database.gates(), database.passes());
            (PassesFixture { gates, passes }, database)
        }

        mod contract {
            lodge_contract::accounts_promises!(super::accounts);
            lodge_contract::first_admin_promises!(super::accounts_without_admin);
            lodge_contract::failures_promises!(super::failures);
            lodge_contract::keys_promises!(super::keys);
            lodge_contract::key_sessions_promises!(super::key_sessions);
            lodge_contract::passes_promises!(super::passes);
        }
    };
}

mod cleanup;
mod galera;
mod lost_commits;
mod migrations;
mod own;
mod plans;
mod pool;
mod server;

use std::{sync::Arc, time::Duration};

use lodge_contract::{AccountsFixture, PassesFixture};
use lodge_domain::{failures::Failures, key_sessions::KeySessionStore, keys::KeyStore};
use lodge_engines::mariadb::{MariaDb, Options};
use lodge_sql::Statement;
use lodge_testbed::{
    Kind,
    mariadb::{ADMIN, USER},
};
use mysql::{Conn, OptsBuilder, prelude::Queryable as _};
use secrecy::ExposeSecret as _;

use crate::testbed::layout;

/// A database of the testbed's server, created if it does not exist.
fn database(name: &str) -> Options {
    database_on(Kind::Mariadb, name)
}

/// A database of the testbed's servers of a kind, created if it does not exist.
fn database_on(kind: Kind, name: &str) -> Options {
    let layout = layout(&[kind]);
    let nodes = layout.addresses(kind).iter().map(ToString::to_string).collect();
    let password = layout.secret(kind).unwrap();
    let options = Options::new(nodes, name, USER, password.into());
    // The servers share a disk with all other tests, and a Galera node applies what these commit first.
    let statement_wait = Duration::from_secs(30);
    let options = Options { writers: 4, readers: 2, scanners: 1, statement_wait, ..options };
    admin(&options, "").query_drop(format!("CREATE DATABASE IF NOT EXISTS {name}")).unwrap();
    options
}

/// An empty database of the testbed's server.
fn empty_database(name: &str) -> Options {
    emptied(database(name))
}

/// The same database without its tables.
fn emptied(options: Options) -> Options {
    let name = options.database.clone();
    let again = format!("DROP DATABASE {name}; CREATE DATABASE {name}");
    again.split("; ").for_each(|text| admin(&options, "").query_drop(text).unwrap());
    options
}

/// A connection outside the pool.
fn admin(options: &Options, database: &str) -> Conn {
    let (host, port) = options.nodes[0].rsplit_once(':').unwrap();
    let opts = OptsBuilder::new()
        .ip_or_hostname(Some(host))
        .tcp_port(port.parse().unwrap())
        .user(Some(ADMIN))
        .pass(Some(options.password.expose_secret()))
        .db_name(Some(database))
        .prefer_socket(false);
    Conn::new(opts).unwrap()
}

fn accounts_of(database: &MariaDb) -> AccountsFixture {
    let (accounts, sessions) = (database.accounts(), database.sessions());
    let security_events = database.security_events();
    AccountsFixture { accounts, sessions, identities: database.identities(), security_events }
}

contract!(Kind::Mariadb);

/// A statement for a test.
const fn text(mariadb: &'static str) -> Statement {
    Statement { sqlite: "", mariadb }
}
