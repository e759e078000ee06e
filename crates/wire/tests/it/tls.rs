//! TLS between the tiers: who shows the right certificate is let in, and nobody else.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use lodge_wire::{ClientTls, Identity, Pool, PoolOptions, ServerOptions, ServerTls, SharedKey};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType, date_time_ymd};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    limits::what_a_stranger_is_told,
    support::{Server, ask, is_unavailable, key, until},
};

pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Years in which a certificate ends.
pub(crate) const LATER: i32 = 2100;
const PAST: i32 = 2020;

/// An authority made up for a test.
pub(crate) struct Authority {
    root: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).unwrap().pem();
        Self { root, issuer: Issuer::new(params, key) }
    }

    /// A certificate for that address, good until that year.
    pub(crate) fn identity(&self, address: IpAddr, until: i32) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.subject_alt_names = vec![SanType::IpAddress(address)];
        params.not_before = date_time_ymd(2010, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Identity::read(certificate.as_bytes(), key.serialize_pem().as_bytes()).unwrap()
    }

    /// What a client trusts and shows.
    pub(crate) fn client(&self, identity: Option<Identity>) -> ClientTls {
        ClientTls::new(Some(self.root.as_bytes()), identity).unwrap()
    }

    /// What a server shows, and whether it asks for a certificate of ours.
    pub(crate) fn server(&self, identity: Identity, asks: bool) -> ServerTls {
        let clients = asks.then_some(self.root.as_bytes());
        ServerTls::new(identity, clients).unwrap()
    }
}

fn pool(server: &Server, key: SharedKey, tls: ClientTls) -> Pool {
    let tls = Some(tls);
    Pool::start(PoolOptions { key, tls, ..server.pool_options(1) })
}

/// Waits until the pool stands, and asks.
async fn is_let_in(pool: &Pool) {
    until("it is let in", || pool.connected() == 1).await;
    assert_eq!(ask(pool, "ada").await.unwrap(), "ada");
}

/// A server on which certificates do for a key.
fn by_certificate(authority: &Authority) -> Server {
    let tls = authority.server(authority.identity(HERE, LATER), true);
    Server::start(ServerOptions { tls: Some(tls), ..ServerOptions::new(SharedKey::none()) })
}

#[tokio::test]
async fn the_right_certificate_lets_in() {
    let authority = Authority::new();
    let server = by_certificate(&authority);
    let client = authority.client(Some(authority.identity(ELSEWHERE, LATER)));
    let pool = Arc::new(pool(&server, SharedKey::none(), client));
    is_let_in(&pool).await;
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let pool = Arc::clone(&pool);
            tokio::spawn(async move {
                let name = format!("name-{number}");
                assert_eq!(ask(&*pool, &name).await.unwrap(), name);
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn no_certificate_a_strangers_and_an_expired_one_let_nobody_in() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = by_certificate(&authority);
    for (what, shown) in [
        ("none", None),
        ("a stranger's", Some(stranger.identity(HERE, LATER))),
        ("an expired one", Some(authority.identity(HERE, PAST))),
    ] {
        let pool = pool(&server, SharedKey::none(), authority.client(shown));
        assert!(is_unavailable(&ask(&pool, "ada").await), "{what}");
        assert_eq!(pool.connected(), 0, "{what}");
    }
    assert_eq!(server.echo.answered.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_server_without_the_right_certificate_is_told_nothing() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for (what, shown, is_good) in [
        ("the right one", authority.identity(HERE, LATER), true),
        ("a stranger's", stranger.identity(HERE, LATER), false),
        ("an expired one", authority.identity(HERE, PAST), false),
        ("another server's", authority.identity(ELSEWHERE, LATER), false),
    ] {
        let tls = authority.server(shown, false);
        let server = Server::start(ServerOptions { tls: Some(tls), ..ServerOptions::new(key()) });
        let pool = pool(&server, key(), authority.client(None));
        if is_good {
            is_let_in(&pool).await;
        } else {
            assert!(is_unavailable(&ask(&pool, "ada").await), "{what}");
        }
    }
}

#[tokio::test]
async fn within_tls_the_key_is_needed_still() {
    let authority = Authority::new();
    let tls = authority.server(authority.identity(HERE, LATER), false);
    let server = Server::start(ServerOptions { tls: Some(tls), ..ServerOptions::new(key()) });
    for other in [SharedKey::new([8; 32]).unwrap(), SharedKey::none()] {
        let pool = pool(&server, other, authority.client(None));
        assert!(is_unavailable(&ask(&pool, "ada").await));
    }
    is_let_in(&pool(&server, key(), authority.client(None))).await;
}

#[tokio::test]
async fn who_speaks_no_tls_is_told_to() {
    let authority = Authority::new();
    let tls = authority.server(authority.identity(HERE, LATER), true);
    let hello = Duration::from_millis(300);
    let options = ServerOptions { tls: Some(tls), hello, ..ServerOptions::new(key()) };
    let server = Server::start(options);
    // Who waits for a greeting, as a client of ours does.
    let told = what_a_stranger_is_told(server.address).await.unwrap();
    assert_eq!(told.refused.as_deref(), Some("it speaks TLS only"));
    // Who speaks first.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    timeout(Duration::from_secs(10), stream.read_to_end(&mut said)).await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&said).contains("TLS only"), "{said:?}");
    let plain = server.pool(1);
    assert!(is_unavailable(&ask(&plain, "ada").await));
    let client = authority.client(Some(authority.identity(HERE, LATER)));
    is_let_in(&pool(&server, key(), client)).await;
}

#[tokio::test]
async fn a_client_that_is_to_speak_tls_says_nothing_without() {
    let authority = Authority::new();
    let server = Server::start(ServerOptions::new(key()));
    let pool = pool(&server, key(), authority.client(None));
    assert!(is_unavailable(&ask(&pool, "ada").await));
    assert_eq!(pool.connected(), 0);
}

#[tokio::test]
async fn half_a_handshake_is_not_waited_for() {
    let authority = Authority::new();
    let tls = authority.server(authority.identity(HERE, LATER), true);
    let hello = Duration::from_millis(50);
    let server =
        Server::start(ServerOptions { tls: Some(tls), hello, ..ServerOptions::new(key()) });
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&[0x16, 3, 1]).await.unwrap();
    let read = timeout(Duration::from_secs(10), stream.read_to_end(&mut Vec::new())).await;
    assert!(read.is_ok(), "it is closed");
}
