//! Unauthenticated connections take no capacity from authenticated ones.

use std::{
    collections::VecDeque,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use hmac::{Hmac, KeyInit, Mac};
use lodge_wire::{Pool, PoolOptions, ServerOptions, raw};
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::{
    support::{KEY, Server, ask, key, said_by, until},
    tls::Authority,
};

/// A timeout longer than any test.
const FOR_EVER: Duration = Duration::from_mins(10);

/// The limit of pending handshakes.
const PENDING_MAX: usize = 8;

fn patient() -> ServerOptions {
    ServerOptions {
        connections_max: 4,
        pending_handshakes_max: PENDING_MAX,
        handshake_timeout: FOR_EVER,
        patience: FOR_EVER,
        ..ServerOptions::new(key())
    }
}

/// A connection that has received the greeting and has sent nothing.
type Silent = (TcpStream, raw::ServerHello);

async fn silent(server: &Server) -> Silent {
    silent_from(Ipv4Addr::LOCALHOST, server).await
}

/// As [`silent`], from another address of this machine.
async fn silent_from(from: Ipv4Addr, server: &Server) -> Silent {
    let mut stream = connect_from(from, server.address).await;
    let greeting = heard(&mut stream).await.unwrap();
    (stream, serde_json::from_slice(&greeting).unwrap())
}

async fn connect_from(from: Ipv4Addr, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    socket.connect(server).await.unwrap()
}

/// Runs `one` this many times in sequence and collects the results.
async fn times<T>(count: usize, one: impl AsyncFn() -> T) -> Vec<T> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(one().await);
    }
    all
}

/// Reads the next frame.
async fn heard(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let frame = async {
        let length = stream.read_u32().await?;
        let mut frame = vec![0; length as usize];
        stream.read_exact(&mut frame).await?;
        Ok(frame)
    };
    timeout(Duration::from_secs(10), frame).await.unwrap()
}

/// Whether the server accepts the connection if it proves the key now.
async fn is_welcome(silent: &mut Silent) -> bool {
    matches!(proves(silent, KEY).await, Ok(raw::HandshakeResult::Welcome(_)))
}

/// Proves a key and returns the server's verdict.
async fn proves(
    (stream, greeting): &mut Silent,
    key: [u8; 32],
) -> std::io::Result<raw::HandshakeResult> {
    let ours = [1; 32];
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(b"lodge wire client");
    mac.update(&greeting.challenge.0);
    mac.update(&ours);
    let answered = raw::ClientHello {
        version: greeting.versions[0],
        challenge: raw::Bytes32(ours),
        proof: raw::Bytes32(mac.finalize().into_bytes().into()),
    };
    let frame = serde_json::to_vec(&answered).unwrap();
    stream.write_u32(u32::try_from(frame.len()).unwrap()).await.unwrap();
    stream.write_all(&frame).await.unwrap();
    Ok(serde_json::from_slice(&heard(stream).await?)?)
}

/// Whether the server closes the connection.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let read = timeout(Duration::from_secs(10), stream.read(&mut [0])).await;
    matches!(read, Ok(Ok(0) | Err(_)))
}

#[tokio::test]
async fn pending_handshakes_take_no_place_from_clients_with_the_key() {
    let server = Server::start(patient());
    let _clients = times(100, async || silent(&server).await).await;
    let redial = (Duration::from_millis(10), Duration::from_millis(50));
    let pool = Pool::start(PoolOptions { redial, ..server.pool_options(4) });
    until("the client with the key has all places", || pool.connected() == 4).await;
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    // With all places taken, connections are refused and closed.
    let _refused = times(100, async || TcpStream::connect(server.address).await.unwrap()).await;
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    assert_eq!(pool.connected(), 4);
}

#[tokio::test]
async fn of_too_many_pending_handshakes_the_oldest_is_closed() {
    let server = Server::start(ServerOptions { connections_max: PENDING_MAX, ..patient() });
    let clients = times(PENDING_MAX, async || silent(&server).await).await;
    let mut clients = VecDeque::from(clients);
    for number in 0..PENDING_MAX {
        clients.push_back(silent(&server).await);
        let mut oldest = clients.pop_front().unwrap();
        assert!(is_closed(&mut oldest.0).await, "{number}");
    }
    for client in &mut clients {
        assert!(is_welcome(client).await, "newer ones are still open and accepted");
    }
}

/// A second loopback address, from which any process can connect.
const FLOOD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

#[tokio::test]
async fn a_flood_from_one_address_keeps_no_other_address_out() {
    let server = Server::start(patient());
    let mut slow = silent(&server).await;
    let _flood = times(10 * PENDING_MAX, async || silent_from(FLOOD, &server).await).await;
    assert!(is_welcome(&mut slow).await, "the slow connection is still open");
    drop(slow);
    // The flood holds all pending handshakes and continues as fast as it gets greetings.
    let address = server.address;
    let goes_on = tokio::spawn(async move {
        let mut newest_first = VecDeque::new();
        loop {
            let mut next = connect_from(FLOOD, address).await;
            // Once all places are taken, the server may send nothing.
            let _ = heard(&mut next).await;
            newest_first.push_front(next);
            newest_first.truncate(2 * PENDING_MAX);
        }
    });
    let pool = server.pool(4);
    until("the client with the key is accepted", || pool.connected() == 4).await;
    assert!(!goes_on.is_finished());
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    goes_on.abort();
}

/// A refusal needs a TLS handshake, which a client can delay.
#[tokio::test]
async fn refusals_count_against_the_limit_of_pending_handshakes() {
    let authority = Authority::new();
    let tls = Some(authority.server(false));
    let server = Server::start(ServerOptions { connections_max: 1, tls, ..patient() });
    let pool =
        Pool::start(PoolOptions { tls: Some(authority.client(None)), ..server.pool_options(1) });
    until("the only place is taken", || pool.connected() == 1).await;
    let connect = async || TcpStream::connect(server.address).await.unwrap();
    let refused = times(PENDING_MAX, connect).await;
    for _ in 0..100 {
        assert!(is_closed(&mut connect().await).await);
    }
    for mut stream in refused {
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let said = said_by(&mut stream).await;
        assert!(String::from_utf8_lossy(&said).contains("TLS only"), "it gets the refusal");
    }
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
}

#[tokio::test]
async fn a_handshake_without_a_frame_times_out() {
    let handshake_timeout = Duration::from_millis(50);
    let server = Server::start(ServerOptions { handshake_timeout, ..patient() });
    let (mut client, _) = silent(&server).await;
    // A partial frame does not extend the timeout.
    client.write_all(&[0, 0]).await.unwrap();
    assert!(is_closed(&mut client).await);
}

#[tokio::test]
async fn a_probe_of_the_port_is_not_counted_as_a_failed_handshake() {
    let server = Server::start(patient());
    for _ in 0..20 {
        drop(TcpStream::connect(server.address).await.unwrap());
        drop(silent(&server).await);
    }
    let (mut half, _) = silent(&server).await;
    half.write_all(&[0, 0]).await.unwrap();
    half.shutdown().await.unwrap();
    assert!(is_closed(&mut half).await);
    let counted = server.counted;
    server.stop().await;
    assert_eq!(
        counted.of("lodge_wire_hellos_failed_total"),
        1,
        "a partial frame is a failed handshake"
    );
}

#[tokio::test]
async fn a_client_with_the_key_past_the_limit_is_refused_but_not_counted_as_failed() {
    let server = Server::start(ServerOptions { connections_max: 1, ..patient() });
    let (mut first, mut second) = (silent(&server).await, silent(&server).await);
    let mut client = silent(&server).await;
    let counted = || {
        ["lodge_wire_connections_refused_total", "lodge_wire_hellos_failed_total"]
            .map(|name| server.counted.of(name))
    };
    assert!(is_welcome(&mut first).await);
    let refused = proves(&mut second, KEY).await;
    assert!(matches!(refused, Ok(raw::HandshakeResult::Refused(_))), "{refused:?}");
    until("it is counted", || counted() == [1, 0]).await;
    let refused = proves(&mut client, [8; 32]).await;
    assert!(matches!(refused, Ok(raw::HandshakeResult::Refused(_))), "{refused:?}");
    until("it is counted", || counted() == [1, 1]).await;
    // Past the limit the server refuses without asking for the key.
    let (_stream, greeting) = silent(&server).await;
    assert!(greeting.refused.is_some());
    assert_eq!(counted(), [2, 1]);
}
