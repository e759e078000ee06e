//! A database that fails while accounts are served from it: killed connections, no answer, a full disk.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use lodge_testbed::{Layout, OwnMariadb};
use serde_json::json;

use crate::{
    client::Request,
    server::{Lodge, Server, eventually_true, eventually_within, text},
};

const PASSWORD: &str = "correct horse battery";

/// The timeout of requests, in seconds.
const TIMEOUT_S: u64 = 3;

/// The longest answer: the timeout, and what a busy machine adds.
const ANSWERED: Duration = Duration::from_secs(TIMEOUT_S + 3);

/// Concurrent requests.
const AT_ONCE: usize = 24;

/// The most memory by which the server may grow while its database does not answer, in bytes.
const GROWTH_MAX: u64 = 16 << 20;

/// The longest time until sign-ins succeed again after space is free.
const SPACE_FOUND: Duration = Duration::from_secs(90);

/// The connections of all pools, by the default settings, and one that reads the feed.
const CONNECTIONS_MAX: usize = 27;

/// A server, and its database.
struct Served {
    server: Server,
    database: OwnMariadb,
    _lodge: Lodge,
}

impl Served {
    /// Starts a database and a server without a cache of sessions; ada has an account.
    fn start(database: fn(&Path, &Path) -> anyhow::Result<OwnMariadb>) -> Self {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let lodge = Lodge::new();
        let folder = lodge.file("mariadb");
        std::fs::create_dir(&folder).unwrap();
        let database = database(&folder, Layout::of(&workspace).cache()).unwrap();
        let lodge = lodge
            .with("LODGE_APPS", "links,accounts")
            .with("LODGE_HTTP_REQUEST_TIMEOUT_S", &TIMEOUT_S.to_string())
            .with("LODGE_PASSWORDS_THREADS", "2")
            .with("LODGE_ACCOUNTS_SESSION_CACHE_S", "0")
            .with("LODGE_ACCOUNTS_STORE", "mariadb")
            .with("LODGE_MARIADB_NODES", &database.address())
            .with("LODGE_MARIADB_PASSWORD_FILE", text(&database.password_file()));
        let served = Self { server: lodge.start(), database, _lodge: lodge };
        assert_eq!(status_in_time(&served.sign_up("ada"), 201), 201);
        served
    }

    fn sign_up(&self, name: &str) -> Request {
        let account = json!({ "username": name, "password": PASSWORD });
        self.server.post("/api/accounts").json(account)
    }

    fn sign_in(&self, name: &str) -> Request {
        let account = json!({ "username": name, "password": PASSWORD });
        self.server.post("/api/session").json(account)
    }

    fn token(&self) -> String {
        self.sign_in("ada").expect(200).json()["token"].as_str().unwrap().to_owned()
    }

    /// Signs up once more for each name whose sign-up was answered 503, and may have been done: all of them can sign in.
    fn check_accounts(&self, names: &[String], statuses: &[u16]) {
        for (name, status) in names.iter().zip(statuses) {
            if *status == 503 {
                assert!(matches!(self.sign_up(name).send().status, 201 | 409), "{name}");
            }
            self.sign_in(name).expect(200);
        }
    }

    /// The statuses of concurrent sign-ins.
    fn sign_ins(&self) -> Vec<u16> {
        let request = || status_in_time(&self.sign_in("ada"), 200);
        thread::scope(|scope| {
            let all: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(request)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }
}

/// Sends a request and returns the status of the answer, which must be `done`, or 503 with a `Retry-After`.
fn status_in_time(request: &Request, done: u16) -> u16 {
    let asked = Instant::now();
    let answer = request.send();
    let took = asked.elapsed();
    assert!(took < ANSWERED, "answered {} after {took:?}", answer.status);
    if answer.status != done {
        answer.expect_retry_after(503);
    }
    answer.status
}

#[test]
fn a_database_that_never_answers_is_503_in_time_and_takes_no_memory() {
    let served = Served::start(OwnMariadb::start);
    eventually_true("all sign-ins succeed", || served.sign_ins() == [200; AT_ONCE]);
    let before = served.server.memory_bytes();
    served.database.suspend().unwrap();
    for _ in 0..6 {
        assert_eq!(served.sign_ins(), [503; AT_ONCE]);
    }
    assert_eq!(served.server.put("/?short=gg&long=example.org").send().status, 201, "a link");
    let grown = served.server.memory_bytes().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "the memory grew by {grown} bytes");
    served.database.resume().unwrap();
    eventually_true("sign-ins succeed", || status_in_time(&served.sign_in("ada"), 200) == 200);
}

#[test]
fn killed_connections_are_replaced_and_no_connection_is_kept() {
    let served = Served::start(OwnMariadb::start);
    served.database.kill_connections().unwrap();
    served.sign_in("ada").expect(200);
    let names: Vec<String> = (0..100).map(|number| format!("skier{number}")).collect();
    let sign_ups = || names.iter().map(|name| status_in_time(&served.sign_up(name), 201)).collect();
    let statuses: Vec<u16> = thread::scope(|scope| {
        let running = scope.spawn(sign_ups);
        while !running.is_finished() {
            served.database.kill_connections().unwrap();
        }
        running.join().unwrap()
    });
    let done = statuses.iter().filter(|status| **status == 201).count();
    assert!(done >= names.len() / 2, "{done} of {} sign-ups", names.len());
    // A connection that was killed while it was opened is opened again after a pause.
    eventually_true("all sign-ins succeed", || served.sign_ins() == [200; AT_ONCE]);
    served.check_accounts(&names, &statuses);
    let kept = served.database.connections().unwrap();
    assert!(kept <= CONNECTIONS_MAX, "{kept} connections");
}

#[test]
fn a_full_disk_of_the_database_is_503_in_time_and_loses_no_account() {
    let served = Served::start(OwnMariadb::start_on_small_disk);
    let token = served.token();
    served.database.fill_disk().unwrap();
    let names: Vec<String> = (0..6).map(|number| format!("skier{number}")).collect();
    let statuses: Vec<u16> =
        names.iter().map(|name| status_in_time(&served.sign_up(name), 201)).collect();
    assert!(statuses.contains(&503), "the disk is not full: {statuses:?}");
    served.server.ask("GET", "/api/me").bearer(&token).expect(200);
    served.database.free_disk().unwrap();
    eventually_within(SPACE_FOUND, "all sign-ins succeed", || {
        (served.sign_ins() == [200; AT_ONCE]).then_some(())
    });
    served.check_accounts(&names, &statuses);
}
