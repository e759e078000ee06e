//! The HTTP client of the object store, over hyper and the TLS of all engines.

use std::{error::Error, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector as TcpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use lodge_domain::Result;
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
        HttpResponse, HttpService,
    },
};
use tokio::time::timeout;

use crate::Tls;

/// The timeout of a request, from connecting to the last byte of the response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// The timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The longest body of a response, in bytes: a picture, or a page of a list.
const BODY_MAX: usize = 4 << 20;

/// How much of the body of an error is kept, in bytes: it gets into the log.
const ERROR_BODY_MAX: usize = 1 << 10;

/// How long an idle connection is kept; servers close theirs later.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// The most idle connections.
const IDLE_MAX: usize = 32;

#[derive(Debug, thiserror::Error)]
#[error("no response within {} s", REQUEST_TIMEOUT.as_secs())]
struct TimedOut;

/// Apart from a missing object, which is told with the same status.
#[derive(Debug, thiserror::Error)]
#[error("the bucket does not exist")]
struct NoSuchBucket;

/// A client whose responses are read whole, within a time and a size. Clones share its connections.
#[derive(Debug, Clone)]
pub(super) struct S3HttpClient {
    client: Client<HttpsConnector<TcpConnector>, HttpRequestBody>,
}

impl S3HttpClient {
    /// Creates a client that speaks only TLS and trusts servers by `tls`; without it, one for plain HTTP.
    pub(super) fn new(tls: Option<&Tls>) -> Result<Self> {
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let is_plain = tls.is_none();
        // Without TLS no authority is needed.
        let tls = tls.cloned().unwrap_or_else(|| Tls::trusting(Some(String::new())));
        let config = Arc::unwrap_or_clone(tls.client()?);
        let https = HttpsConnectorBuilder::new().with_tls_config(config);
        let https = if is_plain { https.https_or_http() } else { https.https_only() };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(https.enable_http1().wrap_connector(tcp));
        Ok(Self { client })
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.client.request(request).await.map_err(|error| {
            let is_connect = error.is_connect();
            let kind = if is_connect { HttpErrorKind::Connect } else { HttpErrorKind::Interrupted };
            HttpError::new(kind, error)
        })?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, BODY_MAX).collect().await.map_err(unreadable)?.to_bytes();
        if head.status.is_success() {
            return Ok(HttpResponse::from_parts(head, body.into()));
        }
        if says_no_such_bucket(&body) {
            return Err(HttpError::new(HttpErrorKind::Unknown, NoSuchBucket));
        }
        let kept = body.slice(..body.len().min(ERROR_BODY_MAX));
        Ok(HttpResponse::from_parts(head, kept.into()))
    }
}

/// A response that is too long is not requested again.
fn unreadable(error: Box<dyn Error + Send + Sync>) -> HttpError {
    let kind = if error.is::<LengthLimitError>() {
        HttpErrorKind::Decode
    } else {
        HttpErrorKind::Interrupted
    };
    HttpError::new_boxed(kind, error)
}

/// Whether an error has this code
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html#ErrorCodeList>).
fn says_no_such_bucket(body: &Bytes) -> bool {
    const CODE: &[u8] = b"<Code>NoSuchBucket</Code>";
    body.windows(CODE.len()).any(|part| part == CODE)
}

impl HttpConnector for S3HttpClient {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for S3HttpClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = timeout(REQUEST_TIMEOUT, self.send(request)).await;
        response.unwrap_or_else(|_| Err(HttpError::new(HttpErrorKind::Timeout, TimedOut)))
    }
}
