//! Ride workloads against servers that count rides correctly, and servers that do not.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lodge_load::RunOutcome;
use serde_json::{Value, json};

use crate::server::{Reply, Request};
use crate::{Ran, load_into, loopback};

/// A ride in the server's store.
#[derive(Clone, PartialEq)]
struct Ride {
    resort: u64,
    skier: u64,
    time: u64,
    lift: u64,
}

/// The rides of a correct server.
#[derive(Default)]
struct Rides {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    events: HashMap<String, Ride>,
    duplicates: u64,
    codings: HashSet<String>,
}

/// The result of storing a ride.
#[derive(Clone, Copy, PartialEq)]
enum Taken {
    New,
    Again,
    Another,
}

impl Kept {
    fn take(&mut self, id: &str, ride: Ride) -> Taken {
        match self.events.get(id) {
            None => {
                self.events.insert(id.to_owned(), ride);
                Taken::New
            }
            Some(known) if *known == ride => {
                self.duplicates += 1;
                Taken::Again
            }
            Some(_) => Taken::Another,
        }
    }
}

/// The vertical of the one lift that has an entry in the table.
const VERTICAL_OF_FIRST: u64 = 777;

fn vertical(ride: &Ride) -> u64 {
    if (ride.resort, ride.lift) == (1, 1) { VERTICAL_OF_FIRST } else { ride.lift * 10 }
}

impl Rides {
    fn count(&self) -> usize {
        self.kept.lock().unwrap().events.len()
    }

    fn post(&self, request: &Request) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let parts: Vec<&str> = request.path.split('/').collect();
        let ride = Ride {
            resort: parts[2].parse().unwrap(),
            skier: parts[8].parse().unwrap(),
            time: body["time"].as_u64().unwrap(),
            lift: body["liftID"].as_u64().unwrap(),
        };
        match self.kept.lock().unwrap().take(&request.headers["idempotency-key"], ride) {
            Taken::New => Reply::Body(201, "", Vec::new()),
            Taken::Again => Reply::Body(201, "Idempotency-Replayed: true\r\n", Vec::new()),
            Taken::Another => Reply::Body(400, "", b"{\"message\":\"known\"}".to_vec()),
        }
    }

    /// Stores the lines of a batch for which `taken` is true; the others are answered with 503.
    fn batch(&self, request: &Request, taken: impl Fn(usize) -> bool) -> Reply {
        let coding = request.headers.get("content-encoding").cloned().unwrap_or_default();
        let mut body = Vec::new();
        match coding.as_str() {
            "" => body.clone_from(&request.body),
            "gzip" => {
                flate2::read::GzDecoder::new(&*request.body)
                    .read_to_end(&mut body)
                    .map(drop)
                    .unwrap();
            }
            "zstd" => body = zstd::decode_all(&*request.body).unwrap(),
            other => panic!("{other}"),
        }
        let mut kept = self.kept.lock().unwrap();
        kept.codings.insert(coding);
        let (mut answer, mut whole) = (String::new(), 200);
        for (index, line) in body.split(|byte| *byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let line: Value = serde_json::from_slice(line).unwrap();
            let number = |name: &str| line[name].as_u64().unwrap();
            let ride = Ride {
                resort: number("resortID"),
                skier: number("skierID"),
                time: number("time"),
                lift: number("liftID"),
            };
            let id = line["id"].as_str().unwrap();
            let status = match taken(index).then(|| kept.take(id, ride)) {
                None => 503,
                Some(Taken::New) => 201,
                Some(Taken::Again) => 200,
                Some(Taken::Another) => 400,
            };
            whole = whole.max(if status < 400 { 200 } else { status });
            answer += &json!({ "line": index + 1, "status": status, "id": id }).to_string();
            answer.push('\n');
        }
        Reply::Body(whole, "", answer.into_bytes())
    }

    fn get(&self, path: &str) -> Reply {
        let kept = self.kept.lock().unwrap();
        let answer = |body: Value| Reply::Body(200, "", body.to_string().into_bytes());
        let parts: Vec<&str> = path.split('/').collect();
        let number = |at: usize| parts[at].parse::<u64>().unwrap();
        match parts[1..] {
            ["resorts", ..] => {
                let of = kept.events.values().filter(|ride| ride.resort == number(2));
                let skiers: HashSet<u64> = of.map(|ride| ride.skier).collect();
                answer(json!({ "time": "Mission Ridge", "numSkiers": skiers.len() }))
            }
            ["api", "rides", "resorts"] => answer(json!({ "resorts": [{
                "resortID": 1, "name": "Mission Ridge",
                "lifts": [{ "liftID": 1, "vertical": VERTICAL_OF_FIRST }, { "liftID": 2, "vertical": 20 }],
            }] })),
            ["api", "rides", "ledger"] => answer(json!({
                "since_start": { "accepted": 0, "stored": 0, "duplicates": 0, "in_flight": 0, "refused": 0 },
                "for_ever": { "stored": kept.events.len(), "duplicates": kept.duplicates, "refused": 0 },
            })),
            ["skiers", _, "seasons", ..] => {
                let of = |ride: &&Ride| (ride.resort, ride.skier) == (number(2), number(8));
                match kept.events.values().filter(of).map(vertical).sum::<u64>() {
                    0 => Reply::Body(404, "", Vec::new()),
                    sum => answer(json!(sum)),
                }
            }
            ["skiers", ..] => {
                let of = kept.events.values().filter(|ride| ride.skier == number(2));
                match of.map(vertical).sum::<u64>() {
                    0 => Reply::Body(404, "", Vec::new()),
                    sum => answer(json!({ "resorts": [{ "seasonID": "2025", "totalVert": sum }] })),
                }
            }
            _ => Reply::Body(404, "", Vec::new()),
        }
    }

    /// Handles a request as a correct server does.
    fn serve(&self, request: &Request) -> Reply {
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/api/rides") => self.batch(request, |_| true),
            ("POST", _) => self.post(request),
            (_, path) => self.get(path),
        }
    }
}

/// A correct server, unless `handle` answers the request first.
fn rides(
    handle: impl Fn(&Request, &Rides) -> Option<Reply> + Send + Sync + 'static,
) -> (SocketAddr, Arc<Rides>) {
    let rides = Arc::new(Rides::default());
    let served = Arc::clone(&rides);
    let address =
        loopback(move |request| handle(request, &served).unwrap_or_else(|| served.serve(request)));
    (address, rides)
}

fn sound() -> (SocketAddr, Arc<Rides>) {
    rides(|_, _| None)
}

/// Counts the requests by key.
#[derive(Default)]
struct Seen(Mutex<HashMap<String, u32>>);

impl Seen {
    /// Counts one more request with this key. Returns the count.
    fn times(&self, key: &str) -> u32 {
        let mut seen = self.0.lock().unwrap();
        let times = seen.entry(key.to_owned()).or_default();
        *times += 1;
        *times
    }
}

fn ride_load(address: SocketAddr, options: &str) -> Ran {
    load_into(address, &format!("{options} --resorts 3 --skiers 40 --lifts 4"), &["json"])
}

#[test]
fn rides_are_sent_in_two_phases_and_verified() {
    let (address, rides) = sound();
    let ran = ride_load(
        address,
        "rides -n 3000 --first-threads 2 --threads 8 --workers 2 --verify --repeat-percent 20",
    );
    assert_eq!((ran.outcome, rides.count()), (RunOutcome::Passed, 3000), "{}", ran.text);
    ran.is("/rows/0/figures/succeeded", 2000.0);
    ran.is("/rows/1/figures/succeeded", 1000.0);
    ran.is("/rows/2/figures/succeeded", 3000.0);
    ran.is("/events/acknowledged", 3000.0);
    let repeats = ran.number("/events/repeats_replayed");
    assert!((400.0..800.0).contains(&repeats), "{}", ran.text);
    ran.are("/verification", [("skier_days_wrong", 0.0), ("skier_days", 120.0)]);
    ran.is("/verification/ledger/stored", 3000.0);
    assert!(ran.text.contains("\nVERIFIED\n"), "{}", ran.text);
    assert!(ran.text.contains("10,970/s"), "{}", ran.text);
}

#[test]
fn an_event_is_retried_with_its_id_until_it_is_answered() {
    let seen = Seen::default();
    let (address, rides) = rides(move |request, rides| {
        let key = request.headers.get("idempotency-key")?;
        match seen.times(key) {
            1 => Some(Reply::Body(503, "Retry-After: 0\r\n", Vec::new())),
            // Stored, but the response is lost.
            2 => {
                rides.serve(request);
                Some(Reply::Close)
            }
            _ => None,
        }
    });
    let ran = ride_load(address, "rides -n 100 --first-threads 0 --threads 50 --verify");
    ran.are("/events", [("acknowledged", 100.0), ("retries", 200.0), ("new_as_replayed", 0.0)]);
    assert_eq!((ran.outcome, rides.count()), (RunOutcome::Passed, 100), "{}", ran.text);
}

#[test]
fn a_lost_ride_and_a_double_count_are_found() {
    let (address, _) = rides(|request, rides| match request.number {
        50 if request.method == "POST" => Some(Reply::Body(201, "", Vec::new())),
        60 if request.method == "POST" => {
            let mut twin = request.clone();
            twin.headers.insert("idempotency-key".to_owned(), "another".to_owned());
            rides.serve(&twin);
            None
        }
        _ => None,
    });
    let ran = ride_load(
        address,
        "rides -n 100 --first-threads 0 --threads 1 --verify --season 2031-b --day 9",
    );
    ran.is("/events/acknowledged", 100.0);
    ran.is("/verification/skier_days_wrong", 2.0);
    assert_eq!((ran.outcome, ran.outcome.exit_code()), (RunOutcome::Failed, 1));
    assert!(
        ran.text.contains("VERIFICATION FAILED")
            && ran.text.contains("/seasons/2031-b/days/9/skiers/"),
        "{}",
        ran.text
    );
}

#[test]
fn an_event_of_unknown_outcome_may_be_stored_or_not() {
    let (address, rides) = rides(|request, rides| {
        let key = request.headers.get("idempotency-key")?;
        match key.bytes().last()? {
            b'0'..=b'1' => Some(Reply::Body(500, "", Vec::new())),
            b'2'..=b'3' => {
                rides.serve(request);
                Some(Reply::Body(500, "", Vec::new()))
            }
            b'4'..=b'5' => Some(Reply::Body(400, "", Vec::new())),
            _ => None,
        }
    });
    let ran = ride_load(address, "rides -n 200 --first-threads 0 --threads 50 --verify");
    let [acknowledged, unknown, refused] =
        ["acknowledged", "unknown", "refused"].map(|name| ran.number(&format!("/events/{name}")));
    assert!((acknowledged + unknown + refused - 200.0).abs() < 1e-9, "{}", ran.text);
    assert!(unknown > 0.0 && refused > 0.0, "{}", ran.text);
    ran.is("/events/retries", unknown * 5.0);
    let stored = u32::try_from(rides.count()).unwrap();
    ran.is("/verification/ledger/stored", f64::from(stored));
    ran.are("/verification", [("asked_again", unknown), ("unknown", unknown)]);
    ran.is("/verification/skier_days_wrong", 0.0);
    assert!(ran.text.contains("\nNOT VERIFIED: ") && !ran.text.contains("\nVERIFIED"));
    assert_eq!((ran.outcome, ran.outcome.exit_code()), (RunOutcome::Failed, 1), "{}", ran.text);
}

#[test]
fn a_run_with_refused_events_is_not_reported_as_verified() {
    for (refused_of_ten, words, outcome) in [
        (10, "\nNOTHING TO VERIFY: no event was acknowledged\n", RunOutcome::Failed),
        (1, "\nPASSED: ", RunOutcome::Passed),
        (0, "\nVERIFIED\n", RunOutcome::Passed),
    ] {
        let posts = AtomicU64::new(0);
        let (address, _) = rides(move |request, _| {
            let is_refused = request.method == "POST"
                && posts.fetch_add(1, Ordering::SeqCst) % 10 < refused_of_ten;
            is_refused.then(|| Reply::Body(401, "", Vec::new()))
        });
        let ran = ride_load(address, "rides -n 20 --first-threads 0 --threads 2 --verify");
        assert!(ran.text.contains(words), "{}", ran.text);
        assert_eq!(ran.text.contains("VERIFIED"), refused_of_ten == 0, "{}", ran.text);
        assert_eq!(ran.outcome, outcome, "{}", ran.text);
    }
}

#[test]
fn events_of_unknown_outcome_are_sent_again_until_it_is_known() {
    for command in ["rides --first-threads 0 --threads 5", "rides-batch --lines 10 -c 5"] {
        let seen = Seen::default();
        let unanswered: Mutex<HashSet<Vec<u8>>> = Mutex::default();
        let (address, rides) = rides(move |request, rides| {
            if request.path == "/api/rides" && request.method == "POST" {
                let mut unanswered = unanswered.lock().unwrap();
                let is_new = unanswered.len() < 5 && unanswered.insert(request.body.clone());
                return (is_new || unanswered.contains(&request.body)).then(|| {
                    // Half of the batch is stored.
                    rides.batch(request, |index| index % 2 == 0);
                    Reply::Body(503, "", Vec::new())
                });
            }
            let key = request.headers.get("idempotency-key")?;
            let tries = seen.times(key);
            let stays_silent = key.ends_with(['0', '1', '2', '3']);
            (stays_silent && tries <= 6).then(|| {
                if key.ends_with(['0', '1']) {
                    rides.serve(request);
                }
                Reply::Close
            })
        });
        let ran = ride_load(address, &format!("{command} -n 100 --verify"));
        assert!(ran.number("/verification/asked_again") > 0.0, "{}", ran.text);
        ran.is("/verification/unknown", 0.0);
        ran.is("/verification/ledger/least", 100.0);
        assert!(ran.text.contains("\nVERIFIED\n"), "{}", ran.text);
        assert_eq!((ran.outcome, rides.count()), (RunOutcome::Passed, 100), "{}", ran.text);
    }
}

#[test]
fn a_repeat_that_counts_as_new_is_found() {
    let (address, _) = rides(|request, _| {
        request.headers.get("idempotency-key").map(|_| Reply::Body(201, "", Vec::new()))
    });
    let ran = ride_load(address, "rides -n 100 --first-threads 0 --threads 2 --repeat-percent 50");
    assert!(ran.number("/events/repeats_as_new") > 10.0, "{}", ran.text);
    assert_eq!(ran.outcome, RunOutcome::Failed);
}

#[test]
fn verify_refuses_a_day_that_has_rides() {
    let (address, _) = sound();
    let first = ride_load(address, "rides -n 10 --first-threads 0 --threads 1 --verify");
    assert_eq!(first.outcome, RunOutcome::Passed, "{}", first.text);
    let words = format!("load rides --url http://{address} -n 10 --verify");
    let cli = <crate::Cli as clap::Parser>::try_parse_from(words.split(' ')).unwrap();
    let error = lodge_load::run_to(&cli.load, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("choose another --season or --day"), "{error}");
}

#[test]
fn an_open_loop_sends_all_events_that_fall_due() {
    let (address, rides) = sound();
    let ran = ride_load(address, "rides --rate 500 --duration 400ms --threads 8 --verify");
    ran.is("/rows/0/figures/count", 200.0);
    assert_eq!((ran.outcome, rides.count()), (RunOutcome::Passed, 200), "{}", ran.text);
    assert!(ran.number("/pacing/lag_ms/count") > 0.0);
}

#[test]
fn batches_are_compressed_repeated_and_verified() {
    for coding in ["none", "gzip", "zstd"] {
        let (address, rides) = sound();
        let ran = ride_load(
            address,
            &format!(
                "rides-batch -n 2550 --lines 200 -c 3 --compress {coding} --verify --repeat-percent 25"
            ),
        );
        assert_eq!((ran.outcome, rides.count()), (RunOutcome::Passed, 2550), "{}", ran.text);
        ran.is("/rows/0/figures/succeeded", 17.0);
        ran.is("/events/acknowledged", 2550.0);
        assert!(ran.number("/events/repeats_replayed") >= 500.0, "{}", ran.text);
        let named = if coding == "none" { "" } else { coding };
        assert!(rides.kept.lock().unwrap().codings.contains(named));
    }
}

#[test]
fn lines_that_were_not_stored_are_retried_and_lost_answers_count_once() {
    let posts = AtomicU64::new(0);
    let (address, rides) = rides(move |request, rides| {
        if request.method != "POST" {
            return None;
        }
        match posts.fetch_add(1, Ordering::SeqCst) % 4 {
            0 => Some(rides.batch(request, |index| index % 3 > 0)),
            1 => {
                rides.serve(request);
                Some(Reply::Close)
            }
            2 => Some(Reply::Body(503, "", b"{\"message\":\"full\"}".to_vec())),
            _ => None,
        }
    });
    let ran = ride_load(address, "rides-batch -n 300 --lines 100 -c 1 --verify");
    ran.are("/events", [("acknowledged", 300.0), ("retries", 9.0)]);
    assert_eq!((ran.outcome, rides.count()), (RunOutcome::Passed, 300), "{}", ran.text);
}

/// A server that answers each request after its first byte, and reads no more.
fn impatient() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if stream.read(&mut [0]).unwrap_or(0) > 0 {
                let _ = stream.write_all(b"HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n");
            }
            open.push(stream);
        }
    });
    address
}

#[test]
fn a_batch_that_is_refused_before_it_is_read_is_not_of_unknown_outcome() {
    // More than the socket buffers between client and server can hold.
    let long = "a".repeat(16 << 20);
    let options = format!("rides-batch -n 10 -c 1 --timeout 5s -H X-Long:{long}");
    let ran = ride_load(impatient(), &options);
    ran.is("/events/refused", 10.0);
    ran.is("/rows/0/figures/errors_by_kind/status 413", 1.0);
}

#[test]
fn rides_are_read_with_each_number_of_clients() {
    let (address, _) = sound();
    ride_load(address, "rides -n 30 --first-threads 0 --threads 2");
    let ran = ride_load(address, "rides-get --samples 50 --clients 2,5");
    for row in 0..6 {
        ran.is(&format!("/rows/{row}/figures/succeeded"), 50.0);
    }
    ran.is("/rows/1/connections", 5.0);
    assert!(ran.number("/absent") > 0.0);
    for figure in ["5,033.03/s", "17.5 ms", "57.12 ms", "3,724/s p99 144 ms"] {
        assert!(ran.text.contains(figure), "no {figure} in {}", ran.text);
    }
    let open = ride_load(address, "rides-get --rate 600 --duration 500ms --clients 4");
    ran.is("/rows/0/figures/errors", 0.0);
    open.is("/rows/3/figures/count", 300.0);
    assert_eq!((ran.outcome, open.outcome), (RunOutcome::Passed, RunOutcome::Passed));
}
