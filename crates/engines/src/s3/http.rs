//! The HTTP client of the object store, over hyper and the TLS of all engines.

use std::{error::Error, sync::Arc, time::Duration};

use async_trait::async_trait;
use http_body_util::{BodyExt as _, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect},
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

/// The longest response body, in bytes: a picture, or a page of a list.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// How long an idle connection is kept; servers close theirs later.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// The most idle connections.
const IDLE_MAX: usize = 32;

/// No answer came within [`REQUEST_TIMEOUT`].
#[derive(Debug, thiserror::Error)]
#[error("no answer within {} s", REQUEST_TIMEOUT.as_secs())]
struct TimedOut;

/// A client whose responses are read whole, within a time and a size. Clones share its connections.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    client: Client<HttpsConnector<connect::HttpConnector>, HttpRequestBody>,
}

impl Connector {
    /// Creates a client that trusts servers by `tls`; without it, it speaks only plain HTTP.
    pub(super) fn new(tls: Option<&Tls>) -> Result<Self> {
        let mut tcp = connect::HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        // Without TLS no authority is needed.
        let tls = tls.cloned().unwrap_or_else(|| Tls::trusting(Some(String::new())));
        let config = Arc::unwrap_or_clone(tls.client()?);
        let https = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(https.enable_http1().wrap_connector(tcp));
        Ok(Self { client })
    }

    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.client.request(request).await.map_err(|error| {
            let is_connect = error.is_connect();
            let kind = if is_connect { HttpErrorKind::Connect } else { HttpErrorKind::Interrupted };
            HttpError::new(kind, error)
        })?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(interrupted)?;
        Ok(HttpResponse::from_parts(head, body.to_bytes().into()))
    }
}

fn interrupted(error: Box<dyn Error + Send + Sync>) -> HttpError {
    HttpError::new_boxed(HttpErrorKind::Interrupted, error)
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = timeout(REQUEST_TIMEOUT, self.answer(request)).await;
        answer.unwrap_or_else(|_| Err(HttpError::new(HttpErrorKind::Timeout, TimedOut)))
    }
}
