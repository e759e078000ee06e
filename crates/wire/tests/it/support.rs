//! Helpers for the tests.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures_util::future::join_all;
use lodge_domain::{
    Error, Result,
    accounts::{Backend, Call, OwnAccountCall, Reply, SessionDigest, Username},
};
use lodge_wire::{Pool, PoolOptions, ServerOptions, SharedKey, serve};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::{Builder, Runtime},
    sync::Semaphore,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// The shared key.
pub(crate) const KEY: [u8; 32] = [7; 32];

pub(crate) fn key() -> SharedKey {
    SharedKey::new(KEY).unwrap()
}

/// Metrics of the threads that record here.
pub(crate) struct Counted(PrometheusRecorder);

impl Counted {
    /// Records the metrics of this thread from now on.
    pub(crate) fn here() -> &'static Self {
        let counted = Self::new();
        counted.count_this_thread();
        counted
    }

    /// Creates a recorder that lives as long as the process.
    fn new() -> &'static Self {
        Box::leak(Box::new(Self(PrometheusBuilder::new().build_recorder())))
    }

    fn count_this_thread(&'static self) {
        std::mem::forget(metrics::set_default_local_recorder(&self.0));
    }

    /// Returns the value of a counter.
    pub(crate) fn of(&self, name: &str) -> u64 {
        let text = self.0.handle().render();
        let count = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
        text.lines().find_map(count).unwrap_or(0)
    }
}

/// A backend: `User` is answered with not found, `Who` and sign-out wait for a permit of `leaves`, `Providers` panics.
pub(crate) struct Echo {
    /// Permits for waiting calls to finish.
    pub(crate) leaves: Semaphore,
    /// Calls in flight.
    pub(crate) under_way: AtomicUsize,
    /// Answered calls.
    pub(crate) answered: AtomicUsize,
}

struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Backend for Echo {
    async fn call(&self, call: Call) -> Result<Reply> {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let _under_way = UnderWay(&self.under_way);
        let outcome = match call {
            Call::User(name) => Err(Error::NotFound(name.to_string().into())),
            Call::Who { .. } | Call::Own { call: OwnAccountCall::SignOut, .. } => {
                self.leaves.acquire().await.unwrap().forget();
                Ok(Reply::Done)
            }
            #[expect(clippy::panic, reason = "a defect")]
            Call::Providers => panic!("a defect"),
            _ => Err(Error::internal("a secret of the database")),
        };
        self.answered.fetch_add(1, Ordering::SeqCst);
        outcome
    }
}

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) echo: Arc<Echo>,
    pub(crate) counted: &'static Counted,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
    /// A runtime of its own, so that all of its tasks can be aborted at once.
    runtime: Option<Runtime>,
}

impl Server {
    /// Starts a server on a free port.
    pub(crate) fn start(options: ServerOptions) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), options)
    }

    /// Starts a server at an address.
    pub(crate) fn start_at(address: SocketAddr, options: ServerOptions) -> Self {
        let counted = Counted::new();
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .on_thread_start(|| counted.count_this_thread())
            .build()
            .unwrap();
        let entered = runtime.enter();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(address).unwrap();
        let listener = socket.listen(4096).unwrap();
        let address = listener.local_addr().unwrap();
        drop(entered);
        let (leaves, under_way, answered) = (Semaphore::new(0), 0.into(), 0.into());
        let echo = Arc::new(Echo { leaves, under_way, answered });
        let stop = CancellationToken::new();
        let backend = Arc::clone(&echo) as Arc<dyn Backend>;
        let running = runtime.spawn(serve(listener, backend, options, stop.clone()));
        Self { address, echo, counted, stop, running: Some(running), runtime: Some(runtime) }
    }

    /// Begins a graceful stop.
    pub(crate) fn begin_to_stop(&self) {
        self.stop.cancel();
    }

    /// Stops the server and waits until it has ended.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        self.running.take().unwrap().await.unwrap();
    }

    /// Aborts all tasks of the server at once.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// Starts a pool of this many connections to the server.
    pub(crate) fn pool(&self, connections: usize) -> Pool {
        Pool::start(self.pool_options(connections))
    }

    pub(crate) fn pool_options(&self, connections: usize) -> PoolOptions {
        pool_options(self.address, connections)
    }
}

/// Default options of a pool of this many connections to a server.
pub(crate) fn pool_options(server: SocketAddr, connections: usize) -> PoolOptions {
    PoolOptions { connections, ..PoolOptions::new(vec![server.to_string()], key()) }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Calls `User` with this name and returns the text of the not-found error.
pub(crate) async fn ask(backend: &dyn Backend, name: &str) -> Result<String> {
    match backend.call(Call::User(Username::parse(name).unwrap())).await {
        Err(Error::NotFound(said)) => Ok(said.into_owned()),
        Err(error) => Err(error),
        Ok(reply) => Err(Error::internal(format!("{reply:?}"))),
    }
}

/// Makes this many calls at once and checks that each gets its own answer.
pub(crate) async fn ask_at_once(backend: &dyn Backend, calls: usize) {
    let names = (0..calls).map(|number| format!("name-{number}"));
    let asked = names.map(async |name| assert_eq!(ask(backend, &name).await.unwrap(), name));
    join_all(asked).await;
}

/// Reads until the peer closes the connection.
pub(crate) async fn said_by(stream: &mut TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    let read = timeout(Duration::from_secs(10), stream.read_to_end(&mut said)).await;
    // The connection may be reset.
    drop(read.expect("it closes"));
    said
}

/// Makes a call that waits for a permit of [`Echo::leaves`].
pub(crate) async fn wait(backend: &dyn Backend) -> Result<Reply> {
    backend.call(Call::who(SessionDigest::of("session"))).await
}

/// As [`wait`], in a task of its own.
pub(crate) fn wait_apart(pool: &Arc<Pool>) -> JoinHandle<Result<Reply>> {
    let pool = Arc::clone(pool);
    tokio::spawn(async move { wait(&*pool).await })
}

/// Waits for a condition for at most ten seconds.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::task::yield_now().await;
    }
}

pub(crate) fn is_unavailable<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::Unavailable { .. }))
}

/// A proxy to a server that forwards nothing to it after the handshake.
pub(crate) async fn one_way_proxy(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let server = TcpStream::connect(server).await.unwrap();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move {
                let _ = copy(&mut from_server, &mut to_client).await;
            });
            tokio::spawn(async move {
                // The client's part of the handshake is one frame.
                let length = from_client.read_u32().await.unwrap();
                let mut frame = vec![0; length as usize];
                from_client.read_exact(&mut frame).await.unwrap();
                to_server.write_u32(length).await.unwrap();
                to_server.write_all(&frame).await.unwrap();
                std::future::pending::<()>().await;
                drop((from_client, to_server));
            });
        }
    });
    address
}
