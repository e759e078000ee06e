//! Calls and their answers.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use lodge_domain::{
    Error,
    accounts::{Backend, Call, OwnAccountCall, SessionDigest},
};
use lodge_wire::{Pool, PoolOptions, ServerOptions, SharedKey};

use crate::support::{Server, ask, ask_at_once, is_unavailable, key, until, wait, wait_apart};

#[tokio::test]
async fn many_calls_share_a_connection_and_each_gets_its_own_answer() {
    let server = Server::start(ServerOptions::new(key()));
    let pool = server.pool(1);
    ask_at_once(&pool, 500).await;
    assert_eq!(pool.connected(), 1);
}

#[tokio::test]
async fn a_slow_call_delays_no_other() {
    let server = Server::start(ServerOptions::new(key()));
    let pool = Arc::new(server.pool(1));
    let slow = wait_apart(&pool);
    until("the slow call is in flight", || server.echo.under_way.load(Ordering::SeqCst) == 1).await;
    assert_eq!(ask(&*pool, "ada").await.unwrap(), "ada");
    server.echo.leaves.add_permits(1);
    assert!(slow.await.unwrap().is_ok());
}

#[tokio::test]
async fn the_cause_of_an_internal_error_is_not_sent() {
    let server = Server::start(ServerOptions::new(key()));
    let pool = server.pool(1);
    let call = Call::Own { session: SessionDigest::of("x"), call: OwnAccountCall::Export };
    let Err(error) = pool.call(call).await else { panic!("answered") };
    assert!(matches!(&error, Error::Internal(cause) if !cause.to_string().contains("secret")));
}

#[tokio::test]
async fn a_call_that_panics_is_answered_and_releases_its_permit() {
    let server = Server::start(ServerOptions { in_flight_max: 4, ..ServerOptions::new(key()) });
    let pool = server.pool(1);
    for _ in 0..8 {
        assert!(matches!(pool.call(Call::Providers).await, Err(Error::Internal(_))));
    }
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
}

#[tokio::test]
async fn a_client_with_a_wrong_key_is_refused() {
    let server = Server::start(ServerOptions::new(key()));
    let other = SharedKey::new([8; 32]).unwrap();
    let pool = Pool::start(PoolOptions { key: other, ..server.pool_options(1) });
    assert!(is_unavailable(&ask(&pool, "ada").await));
    assert_eq!(pool.connected(), 0);
    assert_eq!(server.echo.answered.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_caller_that_gave_up_costs_the_server_nothing_more() {
    let server = Server::start(ServerOptions::new(key()));
    let options = PoolOptions { deadline: Duration::from_millis(300), ..server.pool_options(1) };
    let pool = Arc::new(Pool::start(options));
    assert_eq!(ask(&*pool, "ada").await.unwrap(), "ada");
    assert!(is_unavailable(&wait(&*pool).await), "too late");
    until("it is cancelled", || server.echo.under_way.load(Ordering::SeqCst) == 0).await;

    let cancelled = wait_apart(&pool);
    until("it is in flight", || server.echo.under_way.load(Ordering::SeqCst) == 1).await;
    cancelled.abort();
    until("it is cancelled", || server.echo.under_way.load(Ordering::SeqCst) == 0).await;
    assert_eq!(ask(&*pool, "grace").await.unwrap(), "grace", "its connection stays open");
    assert_eq!(server.echo.answered.load(Ordering::SeqCst), 2);
}
