//! TLS between the tiers: only peers with the right certificate are accepted.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use lodge_wire::{ClientTls, Identity, Pool, PoolOptions, ServerOptions, ServerTls, SharedKey};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType, date_time_ymd};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    version::{TLS12, TLS13},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::{
    limits::closing_greeting,
    support::{
        Counted, Server, ask, ask_at_once, is_unavailable, key, pool_options, said_by, until,
    },
};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Years in which a certificate expires.
const LATER: i32 = 2100;
const PAST: i32 = 2020;

/// The counter of failed handshakes.
const FAILED: &str = "lodge_wire_hellos_failed_total";

/// A certificate authority for a test.
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

    /// Issues a certificate for this address, valid until this year.
    fn identity(&self, address: IpAddr, until: i32) -> Identity {
        let (certificate, key) = self.signed(address, until);
        Identity::read(certificate.as_bytes(), key.as_bytes()).unwrap()
    }

    /// Issues a certificate as PEM, with its key.
    fn signed(&self, address: IpAddr, until: i32) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.subject_alt_names = vec![SanType::IpAddress(address)];
        params.not_before = date_time_ymd(2010, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// Configures a client that trusts this authority and presents `identity`.
    pub(crate) fn client(&self, identity: Option<Identity>) -> ClientTls {
        ClientTls::new(Some(self.root.as_bytes()), identity).unwrap()
    }

    /// Configures a server with a valid certificate; `asks` requires client certificates of this authority.
    pub(crate) fn server(&self, asks: bool) -> ServerTls {
        let clients = asks.then_some(self.root.as_bytes());
        ServerTls::new(self.identity(HERE, LATER), clients).unwrap()
    }
}

fn pool(server: &Server, key: SharedKey, tls: ClientTls) -> Pool {
    let tls = Some(tls);
    Pool::start(PoolOptions { key, tls, ..server.pool_options(1) })
}

/// Waits until the pool is connected, and makes a call.
async fn is_let_in(pool: &Pool) {
    until("it is accepted", || pool.connected() == 1).await;
    assert_eq!(ask(pool, "ada").await.unwrap(), "ada");
}

/// Options of a server with a valid certificate; `asks` requires client certificates.
fn with_tls(authority: &Authority, asks: bool) -> ServerOptions {
    ServerOptions { tls: Some(authority.server(asks)), ..ServerOptions::new(key()) }
}

/// A server with mutual TLS and no key.
fn by_certificate(authority: &Authority) -> Server {
    Server::start(ServerOptions { key: SharedKey::none(), ..with_tls(authority, true) })
}

#[tokio::test]
async fn a_client_with_the_right_certificate_is_accepted() {
    let authority = Authority::new();
    let server = by_certificate(&authority);
    let client = authority.client(Some(authority.identity(ELSEWHERE, LATER)));
    let pool = pool(&server, SharedKey::none(), client);
    is_let_in(&pool).await;
    ask_at_once(&pool, 200).await;
}

/// Connects with this key and identity until the server has counted a failed handshake.
async fn is_kept_out(server: &Server, key: SharedKey, tls: ClientTls, what: &str) {
    let pool = pool(server, key, tls);
    until(what, || server.counted.of(FAILED) > 0).await;
    assert!(is_unavailable(&ask(&pool, "ada").await), "{what}");
    assert_eq!(pool.connected(), 0, "{what}");
    assert_eq!(server.echo.answered.load(Ordering::SeqCst), 0, "{what}");
}

#[tokio::test]
async fn a_client_with_no_a_foreign_or_an_expired_certificate_is_refused() {
    let (authority, foreign) = (Authority::new(), Authority::new());
    for (what, shown) in [
        ("none", None),
        ("a foreign one", Some(foreign.identity(HERE, LATER))),
        ("an expired one", Some(authority.identity(HERE, PAST))),
    ] {
        let server = by_certificate(&authority);
        is_kept_out(&server, SharedKey::none(), authority.client(shown), what).await;
    }
}

#[tokio::test]
async fn where_client_certificates_are_required_the_key_is_not_enough() {
    let (authority, foreign) = (Authority::new(), Authority::new());
    for (what, shown) in [("none", None), ("a foreign one", Some(foreign.identity(HERE, LATER)))] {
        let server = Server::start(with_tls(&authority, true));
        is_kept_out(&server, key(), authority.client(shown), what).await;
    }
}

#[tokio::test]
async fn a_server_without_the_right_certificate_is_sent_nothing() {
    let (authority, foreign) = (Authority::new(), Authority::new());
    for (what, (certificate, key_pem), is_good) in [
        ("the right one", authority.signed(HERE, LATER), true),
        ("a foreign one", foreign.signed(HERE, LATER), false),
        ("an expired one", authority.signed(HERE, PAST), false),
        ("another server's", authority.signed(ELSEWHERE, LATER), false),
    ] {
        let met = met_by(acceptor(&certificate, &key_pem, &TLS13), &authority).await;
        // The handshake only completes with the client's last message; before it the client sends no data.
        assert_eq!(met.is_ok(), is_good, "{what}: {met:?}");
    }
}

/// A TLS server with this certificate and only this version.
fn acceptor(
    certificate: &str,
    key: &str,
    version: &'static SupportedProtocolVersion,
) -> TlsAcceptor {
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_protocol_versions(&[version]).unwrap().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()))
}

/// Returns the result of a handshake with a client that trusts this authority.
async fn met_by(server: TlsAcceptor, trusted: &Authority) -> std::io::Result<()> {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let tls = Some(trusted.client(None));
    let address = listener.local_addr().unwrap();
    let _pool = Pool::start(PoolOptions { tls, ..pool_options(address, 1) });
    let met = async { server.accept(listener.accept().await?.0).await.map(drop) };
    timeout(Duration::from_secs(10), met).await.unwrap()
}

#[tokio::test]
async fn older_tls_versions_are_refused() {
    let authority = Authority::new();
    let (certificate, key_pem) = authority.signed(HERE, LATER);
    let met = met_by(acceptor(&certificate, &key_pem, &TLS12), &authority).await;
    assert!(met.is_err(), "the client refuses TLS 1.2");
    let server = Server::start(with_tls(&authority, false));
    for (version, is_good) in [(&TLS13, true), (&TLS12, false)] {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.root.as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_protocol_versions(&[version]).unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let stream = TcpStream::connect(server.address).await.unwrap();
        let met = TlsConnector::from(Arc::new(config)).connect(HERE.into(), stream).await;
        assert_eq!(met.is_ok(), is_good, "{:?}", met.err());
    }
}

#[tokio::test]
async fn within_tls_the_key_is_still_required() {
    let authority = Authority::new();
    for other in [SharedKey::new([8; 32]).unwrap(), SharedKey::none()] {
        let server = Server::start(with_tls(&authority, false));
        is_kept_out(&server, other, authority.client(None), "another key").await;
        is_let_in(&pool(&server, key(), authority.client(None))).await;
    }
}

#[tokio::test]
async fn a_client_without_tls_gets_a_refusal_that_says_so() {
    let authority = Authority::new();
    let handshake_timeout = Duration::from_millis(300);
    let server = Server::start(ServerOptions { handshake_timeout, ..with_tls(&authority, true) });
    // A client that waits for a greeting, as a web process does.
    let greeting = closing_greeting(server.address).await.unwrap();
    assert_eq!(greeting.refused.as_deref(), Some("the server speaks TLS only"));
    // A client that sends first.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let said = said_by(&mut stream).await;
    assert!(String::from_utf8_lossy(&said).contains("TLS only"), "{said:?}");
    let plain = server.pool(1);
    until("a web process is refused, too", || server.counted.of(FAILED) >= 3).await;
    assert!(is_unavailable(&ask(&plain, "ada").await));
    let client = authority.client(Some(authority.identity(HERE, LATER)));
    is_let_in(&pool(&server, key(), client)).await;
}

#[tokio::test]
async fn a_client_with_tls_sends_nothing_without_it() {
    let authority = Authority::new();
    let server = Server::start(ServerOptions::new(key()));
    let dials = Counted::here();
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let tls = Some(authority.client(None));
    let between = listener.local_addr().unwrap();
    let pool = Pool::start(PoolOptions { tls, ..pool_options(between, 1) });
    let (mut client, _) = listener.accept().await.unwrap();
    // The greeting of a server without TLS.
    let mut greeted = TcpStream::connect(server.address).await.unwrap();
    let mut greeting = [0; 64];
    let length = greeted.read(&mut greeting).await.unwrap();
    client.write_all(&greeting[..length]).await.unwrap();
    let said = said_by(&mut client).await;
    assert_eq!(said.first(), Some(&0x16), "a handshake");
    let text = String::from_utf8_lossy(&said);
    assert!(!text.contains("proof") && !text.contains("challenge"), "{text}");
    until("it gives up", || dials.of("lodge_wire_dials_failed_total") > 0).await;
    assert!(is_unavailable(&ask(&pool, "ada").await));
    assert_eq!(pool.connected(), 0);
}

#[tokio::test]
async fn a_partial_tls_handshake_times_out() {
    let authority = Authority::new();
    let handshake_timeout = Duration::from_millis(50);
    let server = Server::start(ServerOptions { handshake_timeout, ..with_tls(&authority, true) });
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&[0x16, 3, 1]).await.unwrap();
    said_by(&mut stream).await;
}
