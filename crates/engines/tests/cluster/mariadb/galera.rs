//! The contract on a Galera cluster, and what two processes do that write to different nodes.

use std::sync::Arc;

use lodge_contract::{
    AccountsFixture, PassesFixture,
    accounts::{fresh_name, made, new},
    identities,
};
use lodge_domain::{Error, failures::Failures, key_sessions::KeySessionStore, keys::KeyStore};
use lodge_engines::mariadb::{MariaDb, Options};
use lodge_sql::{App, Failure, ReadKind, Statement, Tx, Value};
use lodge_testbed::Kind;
use mysql::prelude::Queryable as _;

use super::{accounts_of, admin, database_on, emptied, text};

const ADD: Statement = text("UPDATE counters SET number = number + 1 WHERE id = ?");
const NODE: Statement = text("SELECT @@wsrep_node_name");
const NUMBER: Statement = text("SELECT number FROM counters WHERE id = 1");

contract!(Kind::Galera);

/// Returns the name of the node that a process uses.
async fn node(mariadb: &MariaDb) -> Option<String> {
    let read = |tx: &mut dyn Tx| -> Result<Option<String>, Failure> {
        tx.one(&NODE, &[], |row| row.get(0))
    };
    mariadb.database().read(App::Accounts, ReadKind::ByKey, read).await.unwrap()
}

/// Two processes that disagree about the first node.
async fn two(name: &str) -> [MariaDb; 2] {
    let options = emptied(database_on(Kind::Galera, name));
    let nodes = options.nodes.iter().rev().cloned().collect();
    let other = Options { nodes, ..options.clone() };
    let databases =
        [MariaDb::connect(options).await.unwrap(), MariaDb::connect(other).await.unwrap()];
    let [one, another] = [node(&databases[0]).await, node(&databases[1]).await];
    assert_ne!(one, another);
    databases
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_start_together_at_two_nodes_all_start() {
    let options = emptied(database_on(Kind::Galera, "lodge_together"));
    let nodes = options.nodes.iter().rev().cloned().collect();
    let other = Options { nodes, ..options.clone() };
    let starts: Vec<_> = [&options, &other]
        .into_iter()
        .cycle()
        .take(8)
        .map(|options| tokio::spawn(MariaDb::connect(options.clone())))
        .collect();
    for started in starts {
        started.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_at_one_node_sees_what_was_acknowledged_at_another() {
    let [one, other] = two("lodge_reads").await;
    for _ in 0..100 {
        let name = fresh_name();
        let stored = made(&*one.accounts(), &name).await;
        let (found, _) = other.accounts().find(&name).await.unwrap().expect("visible at once");
        assert_eq!(found, stored);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hundred_sign_ups_for_one_name_at_two_nodes_one_succeeds() {
    let databases = two("lodge_one_name").await;
    let name = fresh_name();
    let sign_ups: Vec<_> = (0..200)
        .map(|number: usize| {
            let (accounts, name) = (databases[number % 2].accounts(), name.clone());
            tokio::spawn(async move { accounts.add(new(&name), None).await })
        })
        .collect();
    let mut made = 0;
    for sign_up in sign_ups {
        match sign_up.await.unwrap() {
            Ok(added) => made += usize::from(added.outcome.is_some()),
            Err(Error::Unavailable { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(made, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_identity_linked_at_one_node_does_not_survive_a_recovery_at_another() {
    let [one, other] = two("lodge_recovery").await;
    let (linking, recovering) = (accounts_of(&one), accounts_of(&other));
    identities::a_recovery_beside_links_leaves_no_identity(&linking, &recovering).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_increment_at_two_nodes_is_lost_or_counted_twice() {
    let databases = two("lodge_increments").await;
    let options = database_on(Kind::Galera, "lodge_increments");
    let mut admin = admin(&options, &options.database);
    admin.query_drop("CREATE TABLE counters (id INT PRIMARY KEY, number INT)").unwrap();
    admin.query_drop("INSERT INTO counters VALUES (1, 0)").unwrap();
    let adds: Vec<_> = (0..200)
        .map(|number: usize| {
            let mariadb = databases[number % 2].clone();
            tokio::spawn(async move {
                let work = move |tx: &mut dyn Tx| -> Result<u64, Failure> {
                    tx.execute(&ADD, &[Value::Int(1)])
                };
                mariadb.database().write(App::Accounts, work).await
            })
        })
        .collect();
    let mut added = 0_i64;
    for add in adds {
        match add.await.unwrap() {
            Ok(changed) => added += i64::try_from(changed).unwrap(),
            Err(Error::Unavailable { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    let number = |tx: &mut dyn Tx| -> Result<Option<i64>, Failure> {
        tx.one(&NUMBER, &[], |row| row.get(0))
    };
    for mariadb in &databases {
        let number = mariadb.database().read(App::Accounts, ReadKind::ByKey, number).await.unwrap();
        assert_eq!(number, Some(added));
    }
    assert!(added > 0);
}
