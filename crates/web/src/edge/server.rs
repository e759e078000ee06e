//! The HTTP listener, with limits on connections and timeouts.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::body::Body;
use futures_util::{StreamExt, stream::FuturesUnordered};
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics::Counter;
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{Semaphore, mpsc},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use super::address::Peer;
use super::{
    per_key::{PerKeyLimit, PerKeyPermit},
    proxies::TrustedProxies,
    proxy_protocol,
    threads::ConnectionThreads,
};

/// The limits of connections.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Concurrent connections; a further one gets 503 and is closed.
    pub connections_max: usize,
    /// Concurrent connections of one address that is not a trusted proxy; half of all at most.
    pub connections_per_address_max: usize,
    /// The timeout of a request head, and of an idle connection.
    pub header_timeout: Duration,
    /// The timeout of a write that makes no progress.
    pub write_timeout: Duration,
    /// The time that running requests have to finish at shutdown.
    pub grace: Duration,
    /// The proxies that name their clients.
    pub trusted_proxies: Arc<TrustedProxies>,
    /// Whether each connection of a trusted proxy begins with a header of the PROXY protocol.
    pub proxy_protocol: bool,
}

impl ConnectionLimits {
    /// Returns the share of one address, which leaves places to others.
    fn per_address(&self) -> usize {
        self.connections_per_address_max.min(self.connections_max.div_ceil(2))
    }

    /// Returns how many refused connections may be open at once.
    fn refused_max(&self) -> usize {
        (self.connections_max / CONNECTIONS_PER_REFUSED).clamp(1, REFUSED_MAX)
    }
}

/// The shortest time between two refusals, so that the connections of a client do not come back all at once.
const REFUSAL_SPACING: Duration = Duration::from_millis(1);

/// For so many connections that are served, one that is refused may be open.
pub const CONNECTIONS_PER_REFUSED: usize = 5;

/// Reads of a refused connection, of 8 KiB each: what the kernel buffers.
const REFUSED_READS_MAX: usize = 64;

/// The largest number of refused connections that are open: the last one waits for some seconds.
const REFUSED_MAX: usize = 2_000;

/// The largest request head, in bytes: an 8 KiB target with every byte percent-encoded, and a third of that for the
/// headers.
const HEAD_BYTES_MAX: usize = 32 * 1024;

/// The listen backlog, large enough that a burst of connections loses no packets; the kernel may cap it.
const BACKLOG: u32 = 4096;

/// The unsent bytes that the kernel buffers per connection (`TCP_NOTSENT_LOWAT`). Without this limit a client that does
/// not read costs megabytes, and the time to write them.
const UNSENT_BYTES_MAX: u32 = 64 * 1024;

/// The received bytes that the kernel buffers per connection; twice as much with its own part. Otherwise a body that is
/// not read costs megabytes of its memory.
const RECEIVED_BYTES_MAX: u32 = 256 * 1024;

/// `Retry-After` of a refused connection, and the time until it is answered and closed.
const RETRY: Duration = Duration::from_secs(1);

const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A handler of all requests.
pub trait ConnectionHandler: Clone + Send + Sync + 'static {
    /// Handles one request of `peer`.
    fn answer(
        &self,
        peer: Peer,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Body>> + Send;

    /// Ends endless responses; called at shutdown, so that the server need not wait for them.
    fn end_streams(&self) {}
}

/// Binds a listener. Accepted connections inherit its socket options.
///
/// # Errors
///
/// Fails if the address is in use or not local.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_nodelay(true)?;
    socket.set_recv_buffer_size(RECEIVED_BYTES_MAX)?;
    SockRef::from(&socket).set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves connections until `stop`, then waits at most the grace time for running requests.
pub async fn serve(
    listener: TcpListener,
    site: impl ConnectionHandler,
    limits: ConnectionLimits,
    mut lanes: ConnectionThreads,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let gate = Arc::new(Gate::new(limits));
    let connections = TaskTracker::new();
    let refused = metrics::counter!("lodge_http_connections_refused_total");
    let refusals = Refusals::start(gate.limits.refused_max(), &connections, stop.child_token());
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Mostly out of file descriptors: an immediate retry would only spin.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            refused.increment(1);
            refusals.add(stream, gate.peer(address));
            continue;
        };
        let Some(admitted) = gate.admit(gate.peer(address)) else {
            refusals.add(stream, gate.peer(address));
            continue;
        };
        // A child token per connection, so that wake-ups do not contend for one lock.
        let (site, gate, stop) = (site.clone(), Arc::clone(&gate), stop.child_token());
        // Detaches the stream from the runtime of the accept loop.
        let stream = stream.into_std();
        let f = async move {
            match stream.and_then(TcpStream::from_std) {
                Ok(stream) => connection(stream, admitted, site, gate, stop).await,
                Err(error) => tracing::warn!(%error, "cannot move a connection to its thread"),
            }
            drop(place);
        };
        connections.spawn_on(f, lanes.next());
    }
    drop(listener);
    site.end_streams();
    connections.close();
    if timeout(gate.limits.grace, connections.wait()).await.is_err() {
        tracing::warn!(
            open = connections.len(),
            "connections were still open at the end of the grace time"
        );
    }
}

/// The limits of a listener, and the connections of each address.
struct Gate {
    limits: ConnectionLimits,
    addresses: Arc<PerKeyLimit<IpAddr>>,
    refused: Counter,
    bad_headers: Counter,
}

/// A peer with its part of the limit per address; a trusted proxy needs none.
struct Admitted {
    peer: Peer,
    _share: Option<PerKeyPermit<IpAddr>>,
}

impl Gate {
    fn new(limits: ConnectionLimits) -> Self {
        Self {
            addresses: PerKeyLimit::new(limits.per_address(), RETRY),
            limits,
            refused: metrics::counter!("lodge_http_connections_per_address_refused_total"),
            bad_headers: metrics::counter!("lodge_http_proxy_headers_failed_total"),
        }
    }

    fn peer(&self, address: SocketAddr) -> Peer {
        Peer::of_socket(address, &self.limits.trusted_proxies)
    }

    /// Counts a connection for the address of its peer; `None` if it is refused.
    fn admit(&self, peer: Peer) -> Option<Admitted> {
        let share = peer.limited_by().map(|address| self.addresses.take(address)).transpose();
        self.refused.increment(share.is_err().into());
        share.ok().map(|share| Admitted { peer, _share: share })
    }

    /// Reads the PROXY header of a connection, and counts it for the client that the proxy names; `None` if the
    /// connection has no valid header in time, or is refused.
    async fn admit_forwarded(&self, stream: &mut TcpStream, proxy: Peer) -> Option<Admitted> {
        let read = timeout(self.limits.header_timeout, proxy_protocol::read(stream)).await;
        match read.map_err(io::Error::from).flatten() {
            Ok(source) => {
                let admitted = self.admit(proxy.forwarding(source, &self.limits.trusted_proxies));
                // At once: the connection is the proxy's.
                if admitted.is_none() {
                    refuse(stream);
                }
                admitted
            }
            Err(error) => {
                self.bad_headers.increment(1);
                tracing::debug!(%proxy, %error, "connection without a valid PROXY header");
                None
            }
        }
    }
}

/// Refused connections, in the order in which they are answered.
struct Refusals(mpsc::Sender<(Instant, TcpStream)>);

impl Refusals {
    fn start(places: usize, tasks: &TaskTracker, stop: CancellationToken) -> Self {
        let (sender, mut held) = mpsc::channel(places);
        let answers = async move {
            while let Some((due, stream)) = held.recv().await {
                sleep_until(due).await;
                refuse(&stream);
                sleep(REFUSAL_SPACING).await;
            }
        };
        tasks.spawn(stop.run_until_cancelled_owned(answers));
        Self(sender)
    }

    /// Answers and closes a connection after [`RETRY`] or later, so that a client that connects again at once cannot do
    /// so thousands of times a second; at once if there is no place for it, or if it is a proxy's.
    fn add(&self, stream: TcpStream, peer: Peer) {
        if peer.is_trusted() {
            refuse(&stream);
        } else if let Err(full) = self.0.try_send((Instant::now() + RETRY, stream)) {
            refuse(&full.into_inner().1);
        }
    }
}

/// Writes 503 without blocking. The request is read before, as far as it has arrived: if it were not, the kernel would
/// reset the connection, and the client could lose the answer.
fn refuse(stream: &TcpStream) {
    let mut request = [0; 8 * 1024];
    for _ in 0..REFUSED_READS_MAX {
        if !stream.try_read(&mut request).is_ok_and(|length| length == request.len()) {
            break;
        }
    }
    let _ = stream.try_write(TOO_MANY_CONNECTIONS);
}

async fn connection(
    mut stream: TcpStream,
    mut admitted: Admitted,
    site: impl ConnectionHandler,
    gate: Arc<Gate>,
    stop: CancellationToken,
) {
    let gauge = metrics::gauge!("lodge_http_connections");
    gauge.increment(1);
    let (limits, mut first) = (&gate.limits, [0]);
    let begins = async {
        if limits.proxy_protocol && admitted.peer.is_trusted() {
            let named = Box::pin(gate.admit_forwarded(&mut stream, admitted.peer)).await;
            admitted = named?;
        }
        // A peer that sends nothing occupies a slot but no buffers.
        let peeked = timeout(limits.header_timeout, stream.peek(&mut first)).await;
        matches!(peeked, Ok(Ok(1))).then_some(())
    };
    let spoke = tokio::select! {
        biased;
        begun = begins => begun.is_some(),
        () = stop.cancelled() => false,
    };
    if spoke {
        let peer = admitted.peer;
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
    peer: Peer,
    site: impl ConnectionHandler,
    limits: &ConnectionLimits,
    stop: CancellationToken,
) -> hyper::Result<()> {
    let mut stream = Box::pin(TimeoutStream::new(stream));
    stream.as_mut().set_write_timeout_pinned(Some(limits.write_timeout));
    // Borrowed: a clone for each request would count references in memory that all threads share.
    let site = &site;
    let service =
        service_fn(
            move |request| async move { Ok::<_, Infallible>(site.answer(peer, request).await) },
        );
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(HEAD_BYTES_MAX)
        // Answers are small: one copied buffer costs the kernel less than a vector of two.
        .writev(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // A set polls its future only when that one is woken. The token takes a lock with each poll, and the select would
    // poll it with each request.
    let mut stop = FuturesUnordered::from_iter([stop.cancelled()]);
    tokio::select! {
        biased;
        served = connection.as_mut() => return served,
        _ = stop.next() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
