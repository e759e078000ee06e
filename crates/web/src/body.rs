//! Request bodies, read within limits of length, time and memory.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{
    RequestExt as _,
    body::{Body, Bytes, HttpBody as _},
    extract::{FromRef, FromRequest, Request},
};
use http::StatusCode;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Frame;
use lodge_domain::{Error, links::Caller};
use tokio::time::{sleep, timeout};

use crate::{
    body_budget::{BodyBudget, BodyMemory, BodySender},
    body_buffer::{BodyBuffer, LONG_BYTES},
    context::SiteContext,
    edge::per_key::PerKeyPermit,
    error::Problem,
    request::{self, RequestContext},
};

/// The longest body that any route accepts, in bytes.
pub(crate) const LONGEST_BODY_BYTES: usize = 2 << 20;

/// A body that is announced to be longer gets the share of a verified caller, if it has one: bulk requests.
const VERIFIED_FROM_BYTES: u64 = 128 * 1024;

/// How long a body may stall while memory is scarce.
const STALL: Duration = Duration::from_secs(1);

/// What is read of a long body between two pauses, while several others are read, in bytes.
const PIECE_BYTES: usize = 32 * 1024;

/// Other connections of the thread have their turn in a pause.
const PAUSE: Duration = Duration::from_millis(1);

/// An extractor that buffers the body: within the limit of the route, half of the request timeout, and the memory for
/// bodies in transfer.
pub(crate) struct FullBody(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for FullBody
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, Problem> {
        let site = Arc::<SiteContext>::from_ref(state);
        let announced = request.body().size_hint().lower();
        let client = request::client(request.extensions())?;
        let mut sender = BodySender::unknown(client);
        if announced > VERIFIED_FROM_BYTES {
            let asked: RequestContext = request.extract_parts_with_state(state).await?;
            if let Caller::Owner(_) = asked.caller(&site).await? {
                sender = BodySender::known(client);
            }
        }
        let memory = site.body_budget.begin(sender);
        let time = site.request_timeout / 2;
        let read = Self::read(announced, request.into_limited_body(), memory, time);
        read.await.map(|held| Self(held.bytes))
    }
}

/// A buffered body. It occupies its share of the memory budget until it is dropped.
pub(crate) struct BufferedBody {
    /// The body.
    pub(crate) bytes: Bytes,
    pub(crate) memory: BodyMemory,
    _place: Option<PerKeyPermit<IpAddr>>,
}

impl BufferedBody {
    /// Also holds one of the upload slots of its sender.
    pub(crate) fn keeping(self, place: Option<PerKeyPermit<IpAddr>>) -> Self {
        Self { _place: place, ..self }
    }
}

impl FullBody {
    /// Buffers a body of at most `bytes_max` within `memory`. For handlers that have limits of their own or check the
    /// head first.
    pub(crate) async fn up_to(
        bytes_max: usize,
        site: &SiteContext,
        body: Body,
        memory: BodyMemory,
    ) -> Result<BufferedBody, Problem> {
        let announced = body.size_hint().lower();
        let limited = Body::new(Limited::new(body, bytes_max));
        Self::read(announced, limited, memory, site.request_timeout / 2).await
    }

    /// Buffers a body within its own length limit, `memory` and `time`.
    pub(crate) async fn read(
        announced: u64,
        limited: Body,
        memory: BodyMemory,
        time: Duration,
    ) -> Result<BufferedBody, Problem> {
        if let Some(limit) = limited.size_hint().upper().filter(|limit| announced > *limit) {
            return Err(too_large(limit));
        }
        let read = read_within(limited, memory);
        timeout(time, read).await.unwrap_or_else(|_| Err(late()))
    }
}

/// Buffers a body and takes memory only for the bytes received, so that a stalled body occupies little.
async fn read_within(mut body: Body, mut memory: BodyMemory) -> Result<BufferedBody, Problem> {
    let bytes_max = body.size_hint().upper().unwrap_or(u64::MAX);
    let room = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let (mut whole, mut since_pause) = (BodyBuffer::default(), 0);
    let (budget, mut long) = (Arc::clone(memory.budget()), None);
    while let Some(frame) = next_frame(&mut body, &budget, bytes_max).await? {
        let Ok(data) = frame.into_data() else { continue };
        let length = whole.len() + data.len();
        memory.grow_to(length)?;
        whole.push(&data, room).map_err(Error::unavailable)?;
        if length <= LONG_BYTES {
            continue;
        }
        long.get_or_insert_with(|| budget.begin_long());
        since_pause += data.len();
        if since_pause >= PIECE_BYTES && budget.has_many_long() {
            sleep(PAUSE).await;
            since_pause = 0;
        }
    }
    Ok(BufferedBody { bytes: whole.freeze(), memory, _place: None })
}

/// Waits for the next frame; while memory is scarce, not for long.
async fn next_frame(
    body: &mut Body,
    budget: &BodyBudget,
    bytes_max: u64,
) -> Result<Option<Frame<Bytes>>, Problem> {
    loop {
        match timeout(STALL, body.frame()).await {
            Ok(frame) => return frame.transpose().map_err(|error| unreadable(error, bytes_max)),
            Err(_) if budget.is_scarce() => return Err(late()),
            Err(_) => {}
        }
    }
}

fn late() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "the body was not received within the time limit")
}

fn unreadable(error: axum::Error, bytes_max: u64) -> Problem {
    if error.into_inner().is::<LengthLimitError>() {
        return too_large(bytes_max);
    }
    Problem::new(StatusCode::BAD_REQUEST, "the body ended early or is malformed")
}

fn too_large(bytes_max: u64) -> Problem {
    let detail = format!("the body is larger than this route accepts: at most {bytes_max} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use tokio::time::Instant;

    use super::*;
    use crate::body_budget::Shares;

    const KIB: usize = 1024;

    /// A body of `bytes` in frames.
    fn body(bytes: usize, frame_bytes: usize) -> Body {
        let all = vec![1; bytes];
        let frames: Vec<_> = all.chunks(frame_bytes).map(Bytes::copy_from_slice).collect();
        let body = Body::from_stream(stream::iter(frames.into_iter().map(Ok::<_, Infallible>)));
        Body::new(Limited::new(body, LONGEST_BODY_BYTES))
    }

    /// The time that reading a body takes beside `others` long ones.
    async fn time_for(bytes: usize, frame_bytes: usize, others: usize) -> Duration {
        let budget = BodyBudget::new(8 * KIB, Shares::USUAL);
        let _others: Vec<_> = (0..others).map(|_| budget.begin_long()).collect();
        let memory = budget.begin(BodySender::limited_elsewhere());
        let began = Instant::now();
        let body = body(bytes, frame_bytes);
        let read = read_within(body, memory).await.ok().unwrap();
        assert!(read.bytes.len() == bytes && read.bytes.iter().all(|byte| *byte == 1));
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn many_long_bodies_leave_time_to_other_requests() {
        for frame_bytes in [KIB, PIECE_BYTES] {
            assert_eq!(time_for(LONG_BYTES, frame_bytes, 40).await, Duration::ZERO);
            assert_eq!(time_for(KIB * KIB, frame_bytes, 4).await, Duration::ZERO);
            let pauses = (KIB * KIB - LONG_BYTES) / PIECE_BYTES;
            let slow = time_for(KIB * KIB, frame_bytes, 40).await;
            let expected = PAUSE * u32::try_from(pauses).unwrap();
            assert!((expected..expected * 3).contains(&slow), "{frame_bytes}: {slow:?}");
        }
    }
}
