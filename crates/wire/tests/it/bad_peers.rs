//! Peers that violate the protocol, by mistake or on purpose.

use std::time::Duration;

use lodge_wire::{Pool, PoolOptions, ServerOptions, raw::FRAME_BYTES_MAX};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

use crate::support::{Server, ask, is_unavailable, key, said_by};

/// A server with a short timeout of the handshake.
fn impatient() -> Server {
    let hello = Duration::from_millis(200);
    Server::start(ServerOptions { handshake_timeout: hello, ..ServerOptions::new(key()) })
}

/// Sends bytes and reads until the server closes the connection.
async fn said_to(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    said_by(&mut stream).await
}

#[tokio::test]
async fn garbage_ends_its_connection_and_no_other() {
    let server = impatient();
    let pool = server.pool(1);
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    let too_long = u32::try_from(FRAME_BYTES_MAX + 1).unwrap().to_be_bytes();
    for bytes in [
        b"GET / HTTP/1.1\r\n\r\n".as_slice(),
        b"\0\0\0\x02{}",
        b"\0\0\0\x04null",
        b"\xff\xff\xff\xff",
        &too_long,
        // Half a length, and half a frame: the server waits until its timeout.
        b"\0\0",
        b"\0\0\0\x10{\"version\"",
        b"",
    ] {
        said_to(&server, bytes).await;
        assert_eq!(ask(&pool, "ada").await.unwrap(), "ada", "{bytes:?}");
    }
}

#[tokio::test]
async fn a_call_before_the_key_is_proved_is_not_answered() {
    let server = impatient();
    let call = br#"{"call":{"id":1,"deadline_ms":1000,"call":{"user":"ada"}}}"#;
    let length = u32::try_from(call.len()).unwrap().to_be_bytes();
    let said = said_to(&server, &[&length, call.as_slice()].concat()).await;
    assert!(!String::from_utf8_lossy(&said).contains("answer"));
    assert_eq!(server.echo.answered.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_server_that_sends_nothing_or_garbage_is_not_used() {
    for nonsense in
        [b"".as_slice(), b"\0\0\0\x02{}", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff\xff\xff\xff"]
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.write_all(nonsense).await;
                said_by(&mut stream).await;
            }
        });
        let patience = Duration::from_millis(100);
        let pool = Pool::start(PoolOptions { patience, ..PoolOptions::new(vec![address], key()) });
        assert!(is_unavailable(&ask(&pool, "ada").await));
        assert_eq!(pool.connected(), 0);
        server.abort();
    }
}
