//! Every resource is bounded and released.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use lodge_domain::{
    accounts::{Backend, Call, OwnAccountCall, SessionDigest, SignIn},
    passwords::Password,
};

use lodge_wire::{Pool, PoolOptions, ServerOptions, raw};
use tokio::{net::TcpStream, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::support::{
    Server, ask, ask_at_once, is_unavailable, key, one_way_proxy, pool_options, said_by, until,
    wait, wait_apart,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_connections_do_not_disturb_five_hundred_authenticated_ones() {
    let server = Server::start(ServerOptions::new(key()));
    let pool = server.pool(500);
    until("all are connected", || pool.connected() == 500).await;
    let answered = CancellationToken::new();
    let others = (0..1_500).map(|_| keeps_coming(server.address, answered.clone()));
    let flood = tokio::spawn(join_all(others.map(tokio::spawn).collect::<Vec<_>>()));
    let refused = || server.counted.of("lodge_wire_connections_refused_total");
    until("other connections are refused", || refused() > 0).await;
    for _ in 0..3 {
        ask_at_once(&pool, 500).await;
    }
    answered.cancel();
    // Past the limit of pending handshakes connections are dropped without a refusal.
    assert!(flood.await.unwrap().into_iter().map(Result::unwrap).sum::<usize>() > 0);
    assert_eq!(pool.connected(), 500);
}

/// Connects in a loop until cancelled; returns how often it got a refusal.
async fn keeps_coming(address: SocketAddr, until: CancellationToken) -> usize {
    let mut refusals = 0;
    loop {
        let greeting = closing_greeting(address).await;
        refusals += usize::from(greeting.is_some_and(|greeting| greeting.refused.is_some()));
        if until.is_cancelled() {
            return refusals;
        }
    }
}

/// Reads the greeting of a connection that the server then closes.
pub(crate) async fn closing_greeting(address: SocketAddr) -> Option<raw::ServerHello> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    serde_json::from_slice(said_by(&mut stream).await.get(4..)?).ok()
}

#[tokio::test]
async fn a_server_that_reads_nothing_delays_no_other_server() {
    let server = Server::start(ServerOptions::new(key()));
    let deaf = one_way_proxy(server.address).await;
    let options = PoolOptions {
        in_flight_max: 4,
        deadline: Duration::from_millis(200),
        ..pool_options(deaf, 1)
    };
    let pool = Arc::new(Pool::start(options));
    let long = "x".repeat(100_000);
    for _ in 0..50 {
        // A cancelled call leaves its frame and its cancellation in the send queue.
        let call = Call::SignIn(SignIn {
            username: long.clone(),
            password: Password::parse("password", "x".to_owned()).unwrap(),
            from: None,
            agent: String::new(),
            device: None,
        });
        let asked = timeout(Duration::from_millis(5), pool.call(call)).await;
        assert!(asked.is_err() || asked.is_ok_and(|outcome| is_unavailable(&outcome)));
    }
    let healthy = server.pool(1);
    assert_eq!(ask(&healthy, "ada").await.unwrap(), "ada", "the thread is not blocked");
    assert!(is_unavailable(&ask(&*pool, "ada").await));
}

#[tokio::test]
async fn past_its_limits_a_pool_refuses_at_once() {
    let server = Server::start(ServerOptions::new(key()));
    let options = PoolOptions { in_flight_max: 2, waiting_max: 1, ..server.pool_options(1) };
    let pool = Arc::new(Pool::start(options));
    let calls: Vec<_> = (0..3).map(|_| wait_apart(&pool)).collect();
    until("two are in flight", || server.echo.under_way.load(Ordering::SeqCst) == 2).await;
    assert!(is_unavailable(&ask(&*pool, "ada").await));
    server.echo.leaves.add_permits(3);
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
    assert_eq!(ask(&*pool, "ada").await.unwrap(), "ada");
}

#[tokio::test]
async fn cancelled_calls_free_their_permits_at_once() {
    let server = Server::start(ServerOptions::new(key()));
    let pool = server.pool(1);
    for _ in 0..10 {
        let given_up = join_all((0..64).map(|_| wait(&pool)));
        tokio::select! {
            answers = given_up => panic!("{answers:?}"),
            () = until("all are in flight", || server.echo.under_way.load(Ordering::SeqCst) == 64) => {}
        }
        ask_at_once(&pool, 64).await;
    }
}

/// The seed had this defect: a failed call kept its connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_twenty_times_the_number_of_places_leak_none() {
    const PLACES: usize = 8;
    let server = Server::start(ServerOptions::new(key()));
    let options = PoolOptions {
        in_flight_max: 2,
        deadline: Duration::from_millis(400),
        ..server.pool_options(PLACES / 2)
    };
    let pool = Arc::new(Pool::start(options));
    until("all are connected", || pool.connected() == PLACES / 2).await;
    for _ in 0..5 {
        let calls = (0..4 * PLACES).map(|number| tokio::spawn(fails(Arc::clone(&pool), number)));
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
    }
    until("nothing is in flight", || server.echo.under_way.load(Ordering::SeqCst) == 0).await;
    assert_eq!(pool.connected(), PLACES / 2);
    server.echo.leaves.add_permits(PLACES);
    let calls: Vec<_> = (0..PLACES).map(|_| wait_apart(&pool)).collect();
    for call in calls {
        assert!(call.await.unwrap().is_ok(), "every place is free");
    }
}

/// A call that fails in one of three ways.
async fn fails(pool: Arc<Pool>, number: usize) {
    match number % 3 {
        0 => assert!(is_unavailable(&wait(&*pool).await), "it times out"),
        // The caller gives up.
        1 => drop(timeout(Duration::from_millis(5), wait(&*pool)).await),
        // The server fails, or the call times out.
        _ => {
            let export =
                Call::Own { session: SessionDigest::of("x"), call: OwnAccountCall::Export };
            assert!(pool.call(export).await.is_err());
        }
    }
}
