//! Request bodies, read within limits of length, time and memory.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{
    RequestExt as _,
    body::{Body, Bytes, HttpBody as _},
    extract::{FromRef, FromRequest, Request},
};
use bytes::BytesMut;
use http::StatusCode;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use lodge_domain::Error;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::{context::SiteContext, edge::per_key::PerKeyPermit, error::Problem};

/// The longest body that any route accepts, in bytes.
pub(crate) const LONGEST_BODY_BYTES: usize = 2 << 20;

/// An extractor that buffers the body: within the limit of the route, half of the request timeout, and the memory for
/// bodies in transfer.
pub(crate) struct FullBody(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for FullBody
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let site = Arc::<SiteContext>::from_ref(state);
        let announced = request.body().size_hint().lower();
        let time = site.request_timeout / 2;
        let read = Self::read(announced, request.into_limited_body(), &site.body_budget, time);
        read.await.map(|held| Self(held.bytes))
    }
}

/// A buffered body. It occupies its share of the memory budget until it is dropped.
pub(crate) struct BufferedBody<'a> {
    /// The body.
    pub(crate) bytes: Bytes,
    _room: SemaphorePermit<'a>,
    _place: Option<PerKeyPermit<IpAddr>>,
}

impl BufferedBody<'_> {
    /// Also holds one of the upload slots of its sender.
    pub(crate) fn keeping(self, place: Option<PerKeyPermit<IpAddr>>) -> Self {
        Self { _place: place, ..self }
    }
}

impl FullBody {
    /// Buffers a body of at most `bytes_max` within the budget `room`, in KiB. For handlers that have limits of their
    /// own or check the head first.
    pub(crate) async fn up_to<'a>(
        bytes_max: usize,
        site: &SiteContext,
        body: Body,
        room: &'a Semaphore,
    ) -> Result<BufferedBody<'a>, Problem> {
        let announced = body.size_hint().lower();
        let limited = Body::new(Limited::new(body, bytes_max));
        Self::read(announced, limited, room, site.request_timeout / 2).await
    }

    /// Buffers a body within its own length limit, the budget `room`, in KiB, and `time`.
    pub(crate) async fn read(
        announced: u64,
        limited: Body,
        room: &Semaphore,
        time: Duration,
    ) -> Result<BufferedBody<'_>, Problem> {
        if limited.size_hint().upper().is_some_and(|limit| announced > limit) {
            return Err(too_large());
        }
        let read = read_within(limited, room);
        timeout(time, read).await.unwrap_or_else(|_| {
            Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "the body was not received within the time limit",
            ))
        })
    }
}

/// Buffers a body and takes budget only for the bytes received, so that a stalled body occupies little.
async fn read_within(mut body: Body, room: &Semaphore) -> Result<BufferedBody<'_>, Problem> {
    let take = |kib: usize| {
        room.try_acquire_many(u32::try_from(kib).unwrap_or(u32::MAX))
            .map_err(|_| Error::unavailable("the budget for request bodies in transfer is used up"))
    };
    let (mut whole, mut taken) = (BytesMut::new(), take(0)?);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(unreadable)?.into_data() else { continue };
        whole.extend_from_slice(&data);
        taken.merge(take(whole.len().div_ceil(1024).saturating_sub(taken.num_permits()))?);
    }
    Ok(BufferedBody { bytes: whole.freeze(), _room: taken, _place: None })
}

fn unreadable(error: axum::Error) -> Problem {
    if error.into_inner().is::<LengthLimitError>() {
        return too_large();
    }
    Problem::new(StatusCode::BAD_REQUEST, "the body ended early or is malformed")
}

fn too_large() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than this route accepts")
}
