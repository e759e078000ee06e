//! Requests while the server is down, and afterwards.

use std::{fs, time::Duration};

use lodge_contract::accounts::{fresh_name, made, new};
use lodge_domain::Error;
use lodge_engines::{
    Tls,
    mariadb::{MariaDb, Options},
};
use lodge_testbed::{Authority, Kind};

use super::{database_on, own::OwnServer};
use crate::redis::within;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_killed_is_used_again_when_it_is_back() {
    let mut own = OwnServer::start();
    let database = own.connect().await;
    let accounts = database.accounts();
    let (before, after) = (fresh_name(), fresh_name());
    let stored = made(&*accounts, &before).await;
    own.server.kill().unwrap();
    for _ in 0..3 {
        let refused = accounts.add(new(&after), None).await;
        assert!(matches!(refused, Err(Error::Unavailable { .. })));
        assert!(matches!(accounts.find(&before).await, Err(Error::Unavailable { .. })));
    }
    own.server.start_again().unwrap();
    within(Duration::from_secs(30), async || accounts.find(&before).await.is_ok()).await;
    let (found, _) = accounts.find(&before).await.unwrap().unwrap();
    assert_eq!(found, stored, "an acknowledged account is stored");
    within(Duration::from_secs(30), async || accounts.add(new(&after), None).await.is_ok()).await;
    assert!(accounts.find(&after).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_closed_by_the_server_fail_no_request() {
    let mut own = OwnServer::start();
    let database = own.connect().await;
    let accounts = database.accounts();
    let name = fresh_name();
    made(&*accounts, &name).await;
    accounts.find(&name).await.unwrap();
    own.server.kill().unwrap();
    own.server.start_again().unwrap();
    for _ in 0..4 {
        assert!(accounts.find(&name).await.unwrap().is_some());
        made(&*accounts, &fresh_name()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_tls_only_a_server_with_a_trusted_certificate_is_used() {
    let own = OwnServer::start();
    let trusting = |authority: &Authority| {
        let pem = fs::read_to_string(authority.root()).unwrap();
        own.options(Some(Tls::trusting(Some(pem))))
    };
    let database = MariaDb::connect(trusting(&own.server.authority())).await.unwrap();
    made(&*database.accounts(), &fresh_name()).await;
    let folder = tempfile::tempdir().unwrap();
    let another = Authority::at(folder.path());
    another.make([]).unwrap();
    let refused = MariaDb::connect(trusting(&another)).await;
    assert!(matches!(refused.err(), Some(Error::Unavailable { .. })));
}

/// Connects to the Galera cluster with `first` as the first of the servers.
async fn behind(first: &str) -> MariaDb {
    let options = database_on(Kind::Galera, "lodge_behind");
    let nodes = [first.to_owned()].into_iter().chain(options.nodes.clone()).collect();
    let database = MariaDb::connect(Options { nodes, ..options }).await.unwrap();
    made(&*database.accounts(), &fresh_name()).await;
    database
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_does_not_answer_is_skipped() {
    behind("127.0.0.1:1").await;
    let own = OwnServer::start();
    own.server.suspend().unwrap();
    behind(&own.options(None).nodes[0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_servers_one_that_is_no_galera_node_is_not_used() {
    let own = OwnServer::start();
    let options = own.options(None);
    behind(&options.nodes[0]).await;
    let nodes = [options.nodes.clone(), options.nodes.clone()].concat();
    let refused = MariaDb::connect(Options { nodes, ..options }).await;
    assert!(matches!(refused.err(), Some(Error::Unavailable { .. })));
}
