//! The listener: every connection is counted, bounded and timed.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::body::Body;
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
    time::timeout,
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::lanes::Lanes;

/// Bounds on connections.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Connections at once; one more is answered 503 and closed.
    pub connections_max: usize,
    /// How long a request's head may take to come in, and how long a connection may idle.
    pub header_timeout: Duration,
    /// How long a peer may take no byte of an answer.
    pub write_timeout: Duration,
    /// How long running requests may go on once the server shuts down.
    pub grace: Duration,
}

/// Largest head of a request: room for an 8 KiB target with every byte percent-encoded, and a third of
/// that for the headers.
const HEAD_BYTES_MAX: usize = 32 * 1024;

/// Connections that may wait for the accept loop, so that a rush of them is not met with lost packets;
/// the kernel may bound it lower.
const BACKLOG: u32 = 4096;

/// Bytes that the kernel holds for a peer beyond what is on its way to it. Without this bound a peer that
/// asks and does not read costs megabytes, and the time to write them.
const UNSENT_BYTES_MAX: u32 = 64 * 1024;

const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Something that answers requests of one peer.
pub trait Answer: Clone + Send + Sync + 'static {
    /// Answers one request.
    fn answer(
        &self,
        peer: SocketAddr,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Body>> + Send;

    /// Ends the answers that would not end by themselves; asked for when the server stops, so that it need
    /// not wait for them.
    fn end_streams(&self) {}
}

/// Listens. What is set here, every accepted connection inherits.
///
/// # Errors
///
/// When the address is taken or not this machine's.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_nodelay(true)?;
    SockRef::from(&socket).set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts and serves connections until `stop`, then lets what runs finish within the grace time.
pub async fn serve(
    listener: TcpListener,
    site: impl Answer,
    limits: ConnectionLimits,
    mut lanes: Lanes,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let connections = TaskTracker::new();
    let refused = metrics::counter!("lodge_http_connections_refused_total");
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, mostly: to go on at once would only spin.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            // A token of its own, so that connections do not meet at one lock at every wake-up.
            let (site, limits, stop) = (site.clone(), limits.clone(), stop.child_token());
            // Away from the accept loop's own runtime.
            let stream = stream.into_std();
            let f = async move {
                match stream.and_then(TcpStream::from_std) {
                    Ok(stream) => connection(stream, peer, site, limits, stop).await,
                    Err(error) => tracing::warn!(%error, "a connection could not be taken over"),
                }
                drop(place);
            };
            connections.spawn_on(f, lanes.next());
        } else {
            refused.increment(1);
            refuse(&stream);
        }
    }
    drop(listener);
    site.end_streams();
    connections.close();
    if timeout(limits.grace, connections.wait()).await.is_err() {
        tracing::warn!(
            open = connections.len(),
            "connections were still busy at the end of the grace time"
        );
    }
}

/// Says 503 without waiting for anything.
fn refuse(stream: &TcpStream) {
    let _ = stream.try_write(TOO_MANY_CONNECTIONS);
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    site: impl Answer,
    limits: ConnectionLimits,
    stop: CancellationToken,
) {
    let gauge = metrics::gauge!("lodge_http_connections");
    gauge.increment(1);
    let mut first = [0];
    // Nothing but its place is kept for a peer that says nothing.
    let spoke = tokio::select! {
        biased;
        peeked = timeout(limits.header_timeout, stream.peek(&mut first)) => matches!(peeked, Ok(Ok(1))),
        () = stop.cancelled() => false,
    };
    if spoke {
        let f = Box::pin(http1_connection(stream, peer, site, limits, stop));
        let served = f.await;
        if let Err(error) = served {
            tracing::debug!(%peer, %error, "connection ended");
        }
    }
    gauge.decrement(1);
}

async fn http1_connection(
    stream: TcpStream,
    peer: SocketAddr,
    site: impl Answer,
    limits: ConnectionLimits,
    stop: CancellationToken,
) -> hyper::Result<()> {
    let mut stream = Box::pin(TimeoutStream::new(stream));
    stream.as_mut().set_write_timeout_pinned(Some(limits.write_timeout));
    let service = service_fn(move |request| {
        let site = site.clone();
        async move { Ok::<_, Infallible>(site.answer(peer, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(HEAD_BYTES_MAX)
        // Answers are small: one copied buffer costs the kernel less than a vector of two.
        .writev(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        served = connection.as_mut() => return served,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
