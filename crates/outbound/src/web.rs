//! An HTTPS client with timeouts and size limits.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use lodge_domain::{Error, Result};
use openidconnect::{HttpRequest, HttpResponse};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::time::timeout;
use url::{Host, Url};

/// The timeout of a request, from connecting to the last byte of the response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);

/// The timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest response body, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// How long an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// The most idle connections to one host.
const IDLE_MAX: usize = 4;

/// Some servers refuse requests without a user agent.
pub(crate) const USER_AGENT: HeaderValue = HeaderValue::from_static("Lodge");

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The URL is not allowed.
    #[error("{0} is neither https nor on this machine")]
    NotSecure(String),
    /// The request could not be sent, or the response's head not be read.
    #[error("the request failed")]
    Http(#[from] hyper_util::client::legacy::Error),
    /// The response was cut off, or its body is too long.
    #[error("the response body cannot be read")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The timeout of the request has passed.
    #[error("no answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout,
}

/// The client. Clones share their connections. No redirect is followed.
#[derive(Clone)]
pub(crate) struct HttpClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Whether loopback URLs are allowed without TLS.
    allows_local_http: bool,
    /// Whether there is any root certificate.
    has_roots: bool,
}

impl HttpClient {
    /// Creates a client with this machine's root certificates.
    pub(crate) fn new() -> Result<Self> {
        Self::trusting(native_roots())
    }

    pub(crate) fn trusting(roots: RootCertStore) -> Result<Self> {
        let has_roots = !roots.is_empty();
        let connector = connector(HttpConnector::new(), roots, CONNECT_TIMEOUT)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        Ok(Self { client, allows_local_http: false, has_roots })
    }

    /// A client of the provider with this URL. Only a provider on this machine may name loopback URLs without TLS.
    pub(crate) fn of(&self, url: &Url) -> Self {
        Self { allows_local_http: is_local_http(url), ..self.clone() }
    }

    /// Whether any server can be verified over TLS.
    pub(crate) fn has_roots(&self) -> bool {
        self.has_roots
    }

    /// Whether a request, or a browser, may be sent to a URL.
    pub(crate) fn allows(&self, url: &Url) -> bool {
        url.scheme() == "https" || (self.allows_local_http && is_local_http(url))
    }

    /// Sends a request and returns the whole response.
    pub(crate) async fn send(self, request: HttpRequest) -> Result<HttpResponse, RequestError> {
        let url = request.uri().to_string();
        if !Url::parse(&url).is_ok_and(|url| self.allows(&url)) {
            return Err(RequestError::NotSecure(url));
        }
        timeout(REQUEST_TIMEOUT, self.answer(request)).await.unwrap_or(Err(RequestError::Timeout))
    }

    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, RequestError> {
        let mut request: Request<Full<Bytes>> = request.map(Full::from);
        request.headers_mut().insert(header::USER_AGENT, USER_AGENT);
        let (head, body) = self.client.request(request).await?.into_parts();
        let body =
            Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(RequestError::Body)?;
        Ok(Response::from_parts(head, body.to_bytes().to_vec()))
    }
}

/// This machine's root certificates.
pub(crate) fn native_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "a root certificate of this machine cannot be loaded");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}

/// Creates a connector with the timeout `patience` that trusts `roots`.
pub(crate) fn connector<R>(
    mut tcp: HttpConnector<R>,
    roots: RootCertStore,
    patience: Duration,
) -> Result<HttpsConnector<HttpConnector<R>>> {
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(patience));
    tcp.set_nodelay(true);
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(Error::internal)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    Ok(connector.enable_http1().wrap_connector(tcp))
}

/// Whether a URL is allowed as a provider's issuer or endpoint: https, or http on this machine.
pub fn is_allowed_provider_url(url: &str) -> bool {
    let is_plain = |url: &Url| url.username().is_empty() && url.password().is_none();
    Url::parse(url)
        .is_ok_and(|url| is_plain(&url) && (url.scheme() == "https" || is_local_http(&url)))
}

/// Whether a URL is allowed as an endpoint of the provider with this issuer.
pub fn is_allowed_endpoint(issuer: &str, url: &str) -> bool {
    let is_here = Url::parse(issuer).is_ok_and(|issuer| is_local_http(&issuer));
    let is_https = Url::parse(url).is_ok_and(|url| url.scheme() == "https");
    is_allowed_provider_url(url) && (is_here || is_https)
}

/// Whether a URL is an unencrypted one of this machine.
fn is_local_http(url: &Url) -> bool {
    url.scheme() == "http" && is_loopback(url)
}

/// Whether a URL's host is this machine.
pub fn is_on_this_machine(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| is_loopback(&url))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::Ipv4Addr;

    use http::StatusCode;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};
    use rustls::{ServerConfig, pki_types::PrivatePkcs8KeyDer};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// A response with this status line and further headers, and this body.
    pub(crate) fn answer(head: &str, body: impl AsRef<str>) -> Vec<u8> {
        let body = body.as_ref();
        let length = body.len();
        format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
    }

    /// The URL of a server on this machine that always sends this response.
    pub(crate) async fn answering(answer: impl FnOnce(&str) -> Vec<u8>) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let answer = answer(&origin);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(&answer).await;
            }
        });
        Url::parse(&origin).unwrap()
    }

    /// Sends a request to a server that sends this response.
    async fn asked(answer: Vec<u8>) -> Result<HttpResponse, RequestError> {
        let url = answering(|_| answer).await;
        let request = Request::get(url.as_str()).body(Vec::new()).unwrap();
        HttpClient::new().unwrap().of(&url).send(request).await
    }

    /// A TLS server with a certificate for its address; returns its port and the root certificate.
    pub(crate) async fn over_tls() -> (u16, RootCertStore) {
        let (key, mut params) =
            (KeyPair::generate().unwrap(), CertificateParams::new(Vec::new()).unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let mut roots = RootCertStore::empty();
        roots.add(params.self_signed(&key).unwrap().der().clone()).unwrap();
        let authority = Issuer::new(params, key);
        let (key, mut params) =
            (KeyPair::generate().unwrap(), CertificateParams::new(Vec::new()).unwrap());
        params.subject_alt_names = vec![SanType::IpAddress(Ipv4Addr::LOCALHOST.into())];
        let certificate = params.signed_by(&key, &authority).unwrap();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())
            .unwrap();
        let (acceptor, listener) =
            (TlsAcceptor::from(Arc::new(config)), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(&answer("200 OK", "")).await;
            }
        });
        (port, roots)
    }

    #[tokio::test]
    async fn a_request_over_tls_needs_a_trusted_certificate() {
        let (port, roots) = over_tls().await;
        let asked = async |roots: RootCertStore, host: &str| {
            let url = format!("https://{host}:{port}/");
            HttpClient::trusting(roots)
                .unwrap()
                .send(Request::get(url).body(Vec::new()).unwrap())
                .await
        };
        assert_eq!(asked(roots.clone(), "127.0.0.1").await.unwrap().status(), StatusCode::OK);
        let (_, another) = over_tls().await;
        for (what, roots, host) in [
            ("another authority", another, "127.0.0.1"),
            ("no authority", RootCertStore::empty(), "127.0.0.1"),
            ("another name", roots, "localhost"),
        ] {
            let refused = asked(roots, host).await;
            assert!(matches!(refused, Err(RequestError::Http(_))), "{what}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn a_response_that_is_too_long_is_an_error() {
        let taken = asked(answer("200 OK", " ".repeat(ANSWER_BYTES_MAX))).await.unwrap();
        assert_eq!(taken.body().len(), ANSWER_BYTES_MAX);
        let refused = asked(answer("200 OK", " ".repeat(ANSWER_BYTES_MAX + 1))).await;
        assert!(matches!(refused, Err(RequestError::Body(_))), "{refused:?}");
    }

    #[tokio::test]
    async fn no_redirect_is_followed() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = elsewhere.local_addr().unwrap();
        let taken = asked(answer(&format!("302 Found\r\nLocation: http://{to}/"), "")).await;
        assert_eq!(taken.unwrap().status(), StatusCode::FOUND);
        let came = timeout(Duration::ZERO, elsewhere.accept()).await;
        assert!(came.is_err(), "a connection was made");
    }

    #[test]
    fn only_https_and_local_urls_are_allowed() {
        for url in [
            "https://id.example.org",
            "https://id.example.org:8443/a?b=c",
            "http://127.0.0.1:3000",
            "http://[::1]:3000/x",
            "http://localhost/",
        ] {
            assert!(is_allowed_provider_url(url), "{url}");
        }
        for url in [
            "",
            "id.example.org",
            "http://id.example.org",
            "http://127.0.0.1.example.org",
            "http://localhost.example.org",
            "ftp://127.0.0.1/",
            "javascript:alert(1)",
            "https://name:word@id.example.org",
        ] {
            assert!(!is_allowed_provider_url(url), "{url}");
        }
    }

    #[test]
    fn a_remote_provider_cannot_name_local_endpoints() {
        let web = HttpClient::new().unwrap();
        let url = |text: &str| Url::parse(text).unwrap();
        let (here, there) =
            (web.of(&url("http://127.0.0.1:3000")), web.of(&url("https://id.example.org")));
        let own = url("http://127.0.0.1:9090/token");
        assert!(here.allows(&own) && !there.allows(&own));
        assert!(!there.allows(&url("http://id.example.org/token")));
        assert!(there.allows(&url("https://token.example.org/")));
        for issuer in ["http://127.0.0.1:3000", "https://id.example.org", "https://127.0.0.1"] {
            let web = web.of(&url(issuer));
            for part in ["http://127.0.0.1:9090/token", "https://token.example.org/"] {
                assert_eq!(is_allowed_endpoint(issuer, part), web.allows(&url(part)), "{issuer}");
            }
        }
    }
}
