//! TLS between the tiers. Both ends are Lodge, so only TLS 1.3 is accepted. Sessions are not resumed, so that
//! certificates are verified on every connection.

use std::{io, net::Ipv4Addr, sync::Arc, time::Duration};

use rustls::{
    CertificateError, ClientConfig, RootCertStore, ServerConfig,
    client::{Resumption, WebPkiServerVerifier, danger::ServerCertVerifier as _},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem, pem::PemObject as _},
    server::{
        NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier,
        danger::ClientCertVerifier,
    },
    version::TLS13,
};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::{
    frame::{self, ConnectionError},
    handshake,
};

/// The first byte of a TLS connection: a handshake record.
const HANDSHAKE: u8 = 0x16;

/// Timeout for sending a refusal to a peer without TLS.
const REFUSAL: Duration = Duration::from_millis(500);

/// Why certificates, keys or authorities are unusable.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The text is not PEM of the expected kind.
    #[error("cannot parse the {0}: {1}")]
    Pem(&'static str, pem::Error),
    /// The PEM has no certificate.
    #[error("no certificate in the {0}")]
    Empty(&'static str),
    /// The machine has no usable root certificates.
    #[error("this machine has no root certificates that can be read")]
    NoRoots(#[source] Option<rustls_native_certs::Error>),
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
    /// The authorities are not usable for client certificates.
    #[error(transparent)]
    Authorities(#[from] VerifierBuilderError),
}

/// The identity of a side: its certificate chain, without the root, and its private key.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Parses the certificate chain, the side's own certificate first, and the key, both in PEM.
    pub fn read(certificates_pem: &[u8], key_pem: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates("certificates", certificates_pem)?;
        let key = PrivateKeyDer::from_pem_slice(key_pem);
        let key = key.map_err(|error| TlsError::Pem("certificate's key", error))?;
        Ok(Self { chain, key })
    }
}

/// The TLS configuration of a server; cheap to clone.
#[derive(derive_more::Debug, Clone)]
#[debug("ServerTls(…)")]
pub struct ServerTls(TlsAcceptor);

impl ServerTls {
    /// Creates a configuration that presents `identity`. With authorities, in PEM, a client must present a
    /// certificate issued by one of them.
    pub fn new(identity: Identity, clients_pem: Option<&[u8]>) -> Result<Self, TlsError> {
        let verifier: Arc<dyn ClientCertVerifier> = match clients_pem {
            None => WebPkiClientVerifier::no_client_auth(),
            Some(pem) => {
                let roots = Arc::new(authorities(pem)?);
                WebPkiClientVerifier::builder_with_provider(roots, provider()).build()?
            }
        };
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(verifier)
            .with_single_cert(identity.chain, identity.key)?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Performs the TLS handshake with a client until `deadline`. A client without TLS gets a refusal in the plain
    /// protocol: it may be a web process that lacks a setting and waits for a greeting.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        deadline: Instant,
    ) -> Result<server::TlsStream<TcpStream>, ConnectionError> {
        let mut first = [0];
        match timeout_at(deadline, stream.peek(&mut first)).await {
            Ok(Ok(0)) => return Err(ConnectionError::Closed),
            Ok(Ok(_)) if first == [HANDSHAKE] => {}
            Ok(Err(error)) => return Err(error.into()),
            Ok(Ok(_)) | Err(_) => {
                refuse_plain(stream).await;
                return Err(ConnectionError::NoTls);
            }
        }
        match timeout_at(deadline, self.0.accept(stream)).await {
            Ok(accepted) => accepted.map_err(ConnectionError::Tls),
            Err(_) => Err(ConnectionError::ReadTimeout),
        }
    }
}

async fn refuse_plain(stream: TcpStream) {
    // Unread input would reset the connection and discard the refusal.
    let _ = stream.try_read(&mut [0; 1024]);
    let (_, mut outgoing) = frame::split(stream);
    let said = handshake::refuse(&mut outgoing, "the server speaks TLS only", REFUSAL);
    // A client that does not read this only sees the connection close.
    let _ = timeout(REFUSAL, said).await;
}

/// The TLS configuration of a client; cheap to clone.
#[derive(derive_more::Debug, Clone)]
#[debug("ClientTls(…)")]
pub struct ClientTls(TlsConnector);

impl ClientTls {
    /// Creates a configuration that trusts servers with a certificate issued by one of these authorities, in PEM, or
    /// by default by one of the machine's. Presents `identity` to servers that request a certificate.
    pub fn new(servers_pem: Option<&[u8]>, identity: Option<Identity>) -> Result<Self, TlsError> {
        let roots = match servers_pem {
            Some(pem) => authorities(pem)?,
            None => of_the_machine()?,
        };
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(roots);
        let mut config = match identity {
            Some(Identity { chain, key }) => config.with_client_auth_cert(chain, key)?,
            None => config.with_no_client_auth(),
        };
        config.resumption = Resumption::disabled();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Performs the TLS handshake with the server at `address`, `host:port`; its certificate must name the host.
    pub(crate) async fn connect(
        &self,
        address: &str,
        stream: TcpStream,
    ) -> Result<client::TlsStream<TcpStream>, ConnectionError> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| ConnectionError::Tls(io::Error::other(error)))?;
        self.0.connect(name, stream).await.map_err(|error| {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
            match cause {
                Some(rustls::Error::InvalidMessage(_)) => ConnectionError::NoTls,
                _ => ConnectionError::Tls(error),
            }
        })
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| TlsError::Pem(what, error))?;
    if read.is_empty() { Err(TlsError::Empty(what)) } else { Ok(read) }
}

/// Returns when the first of these certificates, in PEM, expires, in seconds since 1970.
pub fn certificates_expiry(pem: &[u8]) -> Result<u64, TlsError> {
    let certificates = certificates("certificates", pem)?;
    let ends: Result<Vec<_>, _> = certificates.iter().map(end).collect();
    ends?.into_iter().min().ok_or(TlsError::Empty("certificates"))
}

/// Returns a certificate's expiry. The verifier checks the time first, and its error contains `not_after`.
fn end(certificate: &CertificateDer<'_>) -> Result<u64, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone().into_owned())?;
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build()?;
    let unspecified = ServerName::IpAddress(Ipv4Addr::UNSPECIFIED.into());
    let the_last_day = UnixTime::since_unix_epoch(LAST_DAY);
    match verifier.verify_server_cert(certificate, &[], &unspecified, &[], the_last_day) {
        Err(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
            not_after,
            ..
        })) => Ok(not_after.as_secs()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(LAST_DAY.as_secs()),
    }
}

/// The first day of the year 10000, later than the expiry of any certificate.
const LAST_DAY: Duration = Duration::from_hours(24 * 2_932_897);

fn authorities(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("authorities", pem)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

fn of_the_machine() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "cannot read root certificates of this machine");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(TlsError::NoRoots(found.errors.into_iter().next()));
    }
    Ok(roots)
}
