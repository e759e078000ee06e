//! Who has not proved the key takes nothing from those who have.

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

/// One who has been greeted and says nothing yet.
type Silent = (TcpStream, raw::Greeting);

async fn silent(server: &Server) -> Silent {
    silent_from(Ipv4Addr::LOCALHOST, server).await
}

/// The same from another address of this machine.
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

/// What comes of doing this so many times, one after the other.
async fn times<T>(count: usize, one: impl AsyncFn() -> T) -> Vec<T> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(one().await);
    }
    all
}

/// The next frame.
async fn heard(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let frame = async {
        let length = stream.read_u32().await?;
        let mut frame = vec![0; length as usize];
        stream.read_exact(&mut frame).await?;
        Ok(frame)
    };
    timeout(Duration::from_secs(10), frame).await.unwrap()
}

/// Whether one who proves the key now is let in.
async fn is_welcome(silent: &mut Silent) -> bool {
    matches!(proves(silent, KEY).await, Ok(raw::Verdict::Welcome(_)))
}

/// What the server says to one who proves that they have a key.
async fn proves((stream, greeting): &mut Silent, key: [u8; 32]) -> std::io::Result<raw::Verdict> {
    let ours = [1; 32];
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(b"lodge wire client");
    mac.update(&greeting.challenge.0);
    mac.update(&ours);
    let answered = raw::Answered {
        version: greeting.versions[0],
        challenge: raw::Bytes32(ours),
        proof: raw::Bytes32(mac.finalize().into_bytes().into()),
    };
    let frame = serde_json::to_vec(&answered).unwrap();
    stream.write_u32(u32::try_from(frame.len()).unwrap()).await.unwrap();
    stream.write_all(&frame).await.unwrap();
    Ok(serde_json::from_slice(&heard(stream).await?)?)
}

/// Whether the server closes it.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let read = timeout(Duration::from_secs(10), stream.read(&mut [0])).await;
    matches!(read, Ok(Ok(0) | Err(_)))
}

#[tokio::test]
async fn strangers_take_no_place_from_who_has_the_key() {
    let server = Server::start(patient());
    let _strangers = times(100, async || silent(&server).await).await;
    let redial = (Duration::from_millis(10), Duration::from_millis(50));
    let pool = Pool::start(PoolOptions { redial, ..server.pool_options(4) });
    until("who has the key has all places", || pool.connected() == 4).await;
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    // With all places taken, they are told so and closed.
    let _refused = times(100, async || TcpStream::connect(server.address).await.unwrap()).await;
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    assert_eq!(pool.connected(), 4);
}

#[tokio::test]
async fn of_too_many_strangers_the_oldest_goes() {
    let server = Server::start(ServerOptions { connections_max: STRANGERS, ..patient() });
    let strangers = times(STRANGERS, async || silent(&server).await).await;
    let mut strangers = VecDeque::from(strangers);
    for number in 0..STRANGERS {
        strangers.push_back(silent(&server).await);
        let mut oldest = strangers.pop_front().unwrap();
        assert!(is_closed(&mut oldest.0).await, "{number}");
    }
    for stranger in &mut strangers {
        assert!(is_welcome(stranger).await, "the others are there still, and are heard");
    }
}

/// The second address of this machine that everybody may connect from.
const FLOOD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

#[tokio::test]
async fn a_flood_from_one_address_keeps_nobody_else_out() {
    let server = Server::start(patient());
    let mut slow = silent(&server).await;
    let _flood = times(10 * STRANGERS, async || silent_from(FLOOD, &server).await).await;
    assert!(is_welcome(&mut slow).await, "who was slow is there still");
    drop(slow);
    // All places of strangers are the flood's, and it goes on, as fast as it is greeted.
    let address = server.address;
    let goes_on = tokio::spawn(async move {
        let mut newest_first = VecDeque::new();
        loop {
            let mut next = connect_from(FLOOD, address).await;
            // Once all places are taken, nothing may be said.
            let _ = heard(&mut next).await;
            newest_first.push_front(next);
            newest_first.truncate(2 * STRANGERS);
        }
    });
    let pool = server.pool(4);
    until("who has the key is let in", || pool.connected() == 4).await;
    assert!(!goes_on.is_finished());
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
    goes_on.abort();
}

/// To refuse somebody takes TLS, for which they may let us wait.
#[tokio::test]
async fn the_refused_have_no_more_places_than_strangers() {
    let authority = Authority::new();
    let tls = Some(authority.server(false));
    let server = Server::start(ServerOptions { connections_max: 1, tls, ..patient() });
    let pool =
        Pool::start(PoolOptions { tls: Some(authority.client(None)), ..server.pool_options(1) });
    until("the only place is taken", || pool.connected() == 1).await;
    let connect = async || TcpStream::connect(server.address).await.unwrap();
    let refused = times(STRANGERS, connect).await;
    for _ in 0..100 {
        assert!(is_closed(&mut connect().await).await);
    }
    for mut stream in refused {
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let said = said_by(&mut stream).await;
        assert!(String::from_utf8_lossy(&said).contains("TLS only"), "it was waited for");
    }
    assert_eq!(ask(&pool, "ada").await.unwrap(), "ada");
}

#[tokio::test]
async fn a_stranger_who_says_nothing_is_not_waited_for() {
    let hello = Duration::from_millis(50);
    let server = Server::start(ServerOptions { hello, ..patient() });
    let (mut stranger, _) = silent(&server).await;
    // Slowly is no way around.
    stranger.write_all(&[0, 0]).await.unwrap();
    assert!(is_closed(&mut stranger).await);
}

#[tokio::test]
async fn who_only_looks_whether_somebody_listens_has_failed_in_nothing() {
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
    assert_eq!(counted.of("lodge_wire_hellos_failed_total"), 1, "who says half a word has");
}

#[tokio::test]
async fn who_has_the_key_and_finds_no_place_is_refused_and_has_not_failed() {
    let server = Server::start(ServerOptions { connections_max: 1, ..patient() });
    let (mut first, mut second) = (silent(&server).await, silent(&server).await);
    let mut stranger = silent(&server).await;
    let counted = || {
        ["lodge_wire_connections_refused_total", "lodge_wire_hellos_failed_total"]
            .map(|name| server.counted.of(name))
    };
    assert!(is_welcome(&mut first).await);
    let refused = proves(&mut second, KEY).await;
    assert!(matches!(refused, Ok(raw::Verdict::Refused(_))), "{refused:?}");
    until("it is counted", || counted() == [1, 0]).await;
    let refused = proves(&mut stranger, [8; 32]).await;
    assert!(matches!(refused, Ok(raw::Verdict::Refused(_))), "{refused:?}");
    until("it is counted", || counted() == [1, 1]).await;
    // With no place left nobody is asked for the key.
    let (_stream, greeting) = silent(&server).await;
    assert!(greeting.refused.is_some());
    assert_eq!(counted(), [2, 1]);
}
