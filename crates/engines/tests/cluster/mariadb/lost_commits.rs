//! Connections that are lost while the server commits.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use lodge_domain::{Error, Result};
use lodge_engines::mariadb::{MariaDb, Options};
use lodge_sql::{App, Failure, Tx, Value};
use mysql::prelude::Queryable as _;
use parking_lot::Mutex;

use super::{admin, empty_database, text};
use crate::redis::within;

/// What happens to the next COMMIT. The client's connection is closed in each case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// It does not reach the server, whose connection is closed.
    Request,
    /// It does not reach the server, whose connection stays open.
    RequestHeld,
    /// The server commits; its answer is lost.
    Answer,
}

/// A proxy in front of the server that loses a COMMIT.
#[derive(Default)]
struct Proxy {
    loss: Mutex<Option<Loss>>,
    held: Mutex<Vec<TcpStream>>,
    /// Runs when the server has committed, before the client's connection is closed.
    before_close: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Proxy {
    /// Listens in front of a server.
    fn start(server: SocketAddr) -> (Arc<Self>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = Arc::new(Self::default());
        let shared = Arc::clone(&proxy);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                let proxy = Arc::clone(&shared);
                thread::spawn(move || proxy.pass(&client, &server));
            }
        });
        (proxy, address)
    }

    /// Passes packets on until a connection ends.
    fn pass(self: &Arc<Self>, client: &TcpStream, server: &TcpStream) {
        let is_silent = Arc::new(AtomicBool::new(false));
        let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let (proxy, silent) = (Arc::clone(self), Arc::clone(&is_silent));
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                if silent.load(Ordering::SeqCst) {
                    if let Some(before_close) = proxy.before_close.lock().take() {
                        before_close();
                    }
                    break;
                }
                if to.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
        let _ = self.pass_requests(client, server, &is_silent);
        let _ = client.shutdown(Shutdown::Both);
    }

    fn pass_requests(
        &self,
        mut client: &TcpStream,
        mut server: &TcpStream,
        is_silent: &AtomicBool,
    ) -> io::Result<()> {
        loop {
            // Three bytes of length, one of sequence.
            let mut head = [0; 4];
            client.read_exact(&mut head)?;
            let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            let mut body = vec![0; length as usize];
            client.read_exact(&mut body)?;
            let loss = if body.ends_with(b"COMMIT") { self.loss.lock().take() } else { None };
            match loss {
                Some(Loss::Request) => return server.shutdown(Shutdown::Both),
                Some(Loss::RequestHeld) => {
                    self.held.lock().push(server.try_clone()?);
                    return Ok(());
                }
                Some(Loss::Answer) => is_silent.store(true, Ordering::SeqCst),
                None => {}
            }
            server.write_all(&head)?;
            server.write_all(&body)?;
        }
    }
}

/// A database with a row 1, behind a proxy, and how often a transaction ran.
struct Behind {
    proxy: Arc<Proxy>,
    mariadb: MariaDb,
    direct: Options,
    runs: Arc<AtomicU32>,
}

impl Behind {
    async fn start(name: &str) -> Self {
        let direct = empty_database(name);
        let mut admin = admin(&direct, name);
        admin.query_drop("CREATE TABLE counters (id INT PRIMARY KEY, number INT)").unwrap();
        admin.query_drop("INSERT INTO counters VALUES (1, 0)").unwrap();
        let (proxy, address) = Proxy::start(direct.nodes[0].parse().unwrap());
        let options = Options { nodes: vec![address.to_string()], writers: 1, ..direct.clone() };
        let mariadb = MariaDb::connect(options).await.unwrap();
        Self { proxy, mariadb, direct, runs: Arc::default() }
    }

    /// Adds one to the row, in a transaction whose first COMMIT is lost.
    async fn count(&self, loss: Loss) -> Result<u64> {
        *self.proxy.loss.lock() = Some(loss);
        let runs = Arc::clone(&self.runs);
        let work = move |tx: &mut dyn Tx| -> Result<u64, Failure> {
            runs.fetch_add(1, Ordering::SeqCst);
            tx.execute(
                &text("UPDATE counters SET number = number + 1 WHERE id = ?"),
                &[Value::Int(1)],
            )
        };
        let counted = self.mariadb.database().write(App::Accounts, work).await;
        assert!(self.proxy.loss.lock().is_none(), "a COMMIT was lost");
        counted
    }

    /// How often the transaction ran, and the row's number.
    fn counted(&self) -> (u32, u32) {
        let number = "SELECT number FROM counters";
        let number = admin(&self.direct, &self.direct.database).query_first(number);
        (self.runs.load(Ordering::SeqCst), number.unwrap().unwrap())
    }

    /// Whether a lookup waits: its statement takes no time otherwise.
    fn is_lookup_waiting(&self) -> bool {
        let waiting = "SELECT COUNT(*) FROM information_schema.processlist \
                       WHERE db = ? AND info LIKE 'INSERT INTO commits%fences + 1'";
        let database = (&self.direct.database,);
        let waiting: Option<u32> = admin(&self.direct, "").exec_first(waiting, database).unwrap();
        waiting != Some(0)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_commit_was_lost_with_its_answer_is_not_repeated() {
    let behind = Behind::start("lodge_answer_lost").await;
    assert_eq!(behind.count(Loss::Answer).await.unwrap(), 1);
    assert_eq!(behind.counted(), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_commit_did_not_arrive_runs_again() {
    let behind = Behind::start("lodge_commit_lost").await;
    assert_eq!(behind.count(Loss::Request).await.unwrap(), 1);
    assert_eq!(behind.counted(), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lookup_of_a_commit_waits_for_the_open_transaction() {
    let behind = Behind::start("lodge_commit_held").await;
    let (counted, ()) = tokio::join!(behind.count(Loss::RequestHeld), async {
        within(Duration::from_secs(10), async || behind.is_lookup_waiting()).await;
        behind.proxy.held.lock().drain(..).for_each(|server| {
            server.shutdown(Shutdown::Both).unwrap();
        });
    });
    assert_eq!(counted.unwrap(), 1);
    assert_eq!(behind.counted(), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_outcome_cannot_be_looked_up_is_not_repeated() {
    let behind = Behind::start("lodge_lookup_blocked").await;
    let blocker = Arc::new(Mutex::new(admin(&behind.direct, &behind.direct.database)));
    let locks = Arc::clone(&blocker);
    *behind.proxy.before_close.lock() = Some(Box::new(move || {
        let mut blocker = locks.lock();
        blocker.query_drop("BEGIN").unwrap();
        blocker.query_drop("UPDATE commits SET fences = fences + 1").unwrap();
    }));
    let counted = behind.count(Loss::Answer).await;
    assert!(matches!(counted, Err(Error::Unavailable { .. })), "{counted:?}");
    blocker.lock().query_drop("ROLLBACK").unwrap();
    assert_eq!(behind.counted(), (1, 1));
}
