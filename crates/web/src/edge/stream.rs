//! Long responses: server-sent events and streamed bodies. Slow readers are cut off by the write timeout of the
//! listener, as for any response.

use std::{convert::Infallible, future::ready, net::IpAddr, sync::Arc, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderName, HeaderValue, header};
use lodge_domain::{Error, Result};
use metrics::Gauge;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::yield_now,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    address::Client,
    per_key::{PerKeyLimit, PerKeyPermit},
};

/// The heartbeat interval of an idle stream: less than the timeouts of proxies and of our pages.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// A named event, not a comment: scripts cannot observe comments.
const HEARTBEAT: Bytes = Bytes::from_static(b"event: heartbeat\ndata: {}\n\n");

/// The first bytes of a stream: clients reconnect after 2,000 ms.
const BEGINNING: Bytes = Bytes::from_static(b"retry: 2000\n\n");

/// The largest part given to a connection at once: less than the initial size of its buffer, 8 KiB.
const PART_BYTES: usize = 3 * 1024;

/// `Retry-After` when all slots are taken.
pub(crate) const FULL_RETRY: Duration = Duration::from_secs(10);

/// The headers of an event stream: no caching, and no buffering in proxies.
const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
];

/// The limits of one kind of stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamLimits {
    /// Concurrent streams.
    pub(crate) places: usize,
    /// Concurrent streams of one IPv4 address, or /48 of IPv6.
    pub(crate) per_address: usize,
}

/// Streams may use a tenth of the connections, and one address a tenth of the streams.
const SHARE: usize = 10;

/// Where streams are the main traffic, they may use half of the connections.
const LARGE_SHARE: usize = 2;

/// The minimum per address, for several users behind one address.
const PER_ADDRESS_MIN: usize = 4;

impl StreamLimits {
    /// Limits that leave nine tenths of the connections for short requests, and nine tenths of the streams for other
    /// addresses.
    pub(crate) fn among(connections: usize) -> Self {
        Self::of_places(connections / SHARE)
    }

    /// Limits that leave half of the connections for short requests.
    pub(crate) fn half_of(connections: usize) -> Self {
        Self::of_places(connections / LARGE_SHARE)
    }

    fn of_places(places: usize) -> Self {
        let places = places.max(1);
        Self { places, per_address: (places / SHARE).max(PER_ADDRESS_MIN).min(places) }
    }
}

/// The slots for streams of one kind.
pub(crate) struct Streams {
    places: Arc<Semaphore>,
    /// By IPv4 address, or /48 of IPv6.
    sites: Arc<PerKeyLimit<IpAddr>>,
    end: CancellationToken,
    open: Gauge,
}

/// A slot for one stream.
pub(crate) struct StreamSlot {
    end: CancellationToken,
    held: SlotGuard,
}

/// Returns the slot when it is dropped.
struct SlotGuard {
    _place: OwnedSemaphorePermit,
    _share: Option<PerKeyPermit<IpAddr>>,
    open: Gauge,
}

impl Streams {
    /// Makes slots within `bounds`, with the metric label `kind`; all streams end when `end` is cancelled.
    pub(crate) fn new(kind: &'static str, bounds: StreamLimits, end: CancellationToken) -> Self {
        let open = metrics::gauge!("lodge_http_streams", "kind" => kind);
        let places = Arc::new(Semaphore::new(bounds.places));
        Self { places, sites: PerKeyLimit::new(bounds.per_address, FULL_RETRY), end, open }
    }

    /// Takes a slot.
    ///
    /// # Errors
    ///
    /// [`Error::TooMany`] if the client has used up its share, [`Error::Unavailable`] if no slot is free.
    pub(crate) fn acquire(&self, client: Client) -> Result<StreamSlot> {
        // Local clients have no limit per address.
        let share = client.site().map(|site| self.sites.take(site)).transpose()?;
        let place =
            Arc::clone(&self.places).try_acquire_owned().map_err(|_| Error::Unavailable {
                retry_after: FULL_RETRY,
                cause: "all slots for streams are taken".into(),
            })?;
        self.open.increment(1);
        let held = SlotGuard { _place: place, _share: share, open: self.open.clone() };
        Ok(StreamSlot { end: self.end.clone(), held })
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.open.decrement(1);
    }
}

impl StreamSlot {
    /// Responds with events in the format of [`event`].
    pub(crate) fn answer(self, events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
        let Self { end, held } = self;
        let events = little_by_little(with_heartbeats(events, SILENCE_MAX)).map(move |part| {
            // Keeps the slot until the stream ends.
            let _ = &held;
            part
        });
        let parts = stream::once(ready(BEGINNING)).chain(events);
        let parts = parts.map(Ok::<_, Infallible>).take_until(end.cancelled_owned());
        (HEADERS, Body::from_stream(parts)).into_response()
    }

    /// Makes a body of `parts`. It is aborted, so that the client can tell that it is incomplete, when a part fails, at
    /// shutdown, and after `time_max`.
    pub(crate) fn body(
        self,
        parts: impl Stream<Item = Result<Bytes>> + Send + 'static,
        time_max: Duration,
    ) -> Body {
        let Self { end, held } = self;
        let given_up = async move {
            tokio::select! {
                () = end.cancelled() => "the server is shutting down",
                () = sleep(time_max) => "the response exceeded its time limit",
            }
        };
        let begun = (Box::pin(parts), Box::pin(given_up), held);
        Body::from_stream(stream::unfold(Some(begun), |state| async move {
            let (mut parts, mut given_up, held) = state?;
            let part = tokio::select! {
                biased;
                cause = &mut given_up => Some(Err(Error::unavailable(cause))),
                part = parts.next() => part,
            };
            match part? {
                Ok(bytes) => Some((Ok(bytes), Some((parts, given_up, held)))),
                Err(error) => {
                    tracing::warn!(%error, "a streamed response was aborted");
                    Some((Err(error), None))
                }
            }
        }))
    }
}

/// Formats an event; `data` is one line.
pub(crate) fn event(data: &str) -> Bytes {
    format!("data: {data}\n\n").into()
}

/// Formats an event with a type.
pub(crate) fn named_event(name: &str, data: &str) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// Splits events into parts of at most [`PART_BYTES`] and yields after that many bytes. The connection copies all ready
/// parts into one buffer, and never shrinks a buffer that has grown.
fn little_by_little(
    events: impl Stream<Item = Bytes> + Send + 'static,
) -> impl Stream<Item = Bytes> + Send {
    let mut at_once = 0;
    let parts = events.flat_map(|event| {
        let starts = (0..event.len()).step_by(PART_BYTES);
        stream::iter(
            starts.map(move |start| event.slice(start..event.len().min(start + PART_BYTES))),
        )
    });
    parts.then(move |part| {
        at_once += part.len();
        let is_enough = at_once > PART_BYTES;
        if is_enough {
            at_once = part.len();
        }
        async move {
            if is_enough {
                yield_now().await;
            }
            part
        }
    })
}

/// Adds a heartbeat after every `silence_max` without an event.
fn with_heartbeats(
    events: impl Stream<Item = Bytes> + Send + 'static,
    silence_max: Duration,
) -> impl Stream<Item = Bytes> + Send {
    stream::unfold(Box::pin(events), move |mut events| async move {
        let part = match timeout(silence_max, events.next()).await {
            Ok(event) => event?,
            Err(_) => HEARTBEAT,
        };
        Some((part, events))
    })
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, task::Poll, time::Instant};

    use http::Request;
    use hyper::body::Incoming;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        task::JoinHandle,
    };

    use super::*;
    use crate::edge::{
        server::{self, ConnectionHandler, ConnectionLimits, Peer},
        threads::ConnectionThreads,
    };

    const DEADLINE: Duration = Duration::from_secs(30);

    /// Responds to every request with an endless stream.
    #[derive(Clone)]
    struct Site {
        streams: Arc<Streams>,
        end: CancellationToken,
        event: Bytes,
        pause: Duration,
    }

    impl ConnectionHandler for Site {
        async fn answer(&self, _: Peer, _: Request<Incoming>) -> Response {
            let Ok(place) = self.streams.acquire(Client::Local) else {
                return "full".into_response();
            };
            let pause = self.pause;
            let events = stream::repeat(self.event.clone()).then(move |event| async move {
                tokio::time::sleep(pause).await;
                event
            });
            place.answer(events)
        }

        fn end_streams(&self) {
            self.end.cancel();
        }
    }

    fn bounds(places: usize) -> StreamLimits {
        StreamLimits { places, per_address: places }
    }

    fn site(places: usize, event: &str, pause: Duration) -> Site {
        let end = CancellationToken::new();
        let streams = Arc::new(Streams::new("test", bounds(places), end.clone()));
        Site { streams, end, event: super::event(event), pause }
    }

    fn serve(site: &Site) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
        let listener = server::listen(([127, 0, 0, 1], 0).into()).unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let limits = ConnectionLimits {
            connections_max: 10,
            connections_per_address_max: 10,
            header_timeout: DEADLINE,
            write_timeout: Duration::from_millis(200),
            grace: 10 * DEADLINE,
            trusted_proxies: Arc::default(),
            proxy_protocol: false,
        };
        let serving =
            server::serve(listener, site.clone(), limits, ConnectionThreads::here(), stop.clone());
        (address, stop, tokio::spawn(serving))
    }

    async fn ask(address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        stream
    }

    async fn read_until(stream: &mut TcpStream, text: &str) -> String {
        let (mut read, mut buffer) = (String::new(), [0; 1024]);
        while !read.contains(text) {
            let count = timeout(DEADLINE, stream.read(&mut buffer)).await.unwrap().unwrap();
            assert!(count > 0, "the stream ended after {read}");
            read.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        read
    }

    #[tokio::test]
    async fn a_stop_ends_streams_at_once_and_waits_for_no_grace_time() {
        let site = site(10, "{}", DEADLINE);
        let (address, stop, serving) = serve(&site);
        let mut stream = ask(address).await;
        let head = read_until(&mut stream, "retry: 2000").await;
        assert!(head.contains("text/event-stream") && head.contains("x-accel-buffering: no"));
        stop.cancel();
        timeout(DEADLINE, serving).await.unwrap().unwrap();
        let mut rest = String::new();
        timeout(DEADLINE, stream.read_to_string(&mut rest)).await.unwrap().unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "the stream was aborted, not ended: {rest:?}");
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_cut_off_and_its_place_is_free_again() {
        let site = site(1, &"x".repeat(64 * 1024), Duration::ZERO);
        let (address, _stop, _serving) = serve(&site);
        let lazy = ask(address).await;
        let began = Instant::now();
        while site.streams.places.available_permits() > 0 {
            assert!(began.elapsed() < DEADLINE, "no client was served");
            tokio::task::yield_now().await;
        }
        while site.streams.places.available_permits() == 0 {
            assert!(began.elapsed() < DEADLINE, "no client was cut off");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(lazy);
    }

    #[tokio::test]
    async fn a_full_server_refuses_streams_until_a_reader_leaves() {
        let site = site(1, "{}", Duration::from_millis(5));
        let (address, _stop, _serving) = serve(&site);
        let mut first = ask(address).await;
        read_until(&mut first, "data: {}\n\n").await;
        let refused = site.streams.acquire(Client::Local).map(drop).unwrap_err();
        assert!(matches!(refused, Error::Unavailable { retry_after: FULL_RETRY, .. }));
        drop(first);
        let began = Instant::now();
        while site.streams.acquire(Client::Local).is_err() {
            assert!(began.elapsed() < DEADLINE, "the slot is not free");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn an_idle_stream_sends_heartbeats() {
        let events = stream::once(ready(event("1"))).chain(stream::pending());
        let parts: Vec<_> =
            with_heartbeats(events, Duration::from_millis(5)).take(3).collect().await;
        let sign = &b"event: heartbeat\ndata: {}\n\n"[..];
        assert_eq!(parts, [&b"data: 1\n\n"[..], sign, sign]);
    }

    #[tokio::test]
    async fn large_events_are_split_and_arrive_complete() {
        let text: Vec<u8> = (0..20_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let sizes = [1, PART_BYTES, PART_BYTES + 1, 10_000, 20_000];
        let events: Vec<Bytes> =
            sizes.iter().map(|size| Bytes::copy_from_slice(&text[..*size])).collect();
        let whole = events.concat();
        let parts = little_by_little(stream::iter(events));
        let (mut given, mut at_once) = (Vec::new(), 0);
        let mut parts = Box::pin(parts);
        loop {
            match futures_util::poll!(parts.next()) {
                Poll::Ready(Some(part)) => {
                    at_once += part.len();
                    assert!(at_once <= PART_BYTES);
                    given.extend_from_slice(&part);
                }
                Poll::Ready(None) => break,
                Poll::Pending => {
                    at_once = 0;
                    yield_now().await;
                }
            }
        }
        assert_eq!(given, whole);
    }

    #[test]
    fn streams_leave_most_connections_and_an_address_leaves_most_streams() {
        let among = |connections| {
            let StreamLimits { places, per_address } = StreamLimits::among(connections);
            (places, per_address)
        };
        assert_eq!(among(10_000), (1_000, 100));
        assert_eq!(among(200), (20, 4));
        assert_eq!(among(30), (3, 3));
        assert_eq!(among(1), (1, 1));
        assert_eq!(StreamLimits::half_of(10_000), StreamLimits { places: 5_000, per_address: 500 });
        assert_eq!(StreamLimits::half_of(1), StreamLimits::among(1));
    }

    #[test]
    fn an_address_gets_no_more_than_its_share_of_streams() {
        let bounds = StreamLimits { places: 5, per_address: 2 };
        let streams = Streams::new("test", bounds, CancellationToken::new());
        let client = |text: &str| Client::Remote(text.parse().unwrap());
        let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
        let first = streams.acquire(one).unwrap();
        let _second = streams.acquire(one).unwrap();
        let refused = streams.acquire(one).map(drop).unwrap_err();
        assert!(matches!(refused, Error::TooMany { retry_after: FULL_RETRY }), "{refused}");
        let _others = [streams.acquire(other).unwrap(), streams.acquire(other).unwrap()];
        drop(first);
        let _again = streams.acquire(one).unwrap();
        let _here = streams.acquire(Client::Local).unwrap();
        let refused = streams.acquire(client("192.0.2.3")).map(drop).unwrap_err();
        assert!(matches!(refused, Error::Unavailable { .. }), "{refused}");
        assert_eq!(streams.sites.len(), 2, "a refused site is not remembered");
    }

    #[test]
    fn an_ipv6_site_gets_no_more_than_the_share_of_an_address() {
        let bounds = StreamLimits { places: 4, per_address: 2 };
        let streams = Streams::new("test", bounds, CancellationToken::new());
        let acquire = |text: &str| streams.acquire(Client::Remote(text.parse().unwrap()));
        let _one = [acquire("2001:db8::1").unwrap(), acquire("2001:db8:0:1::1").unwrap()];
        assert!(matches!(acquire("2001:db8:0:2::1"), Err(Error::TooMany { .. })));
        let _other = acquire("2001:db8:1::1").unwrap();
    }

    /// Reads a body; returns its bytes, and whether it was aborted.
    async fn read(body: Body) -> (Vec<u8>, bool) {
        let (mut read, mut parts) = (Vec::new(), body.into_data_stream());
        while let Some(part) = parts.next().await {
            let Ok(part) = part else { return (read, true) };
            read.extend_from_slice(&part);
        }
        (read, false)
    }

    #[tokio::test]
    async fn a_streamed_body_is_complete_or_aborted() {
        let end = CancellationToken::new();
        let streams = Streams::new("test", bounds(1), end.clone());
        let place = || streams.acquire(Client::Local).unwrap();
        let part = |text: &'static str| Ok(Bytes::from_static(text.as_bytes()));
        let whole = place().body(stream::iter([part("a"), part("b")]), DEADLINE);
        assert_eq!(read(whole).await, (b"ab".to_vec(), false));
        let failed = [part("a"), Err(Error::unavailable("gone")), part("b")];
        let failed = place().body(stream::iter(failed), DEADLINE);
        assert_eq!(read(failed).await, (b"a".to_vec(), true));
        let late = place().body(stream::pending(), Duration::ZERO);
        assert_eq!(read(late).await, (vec![], true));
        let stopped = place().body(stream::iter([part("a")]).chain(stream::pending()), DEADLINE);
        end.cancel();
        assert!(read(stopped).await.1);
        assert!(streams.acquire(Client::Local).is_ok(), "all slots are free again");
    }
}
