//! Who has not proved the key takes nothing from those who have.

use std::time::Duration;

use lodge_wire::{PoolOptions, ServerOptions};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{Server, ask, key, until};

/// Longer than any test runs.
const FOR_EVER: Duration = Duration::from_mins(10);

/// Strangers at once.
const STRANGERS: usize = 8;

fn patient() -> ServerOptions {
    ServerOptions {
        connections_max: 4,
        strangers_max: STRANGERS,
        hello: FOR_EVER,
        patience: FOR_EVER,
        ..ServerOptions::new(key())
    }
}

/// One who has been greeted and says nothing.
async fn silent(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let length = timeout(Duration::from_secs(10), stream.read_u32()).await.unwrap().unwrap();
    stream.read_exact(&mut vec![0; length as usize]).await.unwrap();
    stream
}

/// Whether the server closes it.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let read = timeout(Duration::from_secs(10), stream.read(&mut [0])).await;
    matches!(read, Ok(Ok(0) | Err(_)))
}

#[tokio::test]
async fn strangers_take_no_place_from_who_has_the_key() {
    let server = Server::start(patient());
    let mut strangers = Vec::new();
    for _ in 0..100 {
        strangers.push(silent(&server).await);
    }
    let redial = (Duration::from_millis(10), Duration::from_millis(50));
    let options = PoolOptions { redial, ..server.pool_options(4) };
    let pool = lodge_wire::Pool::start(options);
    until("who has the key has all places", || pool.connected() == 4).await;
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    for _ in 0..100 {
        // With all places taken, they are told so and closed.
        strangers.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    assert_eq!(pool.connected(), 4);
}

#[tokio::test]
async fn of_too_many_strangers_the_oldest_goes() {
    let server = Server::start(patient());
    let mut strangers = Vec::new();
    for _ in 0..STRANGERS {
        strangers.push(silent(&server).await);
    }
    for number in 0..STRANGERS {
        strangers.push(silent(&server).await);
        assert!(is_closed(&mut strangers[number]).await, "{number}");
        // The next oldest is there still, and is heard.
        let next = &mut strangers[number + 1];
        assert!(timeout(Duration::from_millis(1), next.read(&mut [0])).await.is_err());
        next.write_all(&[0]).await.unwrap();
    }
}

#[tokio::test]
async fn a_stranger_who_says_nothing_is_not_waited_for() {
    let hello = Duration::from_millis(50);
    let server = Server::start(ServerOptions { hello, ..patient() });
    let mut stranger = silent(&server).await;
    // Slowly is no way around.
    stranger.write_all(&[0, 0]).await.unwrap();
    assert!(is_closed(&mut stranger).await);
}
