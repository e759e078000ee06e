//! Answers that go on: server-sent events, until somebody ends them, and long bodies. What a peer may be slow in
//! taking is the listener's to say, as of any answer.

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
    each::{Each, OneOf},
};

/// The longest that a stream says nothing: less than proxies wait, and than a page waits that wants to know
/// whether somebody is still there.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// Says no more than that somebody is there; a page hears it, as it would not hear a comment.
const HEARTBEAT: Bytes = Bytes::from_static(b"event: heartbeat\ndata: {}\n\n");

/// When to come back after an end, in milliseconds.
const BEGINNING: Bytes = Bytes::from_static(b"retry: 2000\n\n");

/// What is given to a connection at once: less than its buffer begins with, 8 KiB.
const PART_BYTES: usize = 3 * 1024;

/// When to ask again for a place.
pub(crate) const FULL_RETRY: Duration = Duration::from_secs(10);

/// Not to be kept, and not to be held back by a proxy until there is more of it.
const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
];

/// How many streams of one kind there can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// At once.
    pub(crate) places: usize,
    /// Of those, for one client address.
    pub(crate) per_address: usize,
}

/// One in so many connections may be a stream, and of the streams one in so many may be an address's.
const SHARE: usize = 10;

/// The same where streams are what people come for.
const LARGE_SHARE: usize = 2;

/// Streams that an address may have, however few there are: people who look at a page from one place.
const PER_ADDRESS_MIN: usize = 4;

impl Bounds {
    /// Bounds that leave nine tenths of the connections for what ends by itself, and nine tenths of the places for
    /// other addresses.
    pub(crate) fn among(connections: usize) -> Self {
        Self::of_places(connections / SHARE)
    }

    /// The same, but that they leave half of the connections.
    pub(crate) fn half_of(connections: usize) -> Self {
        Self::of_places(connections / LARGE_SHARE)
    }

    fn of_places(places: usize) -> Self {
        let places = places.max(1);
        Self { places, per_address: (places / SHARE).max(PER_ADDRESS_MIN).min(places) }
    }
}

/// Places for streams of one kind.
pub(crate) struct Streams {
    places: Arc<Semaphore>,
    addresses: Arc<Each<IpAddr>>,
    end: CancellationToken,
    open: Gauge,
}

/// A place for one stream.
pub(crate) struct Place {
    end: CancellationToken,
    held: Held,
}

/// Given back when it is dropped.
struct Held {
    _place: OwnedSemaphorePermit,
    _share: Option<OneOf<IpAddr>>,
    open: Gauge,
}

impl Streams {
    /// So many places; all streams end with `end`.
    pub(crate) fn new(kind: &'static str, bounds: Bounds, end: CancellationToken) -> Self {
        let open = metrics::gauge!("lodge_http_streams", "kind" => kind);
        let places = Arc::new(Semaphore::new(bounds.places));
        Self { places, addresses: Each::new(bounds.per_address, FULL_RETRY), end, open }
    }

    /// Takes a place.
    ///
    /// # Errors
    ///
    /// [`Error::TooMany`] if the client has as many as one may, [`Error::Unavailable`] if there is none.
    pub(crate) fn place(&self, client: Client) -> Result<Place> {
        // No address, no bound.
        let share = client.limited_by().map(|of| self.addresses.take(of)).transpose()?;
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            Error::Unavailable { retry_after: FULL_RETRY, cause: "too many streams".into() }
        })?;
        self.open.increment(1);
        let held = Held { _place: place, _share: share, open: self.open.clone() };
        Ok(Place { end: self.end.clone(), held })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.open.decrement(1);
    }
}

impl Place {
    /// Answers with these events, each as [`event`] writes it.
    pub(crate) fn answer(self, events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
        let Self { end, held } = self;
        let events = little_by_little(heard(events, SILENCE_MAX)).map(move |part| {
            // Held as long as there may be another.
            let _ = &held;
            part
        });
        let parts = stream::once(ready(BEGINNING)).chain(events);
        let parts = parts.map(Ok::<_, Infallible>).take_until(end.cancelled_owned());
        (HEADERS, Body::from_stream(parts)).into_response()
    }

    /// A body of these parts. It is broken off, so that whoever reads it can tell that it is not whole, where a
    /// part fails, at the end of all streams, and after `time_max`.
    pub(crate) fn body(
        self,
        parts: impl Stream<Item = Result<Bytes>> + Send + 'static,
        time_max: Duration,
    ) -> Body {
        let Self { end, held } = self;
        let given_up = async move {
            tokio::select! {
                () = end.cancelled() => "the server stops",
                () = sleep(time_max) => "it took too long",
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
                    tracing::warn!(%error, "a long answer was broken off");
                    Some((Err(error), None))
                }
            }
        }))
    }
}

/// An event as it goes over the wire; `data` is one line.
pub(crate) fn event(data: &str) -> Bytes {
    format!("data: {data}\n\n").into()
}

/// The same of a kind that has a name.
pub(crate) fn named_event(name: &str, data: &str) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// The same in parts of [`PART_BYTES`] at most, and after so many bytes there is nothing for a moment. The connection
/// copies what there is into a buffer until there is nothing, and keeps a buffer that has grown.
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

/// The events, and a sign of life wherever there is none for so long.
fn heard(
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
        lanes::Lanes,
        server::{self, Answer, ConnectionLimits},
    };

    const DEADLINE: Duration = Duration::from_secs(30);

    /// Answers everything with a stream of as much as is taken.
    #[derive(Clone)]
    struct Site {
        streams: Arc<Streams>,
        end: CancellationToken,
        event: Bytes,
        pause: Duration,
    }

    impl Answer for Site {
        async fn answer(&self, _: SocketAddr, _: Request<Incoming>) -> Response {
            let Ok(place) = self.streams.place(Client::Local) else {
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

    fn bounds(places: usize) -> Bounds {
        Bounds { places, per_address: places }
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
            header_timeout: DEADLINE,
            write_timeout: Duration::from_millis(200),
            grace: 10 * DEADLINE,
        };
        let serving = server::serve(listener, site.clone(), limits, Lanes::here(), stop.clone());
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
            assert!(count > 0, "it ended after {read}");
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
        assert!(rest.ends_with("0\r\n\r\n"), "it was not ended, but broken off: {rest:?}");
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_cut_off_and_its_place_is_free_again() {
        let site = site(1, &"x".repeat(64 * 1024), Duration::ZERO);
        let (address, _stop, _serving) = serve(&site);
        let lazy = ask(address).await;
        let began = Instant::now();
        while site.streams.places.available_permits() > 0 {
            assert!(began.elapsed() < DEADLINE, "nobody was served");
            tokio::task::yield_now().await;
        }
        while site.streams.places.available_permits() == 0 {
            assert!(began.elapsed() < DEADLINE, "nobody was cut off");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(lazy);
    }

    #[tokio::test]
    async fn past_the_last_place_there_is_none_until_a_reader_goes() {
        let site = site(1, "{}", Duration::from_millis(5));
        let (address, _stop, _serving) = serve(&site);
        let mut first = ask(address).await;
        read_until(&mut first, "data: {}\n\n").await;
        let refused = site.streams.place(Client::Local).map(drop).unwrap_err();
        assert!(matches!(refused, Error::Unavailable { retry_after: FULL_RETRY, .. }));
        drop(first);
        let began = Instant::now();
        while site.streams.place(Client::Local).is_err() {
            assert!(began.elapsed() < DEADLINE, "the place is not free");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn where_nothing_happens_there_is_a_sign_of_life() {
        let events = stream::once(ready(event("1"))).chain(stream::pending());
        let parts: Vec<_> = heard(events, Duration::from_millis(5)).take(3).collect().await;
        let sign = &b"event: heartbeat\ndata: {}\n\n"[..];
        assert_eq!(parts, [&b"data: 1\n\n"[..], sign, sign]);
    }

    #[tokio::test]
    async fn much_at_once_is_given_little_by_little_and_whole() {
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
            let Bounds { places, per_address } = Bounds::among(connections);
            (places, per_address)
        };
        assert_eq!(among(10_000), (1_000, 100));
        assert_eq!(among(200), (20, 4));
        assert_eq!(among(30), (3, 3));
        assert_eq!(among(1), (1, 1));
        assert_eq!(Bounds::half_of(10_000), Bounds { places: 5_000, per_address: 500 });
        assert_eq!(Bounds::half_of(1), Bounds::among(1));
    }

    #[test]
    fn an_address_has_its_share_of_the_places_and_no_more() {
        let bounds = Bounds { places: 5, per_address: 2 };
        let streams = Streams::new("test", bounds, CancellationToken::new());
        let client = |text: &str| Client::Remote(text.parse().unwrap());
        let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
        let first = streams.place(one).unwrap();
        let _second = streams.place(one).unwrap();
        let refused = streams.place(one).map(drop).unwrap_err();
        assert!(matches!(refused, Error::TooMany { retry_after: FULL_RETRY }), "{refused}");
        let _others = [streams.place(other).unwrap(), streams.place(other).unwrap()];
        drop(first);
        let _again = streams.place(one).unwrap();
        let _here = streams.place(Client::Local).unwrap();
        let refused = streams.place(client("192.0.2.3")).map(drop).unwrap_err();
        assert!(matches!(refused, Error::Unavailable { .. }), "{refused}");
        assert_eq!(streams.addresses.len(), 2, "who was refused is not remembered");
    }

    /// What is read of a body, and whether it was broken off.
    async fn read(body: Body) -> (Vec<u8>, bool) {
        let (mut read, mut parts) = (Vec::new(), body.into_data_stream());
        while let Some(part) = parts.next().await {
            let Ok(part) = part else { return (read, true) };
            read.extend_from_slice(&part);
        }
        (read, false)
    }

    #[tokio::test]
    async fn a_long_body_is_whole_or_broken_off() {
        let end = CancellationToken::new();
        let streams = Streams::new("test", bounds(1), end.clone());
        let place = || streams.place(Client::Local).unwrap();
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
        assert!(streams.place(Client::Local).is_ok(), "each has given its place back");
    }
}
