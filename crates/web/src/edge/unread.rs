//! Bodies that a handler did not read to their end.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes};
use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::timeout;

/// The largest rest of a body that is read to keep its connection, in bytes.
const REST_BYTES_MAX: usize = 128 * 1024;

/// How long to wait for the rest of a body.
const REST_TIMEOUT: Duration = Duration::from_millis(250);

/// The rest of the body of a request that was answered early.
///
/// The HTTP server closes a connection with an unread body. A client that was not told so sends its next request on it,
/// and gets no response. So a short rest is read, and the end of the connection is announced otherwise.
pub(crate) struct UnreadBody {
    rest: Arc<Mutex<Option<Body>>>,
    /// Whether the client sends the body without being asked to.
    comes: bool,
}

impl UnreadBody {
    /// Observes the body of `request`; `None` if it has none.
    pub(crate) fn observe(request: &mut Request<Body>) -> Option<Self> {
        if request.body().is_end_stream() {
            return None;
        }
        let rest = Arc::new(Mutex::new(None));
        let body = std::mem::take(request.body_mut());
        *request.body_mut() = Body::new(Observed { body, ended: false, rest: Arc::clone(&rest) });
        Some(Self { rest, comes: !request.headers().contains_key(header::EXPECT) })
    }

    /// Reads what the handler did not read, or announces in its response that the connection closes.
    pub(crate) async fn complete<T>(self, response: &mut http::Response<T>) {
        let Some(rest) = self.rest.lock().take() else { return };
        let is_short = rest.size_hint().lower() <= REST_BYTES_MAX as u64;
        let is_read = async {
            let mut rest = Limited::new(rest, REST_BYTES_MAX);
            while let Some(frame) = rest.frame().await {
                if frame.is_err() {
                    return false;
                }
            }
            true
        };
        if !(self.comes && is_short && timeout(REST_TIMEOUT, is_read).await.unwrap_or(false)) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// A body that is given back when it is dropped before its end.
struct Observed {
    body: Body,
    ended: bool,
    rest: Arc<Mutex<Option<Body>>>,
}

impl HttpBody for Observed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.ended = frame.is_none() || self.body.is_end_stream();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        if !self.ended {
            *self.rest.lock() = Some(std::mem::take(&mut self.body));
        }
    }
}
