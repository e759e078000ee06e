//! Bodies of requests, read within limits of length, time and memory.

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

use crate::{context::SiteContext, edge::each::OneOf, error::Problem};

/// The longest body that any route takes, in bytes.
pub(crate) const LONGEST_BODY_BYTES: usize = 2 << 20;

/// A request's whole body, within the route's limit, within half of the request's time, and while there is
/// room for it among the bodies that are on their way.
pub(crate) struct Whole(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for Whole
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let site = Arc::<SiteContext>::from_ref(state);
        let announced = request.body().size_hint().lower();
        let time = site.request_timeout / 2;
        let read = Self::read(announced, request.into_limited_body(), &site.body_room, time);
        read.await.map(|held| Self(held.bytes))
    }
}

/// A body that keeps its room for as long as it is held.
pub(crate) struct Held<'a> {
    /// The body.
    pub(crate) bytes: Bytes,
    _room: SemaphorePermit<'a>,
    _place: Option<OneOf<IpAddr>>,
}

impl Held<'_> {
    /// Keeps one of the places of its sender, too.
    pub(crate) fn keeping(self, place: Option<OneOf<IpAddr>>) -> Self {
        Self { _place: place, ..self }
    }
}

impl Whole {
    /// The body of a request that its handler reads itself, because it has other limits, or looks at the
    /// head first: at most `bytes_max`, while there is `room` for it, in KiB.
    pub(crate) async fn up_to<'a>(
        bytes_max: usize,
        site: &SiteContext,
        body: Body,
        room: &'a Semaphore,
    ) -> Result<Held<'a>, Problem> {
        let announced = body.size_hint().lower();
        let limited = Body::new(Limited::new(body, bytes_max));
        Self::read(announced, limited, room, site.request_timeout / 2).await
    }

    /// Reads a body within its own limit and this time.
    pub(crate) async fn read(
        announced: u64,
        limited: Body,
        room: &Semaphore,
        time: Duration,
    ) -> Result<Held<'_>, Problem> {
        if limited.size_hint().upper().is_some_and(|limit| announced > limit) {
            return Err(too_large());
        }
        let read = read_within(limited, room);
        timeout(time, read).await.unwrap_or_else(|_| {
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"))
        })
    }
}

/// Reads a body as it comes. It takes room for what has come of it: one that stalls keeps little from
/// the others.
async fn read_within(mut body: Body, room: &Semaphore) -> Result<Held<'_>, Problem> {
    let take = |kib: usize| {
        room.try_acquire_many(u32::try_from(kib).unwrap_or(u32::MAX))
            .map_err(|_| Error::unavailable("too many bodies are on their way"))
    };
    let (mut whole, mut taken) = (BytesMut::new(), take(0)?);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(unreadable)?.into_data() else { continue };
        whole.extend_from_slice(&data);
        taken.merge(take(whole.len().div_ceil(1024).saturating_sub(taken.num_permits()))?);
    }
    Ok(Held { bytes: whole.freeze(), _room: taken, _place: None })
}

fn unreadable(error: axum::Error) -> Problem {
    if error.into_inner().is::<LengthLimitError>() {
        return too_large();
    }
    Problem::new(StatusCode::BAD_REQUEST, "the body did not arrive whole")
}

fn too_large() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than this route takes")
}
