//! Migrations of the schema.

use futures_util::future::join_all;
use lodge_contract::accounts::{fresh_name, made, new};
use lodge_domain::{Error, accounts::Username};
use lodge_engines::mariadb::MariaDb;
use mysql::prelude::Queryable as _;

use super::{admin, empty_database};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_processes_that_start_together_one_creates_the_schema() {
    let options = empty_database("lodge_together");
    let processes = join_all((0..8).map(|_| MariaDb::connect(options.clone()))).await;
    let mut feeds = Vec::new();
    for process in processes {
        let changed = process.unwrap().sessions().changed_since(None).await.unwrap();
        feeds.push(changed.place.feed);
    }
    assert!(feeds.iter().all(|feed| *feed == feeds[0]), "one feed: {feeds:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_migration_is_finished() {
    let options = empty_database("lodge_broken_off");
    drop(MariaDb::connect(options.clone()).await.unwrap());
    let mut admin = admin(&options, "lodge_broken_off");
    let version = "SELECT version FROM schema_version";
    let newest: Option<u32> = admin.query_first(version).unwrap();
    admin.query_drop("DROP TABLE tickets, identities, passes").unwrap();
    // The claim of a process that died.
    let claim =
        "UPDATE schema_version SET version = 0, holder = 'x', held_until = UNIX_TIMESTAMP() + 1";
    admin.query_drop(claim).unwrap();
    let database = MariaDb::connect(options).await.unwrap();
    let account = made(&*database.accounts(), &fresh_name()).await;
    assert_eq!(database.identities().list(account.id).await.unwrap(), []);
    let passes = database.passes().of_account(account.id).await.unwrap();
    assert_eq!(passes, []);
    assert_eq!(admin.query_first(version).unwrap(), newest);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upgraded_accounts_keep_working_and_their_look_alikes_are_taken() {
    let options = empty_database("lodge_look_alikes");
    drop(MariaDb::connect(options.clone()).await.unwrap());
    let mut admin = admin(&options, "lodge_look_alikes");
    admin.query_drop("ALTER TABLE accounts DROP COLUMN skeleton").unwrap();
    for name in ["alice", "al1ce"] {
        let add = "INSERT INTO accounts (username, role, epoch, created_at) VALUES (?, 0, 1, 1)";
        admin.exec_drop(add, (name,)).unwrap();
    }
    admin.query_drop("UPDATE schema_version SET version = 4").unwrap();
    let database = MariaDb::connect(options).await.unwrap();
    let accounts = database.accounts();
    for name in ["alice", "al1ce"] {
        let name = Username::parse(name).unwrap();
        assert!(accounts.find(&name).await.unwrap().is_some(), "{name}");
    }
    let look_alike = Username::parse("allce").unwrap();
    assert_eq!(accounts.add(new(&look_alike), None).await.unwrap().outcome, None);
    made(&*accounts, &Username::parse("carol").unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schema_of_a_newer_lodge_is_refused() {
    let options = empty_database("lodge_newer");
    drop(MariaDb::connect(options.clone()).await.unwrap());
    let mut admin = admin(&options, "lodge_newer");
    admin.query_drop("UPDATE schema_version SET version = 1000").unwrap();
    assert!(matches!(MariaDb::connect(options).await.err(), Some(Error::Internal(_))));
}
