//! Servers that stop and restart.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use lodge_wire::{Pool, PoolOptions, ServerOptions};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

use crate::support::{Server, ask, is_unavailable, key, pool_options, until, wait_apart};

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
