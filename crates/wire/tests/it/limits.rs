//! Everything is bounded, and comes back.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use lodge_domain::{
    accounts::{Backend, Call, Own, SessionDigest, SignIn},
    passwords::Password,
};

use lodge_wire::{Pool, PoolOptions, ServerOptions, raw};
use tokio::{net::TcpStream, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::support::{
    Server, ask, ask_at_once, deafened, is_unavailable, key, pool_options, said_by, until, wait,
    wait_apart,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_connections_against_five_hundred_leave_those_alone() {
    let server = Server::start(ServerOptions::new(key()));
    let pool = server.pool(500);
    until("all stand", || pool.connected() == 500).await;
    let answered = CancellationToken::new();
    let others = (0..1_500).map(|_| keeps_coming(server.address, answered.clone()));
    let flood = tokio::spawn(join_all(others.map(tokio::spawn).collect::<Vec<_>>()));
    let refused = || server.counted.of("lodge_wire_connections_refused_total");
    until("others are refused", || refused() > 0).await;
    for _ in 0..3 {
        ask_at_once(&pool, 500).await;
    }
    answered.cancel();
    // Past as many again nothing is said at all.
    assert!(flood.await.unwrap().into_iter().map(Result::unwrap).sum::<usize>() > 0);
    assert_eq!(pool.connected(), 500);
}

/// Comes again and again until then; how often it was told that there is no room.
async fn keeps_coming(address: SocketAddr, until: CancellationToken) -> usize {
    let mut told = 0;
    loop {
        let greeting = what_a_stranger_is_told(address).await;
        told += usize::from(greeting.is_some_and(|greeting| greeting.refused.is_some()));
        if until.is_cancelled() {
            return told;
        }
    }
}

/// The greeting of a connection that the server then closes.
pub(crate) async fn what_a_stranger_is_told(address: SocketAddr) -> Option<raw::Greeting> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    serde_json::from_slice(said_by(&mut stream).await.get(4..)?).ok()
}

#[tokio::test]
async fn a_server_that_reads_nothing_holds_nobody_up() {
    let server = Server::start(ServerOptions::new(key()));
    let deaf = deafened(server.address).await;
    let options = PoolOptions {
        in_flight_max: 4,
        deadline: Duration::from_millis(200),
        ..pool_options(deaf, 1)
    };
    let pool = Arc::new(Pool::start(options));
    let long = "x".repeat(100_000);
    for _ in 0..50 {
        // Who gives up leaves their call, and that they gave up, where they are sent from.
        let call = Call::SignIn(SignIn {
            username: long.clone(),
            password: Password::parse("password", "x".to_owned()).unwrap(),
            from: None,
            agent: String::new(),
        });
        let asked = timeout(Duration::from_millis(5), pool.call(call)).await;
        assert!(asked.is_err() || asked.is_ok_and(|outcome| is_unavailable(&outcome)));
    }
    let healthy = server.pool(1);
    assert_eq!(ask(&healthy, "ada").await.unwrap(), "ada", "this thread has time for others");
    assert!(is_unavailable(&ask(&*pool, "ada").await));
}

#[tokio::test]
async fn past_its_bounds_a_pool_refuses_at_once() {
    let server = Server::start(ServerOptions::new(key()));
    let options = PoolOptions { in_flight_max: 2, waiting_max: 1, ..server.pool_options(1) };
    let pool = Arc::new(Pool::start(options));
    let calls: Vec<_> = (0..3).map(|_| wait_apart(&pool)).collect();
    until("two are under way", || server.echo.under_way.load(Ordering::SeqCst) == 2).await;
    assert!(is_unavailable(&ask(&*pool, "ada").await));
    server.echo.leaves.add_permits(3);
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
    assert_eq!(ask(&*pool, "ada").await.unwrap(), "ada");
}

#[tokio::test]
async fn calls_that_are_given_up_leave_their_places_to_those_that_follow_at_once() {
    let server = Server::start(ServerOptions::new(key()));
    let pool = server.pool(1);
    for _ in 0..10 {
        let given_up = join_all((0..64).map(|_| wait(&pool)));
        tokio::select! {
            answers = given_up => panic!("{answers:?}"),
            () = until("all are under way", || server.echo.under_way.load(Ordering::SeqCst) == 64) => {}
        }
        ask_at_once(&pool, 64).await;
    }
}

/// The seed's own fault: what had failed kept its connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_times_as_many_failures_as_places_take_none_away() {
    const PLACES: usize = 8;
    let server = Server::start(ServerOptions::new(key()));
    let options = PoolOptions {
        in_flight_max: 2,
        deadline: Duration::from_millis(400),
        ..server.pool_options(PLACES / 2)
    };
    let pool = Arc::new(Pool::start(options));
    until("all stand", || pool.connected() == PLACES / 2).await;
    for _ in 0..5 {
        let calls = (0..4 * PLACES).map(|number| tokio::spawn(fails(Arc::clone(&pool), number)));
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
    }
    until("nothing is under way", || server.echo.under_way.load(Ordering::SeqCst) == 0).await;
    assert_eq!(pool.connected(), PLACES / 2);
    server.echo.leaves.add_permits(PLACES);
    let calls: Vec<_> = (0..PLACES).map(|_| wait_apart(&pool)).collect();
    for call in calls {
        assert!(call.await.unwrap().is_ok(), "every place is there");
    }
}

/// A call that fails in one of three ways.
async fn fails(pool: Arc<Pool>, number: usize) {
    match number % 3 {
        0 => assert!(is_unavailable(&wait(&*pool).await), "it runs out of time"),
        // Nobody waits for it.
        1 => drop(timeout(Duration::from_millis(5), wait(&*pool)).await),
        // The server fails, or has no time for it.
        _ => {
            let export = Call::Own { session: SessionDigest::of("x"), wish: Own::Export };
            assert!(pool.call(export).await.is_err());
        }
    }
}
