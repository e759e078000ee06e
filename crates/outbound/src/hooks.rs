//! Webhook deliveries over HTTP, by default to public addresses only.

use std::{
    io,
    net::SocketAddr,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{FutureExt as _, future::BoxFuture};
use http::{HeaderName, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{
        Client,
        connect::{HttpConnector, dns::Name},
    },
    rt::{TokioExecutor, TokioTimer},
};
use lodge_domain::{
    Error, Result,
    board::{Deliver, Delivery, DeliveryOutcome, HookUrl},
};
use rustls::RootCertStore;
use tokio::{
    sync::OnceCell,
    time::{Instant as Deadline, timeout_at},
};
use tower::Service;
use url::{Host, Url};

use crate::{
    addresses::is_public,
    log_text,
    web::{self, USER_AGENT},
};

/// The timeout of a delivery, from the DNS lookup to the last byte that is read of the response.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The most bytes that are read of a response, head and body, so that its connection can be reused.
const HEAD_BYTES_MAX: usize = 16 * 1024;
const BODY_BYTES_MAX: usize = 4 * 1024;

/// How long an idle connection is kept for the next event.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const NOT_PUBLIC: &str =
    "has no public address; the setting board.hooks_private = true allows private ones";

const NOT_ENCRYPTED: &str =
    "must begin with https://; the setting board.hooks_private = true allows http://";

type HookClient = Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>;

/// Sends deliveries over HTTP. No redirect is followed.
pub struct HookSender {
    /// Created by the first delivery: most servers have no hook, and root certificates are many files.
    client: OnceCell<HookClient>,
    private_allowed: bool,
}

fn client(roots: RootCertStore, private_allowed: bool) -> Result<HookClient> {
    let tcp = HttpConnector::new_with_resolver(Resolver { private_allowed });
    let connector = web::connector(tcp, roots, CONNECT_TIMEOUT)?;
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(1)
        .http1_max_buf_size(HEAD_BYTES_MAX)
        .build(connector))
}

impl HookSender {
    /// Creates a sender with this machine's root certificates. Addresses that are not public are refused unless
    /// `private_allowed`.
    pub fn new(private_allowed: bool) -> Self {
        Self { client: OnceCell::new(), private_allowed }
    }

    async fn client(&self) -> Result<&HookClient> {
        let made = async || {
            let roots = tokio::task::spawn_blocking(web::native_roots).await;
            client(roots.map_err(Error::internal)?, self.private_allowed)
        };
        self.client.get_or_try_init(made).await
    }

    /// Returns why nothing is sent to a URL, if it can be told without resolving its name; the connector checks the
    /// addresses of names.
    fn refusal(&self, url: &Url) -> Option<&'static str> {
        if self.private_allowed {
            return None;
        }
        let may_be_public = match url.host() {
            Some(Host::Ipv4(address)) => is_public(address.into()),
            Some(Host::Ipv6(address)) => is_public(address.into()),
            Some(Host::Domain(name)) => !is_local(name),
            None => false,
        };
        match url.scheme() {
            _ if !may_be_public => Some(NOT_PUBLIC),
            "https" => None,
            _ => Some(NOT_ENCRYPTED),
        }
    }

    /// Sends a delivery; returns the response's status, or the error of a failed delivery.
    async fn answer(&self, delivery: Delivery) -> Result<StatusCode, String> {
        let url = Url::parse(delivery.url.as_str()).map_err(|error| error.to_string())?;
        if let Some(why) = self.refusal(&url) {
            return Err(why.to_owned());
        }
        let request = Request::post(url.as_str())
            .header(header::USER_AGENT, USER_AGENT)
            .header(header::CONTENT_TYPE, JSON)
            .header(ID, delivery.id)
            .header(TIMESTAMP, delivery.timestamp_s)
            .header(SIGNATURE, delivery.signature)
            .body(Full::from(delivery.body))
            .map_err(|error| error.to_string())?;
        let client = self.client().await.map_err(|error| log_text::chain(&error))?;
        let deadline = Deadline::now() + DELIVERY_TIMEOUT;
        let (head, body) = match timeout_at(deadline, client.request(request)).await {
            Ok(Ok(response)) => response.into_parts(),
            Ok(Err(error)) => return Err(log_text::chain(&error)),
            Err(_) => return Err(format!("no answer within {} s", DELIVERY_TIMEOUT.as_secs())),
        };
        // The body is ignored, and so is an error in it.
        let _ = timeout_at(deadline, Limited::new(body, BODY_BYTES_MAX).collect()).await;
        Ok(head.status)
    }
}

#[async_trait]
impl Deliver for HookSender {
    fn check(&self, url: &HookUrl) -> Result<()> {
        let url = Url::parse(url.as_str()).map_err(|_| Error::invalid("url", "must be a URL"))?;
        self.refusal(&url).map_or(Ok(()), |why| Err(Error::invalid("url", why)))
    }

    async fn deliver(&self, delivery: Delivery) -> DeliveryOutcome {
        let (began, hook, id) = (Instant::now(), delivery.hook.0, delivery.id.clone());
        let (outcome, delivered) = match self.answer(delivery).await {
            Ok(status) if status.is_success() => ("taken", DeliveryOutcome::Taken),
            Ok(StatusCode::GONE) => ("unwanted", DeliveryOutcome::Unwanted),
            Ok(status) => {
                ("failed", DeliveryOutcome::Failed(format!("the receiver answered {status}")))
            }
            Err(why) => ("failed", DeliveryOutcome::Failed(why)),
        };
        metrics::histogram!("lodge_board_hook_seconds", "outcome" => outcome)
            .record(began.elapsed());
        if let DeliveryOutcome::Failed(why) = &delivered {
            tracing::warn!(hook, id, why, "a webhook delivery failed; the event is sent again");
        }
        delivered
    }
}

/// Whether a name denotes this machine, whatever DNS says.
fn is_local(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// Resolves a host for each new connection, and drops addresses that are not allowed.
#[derive(Clone)]
struct Resolver {
    private_allowed: bool,
}

/// The addresses to connect to.
type Addresses = std::vec::IntoIter<SocketAddr>;

impl Service<Name> for Resolver {
    type Response = Addresses;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Addresses>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let private_allowed = self.private_allowed;
        async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let may_be: Vec<_> =
                found.filter(|found| private_allowed || is_public(found.ip())).collect();
            if may_be.is_empty() {
                return Err(io::Error::other(NOT_PUBLIC));
            }
            Ok(may_be.into_iter())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use lodge_domain::{
        OsRandom,
        board::{HookId, HookSecret},
    };
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
        task::JoinHandle,
        time::timeout,
    };

    use super::*;
    use crate::web::tests::{answer, over_tls};

    fn delivery(url: &str) -> Delivery {
        let body = Bytes::from_static(b"{\"type\":\"board.message\"}");
        let id = "lobby/7:42".to_owned();
        Delivery {
            hook: HookId(1),
            url: HookUrl::parse(url).unwrap(),
            signature: HookSecret::draw(&OsRandom).sign(&id, 1_767_225_600, &body),
            id,
            timestamp_s: 1_767_225_600,
            body,
        }
    }

    /// A receiver on this machine that handles the first connection with `answer`, and its URL.
    async fn receiver<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        answer: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) -> (String, JoinHandle<T>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/hook?x=1", listener.local_addr().unwrap());
        let answered = async move { answer(listener.accept().await.unwrap().0).await };
        (url, tokio::spawn(answered))
    }

    /// Reads a whole request, whose body ends with a brace.
    async fn request(stream: &mut TcpStream) -> String {
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            assert!(stream.read_buf(&mut request).await.unwrap() > 0, "the request was cut off");
        }
        String::from_utf8(request).unwrap()
    }

    /// The outcome of a delivery that gets this response.
    async fn answered(answer: impl Into<Vec<u8>>) -> DeliveryOutcome {
        let answer = answer.into();
        let (url, _receiver) = receiver(async move |mut stream: TcpStream| {
            request(&mut stream).await;
            // The client may have closed the connection.
            let _ = stream.write_all(&answer).await;
        })
        .await;
        HookSender::new(true).deliver(delivery(&url)).await
    }

    #[tokio::test]
    async fn a_delivery_carries_its_signature() {
        let (url, got) = receiver(async |mut stream: TcpStream| {
            let request = request(&mut stream).await;
            stream.write_all(&answer("204 No Content", "")).await.unwrap();
            request
        })
        .await;
        let delivery = delivery(&url);
        let taken = HookSender::new(true).deliver(delivery.clone()).await;
        assert_eq!(taken, DeliveryOutcome::Taken);
        let got = got.await.unwrap();
        let (head, body) = got.split_once("\r\n\r\n").unwrap();
        assert_eq!(body.as_bytes(), delivery.body);
        let mut lines = head.lines();
        assert_eq!(lines.next(), Some("POST /hook?x=1 HTTP/1.1"));
        let lines: Vec<_> = lines.collect();
        for line in [
            "content-type: application/json".to_owned(),
            "webhook-id: lobby/7:42".to_owned(),
            "webhook-timestamp: 1767225600".to_owned(),
            format!("webhook-signature: {}", delivery.signature),
        ] {
            assert!(lines.contains(&line.as_str()), "{line} of {lines:#?}");
        }
    }

    #[tokio::test]
    async fn only_a_2xx_status_is_success() {
        for status in ["200 OK", "204 No Content", "299 Fine"] {
            assert_eq!(answered(answer(status, "")).await, DeliveryOutcome::Taken, "{status}");
        }
        assert_eq!(answered(answer("410 Gone", "")).await, DeliveryOutcome::Unwanted);
        for status in
            ["302 Found", "404 Not Found", "429 Too Many Requests", "500 Internal Server Error"]
        {
            let failed = DeliveryOutcome::Failed(format!("the receiver answered {status}"));
            assert_eq!(answered(answer(status, "")).await, failed);
        }
        for broken in ["", "HTTP/1.1 2", "what?\r\n\r\n"] {
            assert!(matches!(answered(broken).await, DeliveryOutcome::Failed(_)), "{broken:?}");
        }
    }

    #[tokio::test]
    async fn no_redirect_is_followed() {
        let elsewhere = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let to = elsewhere.local_addr().unwrap();
        let redirect = answer(&format!("307 Temporary Redirect\r\nLocation: http://{to}/"), "");
        assert!(matches!(answered(redirect).await, DeliveryOutcome::Failed(_)));
        assert!(
            timeout(Duration::ZERO, elsewhere.accept()).await.is_err(),
            "a connection was made"
        );
    }

    #[tokio::test]
    async fn an_endless_response_is_cut_off() {
        let (url, cut_off) = receiver(async |mut stream: TcpStream| {
            request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mut written = 0;
            while stream.write_all(&[b' '; 4096]).await.is_ok() {
                written += 4096;
            }
            written
        })
        .await;
        let sender = HookSender::new(true);
        assert_eq!(sender.deliver(delivery(&url)).await, DeliveryOutcome::Taken);
        // Beside what is read, the kernel buffers some.
        assert!(cut_off.await.unwrap() < 32 << 20);
        let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(2 * HEAD_BYTES_MAX));
        assert!(matches!(answered(long).await, DeliveryOutcome::Failed(_)));
    }

    #[tokio::test]
    async fn nothing_is_sent_to_an_address_that_is_not_public() {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let sender = HookSender::new(false);
        let hosts = "
            127.0.0.1 127.1 0x7f.1 0177.0.0.1 2130706433 %31%32%37.0.0.1 １２７.0.0.1 127.0.0.1.
            0.0.0.0 [::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [64:ff9b::7f00:1] [2002:7f00:1::]
            localhost LOCALHOST localhost. a.localhost";
        for host in hosts.split_whitespace() {
            let url = format!("http://{host}:{port}/{{}}");
            let DeliveryOutcome::Failed(why) = sender.deliver(delivery(&url)).await else {
                panic!("{host} was sent something")
            };
            assert!(why.contains(NOT_PUBLIC), "{host}: {why}");
            let refused = sender.check(&HookUrl::parse(&url).unwrap()).unwrap_err().to_string();
            assert!(refused.contains(NOT_PUBLIC), "{host}: {refused}");
        }
        // Other names are checked when they are resolved.
        let looked_up =
            Resolver { private_allowed: false }.call("localhost".parse().unwrap()).await;
        assert!(looked_up.err().unwrap().to_string().contains(NOT_PUBLIC));
        assert!(timeout(Duration::ZERO, listener.accept()).await.is_err(), "a connection was made");
        let allowed = HookSender::new(true);
        assert!(allowed.check(&HookUrl::parse("http://127.0.0.1/").unwrap()).is_ok());
    }

    #[test]
    fn deliveries_to_public_addresses_are_encrypted() {
        let check = |private_allowed, url| {
            HookSender::new(private_allowed).check(&HookUrl::parse(url).unwrap())
        };
        for url in ["http://example.org/hook", "http://203.0.114.1/", "http://[2600::1]/"] {
            let refused = check(false, url).unwrap_err().to_string();
            assert!(refused.contains(NOT_ENCRYPTED), "{url}: {refused}");
            assert!(check(true, url).is_ok(), "{url}");
        }
        assert!(check(false, "https://example.org/hook").is_ok());
    }

    #[tokio::test]
    async fn a_delivery_over_tls_needs_a_trusted_certificate() {
        let (port, roots) = over_tls().await;
        let sent = async |roots: RootCertStore, host: &str| {
            let client = OnceCell::new_with(Some(client(roots, true).unwrap()));
            let sender = HookSender { client, private_allowed: true };
            sender.deliver(delivery(&format!("https://{host}:{port}/"))).await
        };
        assert_eq!(sent(roots.clone(), "127.0.0.1").await, DeliveryOutcome::Taken);
        assert!(
            matches!(sent(roots, "localhost").await, DeliveryOutcome::Failed(_)),
            "another name"
        );
        let untrusted = sent(RootCertStore::empty(), "127.0.0.1").await;
        assert!(matches!(untrusted, DeliveryOutcome::Failed(_)), "no authority");
    }
}
