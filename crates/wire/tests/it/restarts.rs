//! Servers that stop and restart.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use lodge_domain::accounts::{Backend as _, Call, OwnAccountCall, SessionDigest};
use lodge_wire::{Pool, PoolOptions, ServerOptions};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

use crate::support::{
    Server, ask, is_unavailable, key, one_way_proxy, pool_options, until, wait_apart,
};

#[tokio::test]
async fn a_pool_reconnects_after_a_crash() {
    let server = Server::start(ServerOptions::new(key()));
    let address = server.address;
    let redial = (Duration::from_millis(10), Duration::from_millis(50));
    let pool = Pool::start(PoolOptions { redial, ..server.pool_options(2) });
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    server.kill();
    until("the crash is noticed", || pool.connected() == 0).await;
    assert!(is_unavailable(&ask(&pool, "ada").await));
    let _server = Server::start_at(address, ServerOptions::new(key()));
    until("the pool is connected again", || pool.connected() == 2).await;
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
}

#[tokio::test]
async fn a_server_that_stops_answers_the_calls_in_flight() {
    let server = Server::start(ServerOptions::new(key()));
    let pool = Arc::new(server.pool(1));
    let asked = wait_apart(&pool);
    until("it is in flight", || server.echo.under_way.load(Ordering::SeqCst) == 1).await;
    server.begin_to_stop();
    server.echo.leaves.add_permits(1);
    assert!(asked.await.unwrap().is_ok());
    server.stop().await;
}

#[tokio::test]
async fn calls_go_to_the_server_that_is_running() {
    let (one, other) =
        (Server::start(ServerOptions::new(key())), Server::start(ServerOptions::new(key())));
    let servers = vec![one.address.to_string(), other.address.to_string()];
    let redial = (Duration::from_millis(10), Duration::from_millis(50));
    let options = PoolOptions { connections: 4, redial, ..PoolOptions::new(servers, key()) };
    let pool = Pool::start(options);
    until("all are connected", || pool.connected() == 4).await;
    one.stop().await;
    for _ in 0..100 {
        assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    }
    until("all are connected again", || pool.connected() == 4).await;
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
}

/// A pool with two connections to each of two servers.
fn pool_of(servers: [&Server; 2], options: PoolOptions) -> Arc<Pool> {
    let servers = servers.map(|server| server.address.to_string()).into();
    let redial = (Duration::from_millis(10), Duration::from_millis(50));
    Arc::new(Pool::start(PoolOptions { servers, connections: 4, redial, ..options }))
}

fn options() -> PoolOptions {
    PoolOptions::new(Vec::new(), key())
}

#[tokio::test]
async fn calls_of_a_server_that_dies_are_repeated_at_another() {
    let [one, other] = [(); 2].map(|()| Server::start(ServerOptions::new(key())));
    let pool = pool_of([&one, &other], options());
    until("all are connected", || pool.connected() == 4).await;
    let asked: Vec<_> = (0..40).map(|_| wait_apart(&pool)).collect();
    let under_way = |server: &Server| server.echo.under_way.load(Ordering::SeqCst);
    until("all are in flight", || under_way(&one) + under_way(&other) == 40).await;
    assert!(under_way(&one) > 0 && under_way(&other) > 0);
    one.kill();
    other.echo.leaves.add_permits(40);
    for call in asked {
        assert!(call.await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn a_call_that_may_have_ended_a_session_is_not_repeated() {
    let [one, other] = [(); 2].map(|()| Server::start(ServerOptions::new(key())));
    let pool = pool_of([&one, &other], options());
    until("all are connected", || pool.connected() == 4).await;
    let sign_out = || {
        let pool = Arc::clone(&pool);
        let (session, call) = (SessionDigest::of("session"), OwnAccountCall::SignOut);
        tokio::spawn(async move { pool.call(Call::Own { session, call }).await })
    };
    let asked: Vec<_> = (0..40).map(|_| sign_out()).collect();
    let under_way = |server: &Server| server.echo.under_way.load(Ordering::SeqCst);
    until("all are in flight", || under_way(&one) + under_way(&other) == 40).await;
    let lost = under_way(&one);
    one.kill();
    other.echo.leaves.add_permits(40);
    let mut failed = 0;
    for call in asked {
        failed += usize::from(is_unavailable(&call.await.unwrap()));
    }
    assert_eq!((failed, other.echo.answered.load(Ordering::SeqCst)), (lost, 40 - lost));
}

#[tokio::test]
async fn a_server_that_hangs_is_left() {
    let [one, other] = [(); 2].map(|()| Server::start(ServerOptions::new(key())));
    // After the handshake nothing reaches it.
    let hangs = one_way_proxy(one.address).await.to_string();
    let (ping_every, silence_max) = (Duration::from_millis(50), Duration::from_millis(200));
    let servers = vec![hangs, other.address.to_string()];
    let options = PoolOptions { servers, ping_every, silence_max, ..options() };
    let pool = Pool::start(options);
    until("all are connected", || pool.connected() == 4).await;
    for _ in 0..20 {
        assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    }
    assert_eq!(one.echo.answered.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn connections_return_to_a_restarted_server() {
    let [one, other] = [(); 2].map(|()| Server::start(ServerOptions::new(key())));
    let away = Duration::from_millis(100);
    let pool = pool_of([&one, &other], PoolOptions { away, ..options() });
    until("all are connected", || pool.connected() == 4).await;
    let address = one.address;
    one.kill();
    let away = || other.counted.of("lodge_wire_connections") == 4 && pool.connected() == 4;
    until("the second server has all connections", away).await;
    let one = Server::start_at(address, ServerOptions::new(key()));
    let back = || one.counted.of("lodge_wire_connections") == 2 && pool.connected() == 4;
    until("two connections are back", back).await;
    for _ in 0..8 {
        assert_eq!(ask(&*pool, "ada").await.unwrap(), "ada");
    }
    assert!(one.echo.answered.load(Ordering::SeqCst) > 0);
}

#[tokio::test]
async fn a_server_that_drops_every_connection_is_dialled_with_backoff() {
    let idle = Duration::from_millis(1);
    let server = Server::start(ServerOptions { idle, ..ServerOptions::new(key()) });
    let (between, dialled) = counting(server.address).await;
    let redial = (Duration::from_millis(10), Duration::from_mins(1));
    let _pool = Pool::start(PoolOptions { redial, ..pool_options(between, 1) });
    let began = Instant::now();
    until("it is dialled again", || dialled.load(Ordering::SeqCst) >= 8).await;
    // Jitter shortens each of the seven pauses to half at most.
    let least: Duration = (0..7).map(|pause| Duration::from_millis(10 << pause) / 2).sum();
    assert!(began.elapsed() >= least, "{:?}", began.elapsed());
}

/// A proxy to a server that counts connections.
async fn counting(server: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::default()));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut server = TcpStream::connect(server).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
        }
    });
    (address, count)
}
