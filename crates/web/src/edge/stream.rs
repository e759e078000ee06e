//! Answers that go on until somebody ends them: server-sent events. What a peer may be slow in taking is the
//! listener's to say, as of any answer.

use std::{convert::Infallible, future::ready, sync::Arc, time::Duration};

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
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// The longest that a stream says nothing: less than proxies wait, and than a page waits that wants to know
/// whether somebody is still there.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// A line that means nothing.
const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

/// When to come back after an end, in milliseconds.
const BEGINNING: Bytes = Bytes::from_static(b"retry: 2000\n\n");

/// When to ask again for a place.
const FULL_RETRY: Duration = Duration::from_secs(10);

/// Not to be kept, and not to be held back by a proxy until there is more of it.
const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
];

/// Places for streams of one kind.
pub struct Streams {
    places: Arc<Semaphore>,
    end: CancellationToken,
    open: Gauge,
}

/// A place for one stream.
pub struct Place {
    end: CancellationToken,
    held: Held,
}

/// Given back when it is dropped.
struct Held {
    _place: OwnedSemaphorePermit,
    open: Gauge,
}

impl Streams {
    /// So many places; all streams end with `end`.
    pub fn new(kind: &'static str, places: usize, end: CancellationToken) -> Self {
        let open = metrics::gauge!("lodge_http_streams", "kind" => kind);
        Self { places: Arc::new(Semaphore::new(places)), end, open }
    }

    /// Takes a place.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if there is none.
    pub fn place(&self) -> Result<Place> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            Error::Unavailable { retry_after: FULL_RETRY, cause: "too many streams".into() }
        })?;
        self.open.increment(1);
        let held = Held { _place: place, open: self.open.clone() };
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
    pub fn answer(self, events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
        let Self { end, held } = self;
        let events = heard(events, SILENCE_MAX).map(move |part| {
            // Held as long as there may be another.
            let _ = &held;
            part
        });
        let parts = stream::once(ready(BEGINNING)).chain(events);
        let parts = parts.map(Ok::<_, Infallible>).take_until(end.cancelled_owned());
        (HEADERS, Body::from_stream(parts)).into_response()
    }
}

/// An event as it goes over the wire; `data` is one line.
pub fn event(data: &str) -> Bytes {
    format!("data: {data}\n\n").into()
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
    use std::{net::SocketAddr, time::Instant};

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
            let Ok(place) = self.streams.place() else { return "full".into_response() };
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

    fn site(places: usize, event: &str, pause: Duration) -> Site {
        let end = CancellationToken::new();
        let streams = Arc::new(Streams::new("test", places, end.clone()));
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
        let refused = site.streams.place().map(drop).unwrap_err();
        assert!(matches!(refused, Error::Unavailable { retry_after: FULL_RETRY, .. }));
        drop(first);
        let began = Instant::now();
        while site.streams.place().is_err() {
            assert!(began.elapsed() < DEADLINE, "the place is not free");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn where_nothing_happens_there_is_a_sign_of_life() {
        let events = stream::once(ready(event("1"))).chain(stream::pending());
        let parts: Vec<_> = heard(events, Duration::from_millis(5)).take(3).collect().await;
        assert_eq!(parts, [&b"data: 1\n\n"[..], b":\n\n", b":\n\n"]);
    }
}
