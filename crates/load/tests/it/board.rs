//! A board that tells everybody everything once, and such that do not.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};

use lodge_load::Outcome;
use serde_json::{Value, json};

use crate::server::{Request, read_request};
use crate::{Ran, load_into};

#[derive(Clone)]
struct Event {
    origin: u32,
    seq: u64,
    client_id: String,
    json: Value,
}

#[derive(Default)]
struct State {
    events: Vec<Event>,
    passwords: HashMap<String, String>,
    sign_ups: u64,
    sign_ins: u64,
    streams: u64,
    /// Each message's number, and how often it was tried, by client id.
    tries: HashMap<String, (u64, u64)>,
    /// Posts of each token.
    authors: BTreeMap<String, u64>,
}

/// What a server does with a post.
#[derive(Clone, Copy, PartialEq)]
enum Take {
    Store,
    /// Stores it, and answers with this status.
    StoreAndSay(u16),
    /// Stores it, and closes the connection.
    StoreAndClose,
    /// Stores it, breaks all connections, and takes no new ones for a while.
    Crash,
    /// Stores it under the number of the one before.
    StoreAsLast,
    /// Stores it, and leaves out a number.
    StoreAfterGap,
    /// Stores it, and says another id.
    StoreAndLie,
    /// Says that it is stored.
    Pretend,
    Say(u16),
}

/// What a stream does with an event.
#[derive(Clone, Copy, PartialEq)]
enum Tell {
    Once,
    Twice,
    Never,
    /// After the next one.
    Late,
    Misquote,
    Misdate,
    /// It, and then the end of the stream.
    AndEnd,
}

/// Where a stream goes on that was cut.
#[derive(Clone, Copy, PartialEq)]
enum Resume {
    Where,
    FromFirst,
    FromNow,
}

/// How a server misbehaves; `post` by the message's number, from 1 on, and which try it is, `tell` by the stream's
/// number and the event's.
#[derive(Clone, Copy)]
struct Manner {
    post: fn(u64, u64) -> Take,
    tell: fn(u64, usize) -> Tell,
    resume: Resume,
}

const SOUND: Manner =
    Manner { post: |_, _| Take::Store, tell: |_, _| Tell::Once, resume: Resume::Where };

struct Board {
    manner: Manner,
    state: Mutex<State>,
    news: Condvar,
    /// As far as they were taken.
    connections: Mutex<Vec<Weak<TcpStream>>>,
    /// So many more are dropped.
    down: AtomicU64,
}

impl Board {
    fn answer(out: &mut impl Write, status: u16, body: &Value) -> std::io::Result<()> {
        let body = body.to_string();
        let length = body.len();
        write!(out, "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{body}")
    }

    fn credentials(&self, request: &Request) -> (u16, Value) {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let [name, password] =
            ["username", "password"].map(|field| body[field].as_str().unwrap().to_owned());
        let mut state = self.state.lock().unwrap();
        if request.path == "/api/session" {
            state.sign_ins += 1;
            let is_right = state.passwords.get(&name) == Some(&password);
            return (if is_right { 200 } else { 401 }, json!({ "token": format!("token_{name}") }));
        }
        state.sign_ups += 1;
        let is_new = !state.passwords.contains_key(&name);
        if is_new {
            state.passwords.insert(name, password);
        }
        (if is_new { 201 } else { 409 }, json!({}))
    }

    fn store(state: &mut State, origin: u32, take: Take, message: &Value) -> Value {
        let client_id = message["client_id"].as_str().unwrap().to_owned();
        if let Some(known) = state.events.iter().find(|event| event.client_id == client_id) {
            return known.json.clone();
        }
        let last =
            state.events.iter().filter(|event| event.origin == origin).map(|event| event.seq);
        let seq = last.max().unwrap_or_default()
            + match take {
                Take::StoreAsLast => 0,
                Take::StoreAfterGap => 2,
                _ => 1,
            };
        let json = json!({
            "id": format!("{origin}:{seq}"), "kind": "message",
            "at": format!("2026-01-01T00:00:00.{:06}Z", state.events.len()),
            "author": { "username": "ada", "nickname": "Ada" }, "body": message["body"],
        });
        if take != Take::Pretend {
            state.events.push(Event { origin, seq, client_id, json: json.clone() });
        }
        json
    }

    /// Answers a post; false closes the connection.
    fn post(&self, request: &Request, origin: u32, out: &mut impl Write) -> bool {
        let message: Value = serde_json::from_slice(&request.body).unwrap();
        let token = request.headers["authorization"].clone();
        assert!(token.starts_with("Bearer token_load-"), "{token}");
        let mut state = self.state.lock().unwrap();
        *state.authors.entry(token).or_default() += 1;
        let next = state.tries.len() as u64 + 1;
        let tried = state.tries.entry(message["client_id"].to_string()).or_insert((next, 0));
        tried.1 += 1;
        let take = (self.manner.post)(tried.0, tried.1);
        if let Take::Say(status) = take {
            drop(state);
            return Self::answer(out, status, &json!({})).is_ok();
        }
        let before = state.events.len();
        let mut event = Self::store(&mut state, origin, take, &message);
        let is_new = state.events.len() > before || take == Take::Pretend;
        drop(state);
        self.news.notify_all();
        let status = match take {
            Take::StoreAndClose => return false,
            Take::Crash => {
                self.crash();
                return false;
            }
            Take::StoreAndSay(status) => status,
            _ if is_new => 201,
            _ => 200,
        };
        if take == Take::StoreAndLie {
            event["id"] = json!("7:999999");
        }
        Self::answer(out, status, &event).is_ok()
    }

    fn crash(&self) {
        self.down.store(20, Ordering::SeqCst);
        for connection in self.connections.lock().unwrap().drain(..) {
            let _ = connection.upgrade().map(|open| open.shutdown(Shutdown::Both));
        }
    }

    fn is_down(&self) -> bool {
        let fewer = |left: u64| left.checked_sub(1);
        self.down.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok()
    }

    /// Where a reader is: how many of each origin.
    fn cursor(text: &str) -> BTreeMap<u32, u64> {
        let entry = |entry: &str| {
            let (origin, seq) = entry.split_once(':')?;
            Some((origin.parse().ok()?, seq.parse().ok()?))
        };
        text.split(',').filter_map(entry).collect()
    }

    fn write(cursor: &BTreeMap<u32, u64>) -> String {
        let entries = cursor.iter().map(|(origin, seq)| format!("{origin}:{seq}"));
        entries.collect::<Vec<_>>().join(",")
    }

    fn stream(&self, request: &Request, mut out: &TcpStream) -> std::io::Result<()> {
        let last = request.headers.get("last-event-id");
        let mut had = match (last, self.manner.resume) {
            (Some(_), Resume::FromFirst) => BTreeMap::new(),
            (Some(_), Resume::FromNow) => self.newest(),
            (Some(last), Resume::Where) => Self::cursor(last),
            (None, _) => Self::cursor(&request.query("after")),
        };
        let number = {
            let mut state = self.state.lock().unwrap();
            state.streams += 1;
            state.streams
        };
        write!(out, "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        chunk(out, "retry: 2000\n\nevent: people\ndata: {\"people\":[]}\n\n")?;
        let (mut place, mut late) = (0, None);
        loop {
            let (index, event) = self.next(&mut place, &had);
            had.insert(event.origin, event.seq);
            let mut data = event.json.clone();
            let tell = (self.manner.tell)(number, index);
            match tell {
                Tell::Never => continue,
                Tell::Misquote => {
                    data["body"] = json!(format!("{} ", data["body"].as_str().unwrap()));
                }
                Tell::Misdate => data["at"] = json!("2026-02-01T00:00:00.000000Z"),
                _ => {}
            }
            let text = format!("id: {}\ndata: {data}\n\n", Self::write(&had));
            if tell == Tell::Late {
                late = Some(text);
                continue;
            }
            for _ in 0..if tell == Tell::Twice { 2 } else { 1 } {
                chunk(out, &text)?;
            }
            if let Some(text) = late.take() {
                chunk(out, &text)?;
            }
            if tell == Tell::AndEnd {
                return out.write_all(b"0\r\n\r\n");
            }
        }
    }

    /// Waits for an event that is not had, from this place on.
    fn next(&self, place: &mut usize, had: &BTreeMap<u32, u64>) -> (usize, Event) {
        let mut state = self.state.lock().unwrap();
        loop {
            while let Some(event) = state.events.get(*place) {
                *place += 1;
                if event.seq > had.get(&event.origin).copied().unwrap_or_default()
                    // Two of one number are both told.
                    || (self.manner.post)(0, 0) == Take::StoreAsLast
                {
                    return (*place - 1, event.clone());
                }
            }
            state = self.news.wait(state).unwrap();
        }
    }

    fn newest(&self) -> BTreeMap<u32, u64> {
        let state = self.state.lock().unwrap();
        state.events.iter().map(|event| (event.origin, event.seq)).collect()
    }

    /// Until either side closes.
    fn converse(&self, stream: &TcpStream, origin: u32) {
        stream.set_nodelay(true).unwrap();
        let (mut reader, count) = (BufReader::new(stream), AtomicU64::new(0));
        while let Some(request) = read_request(&mut reader, &count) {
            let (path, mut out) = (request.path.split('?').next().unwrap(), stream);
            let goes_on = match (request.method.as_str(), path) {
                ("POST", "/api/accounts" | "/api/session") => {
                    let (status, body) = self.credentials(&request);
                    Self::answer(&mut out, status, &body).is_ok()
                }
                ("POST", "/api/board/lobby/messages") => self.post(&request, origin, &mut out),
                ("GET", "/api/board/lobby/events") => {
                    let cursor = Self::write(&self.newest());
                    Self::answer(&mut out, 200, &json!({ "events": [], "cursor": cursor })).is_ok()
                }
                ("GET", "/api/board/lobby/stream") => {
                    let _ = self.stream(&request, stream);
                    false
                }
                _ => Self::answer(&mut out, 404, &json!({})).is_ok(),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Another address of the same board, with an origin of its own.
    fn serve(self: &Arc<Self>, origin: u32) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let board = Arc::clone(self);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, board) = (Arc::new(stream.unwrap()), Arc::clone(&board));
                if board.is_down() {
                    continue;
                }
                board.connections.lock().unwrap().push(Arc::downgrade(&stream));
                std::thread::spawn(move || board.converse(&stream, origin));
            }
        });
        address
    }

    fn count(&self) -> f64 {
        u32::try_from(self.state.lock().unwrap().events.len()).unwrap().into()
    }
}

/// A chunk for each half of the text, so that nothing is where a reader would like it.
fn chunk(mut out: &TcpStream, text: &str) -> std::io::Result<()> {
    let (one, two) = text.split_at(text.len() / 2);
    for part in [one, two] {
        write!(out, "{:x}\r\n{part}\r\n", part.len())?;
    }
    Ok(())
}

fn board(manner: Manner) -> (SocketAddr, Arc<Board>) {
    let board = Arc::new(Board {
        manner,
        state: Mutex::default(),
        news: Condvar::new(),
        connections: Mutex::default(),
        down: AtomicU64::new(0),
    });
    (board.serve(7), board)
}

const OPTIONS: &str = "board --users 5 --rate 300 --duration 200ms --workers 2 --verify";

fn board_load(address: SocketAddr, options: &str) -> Ran {
    load_into(address, &format!("{OPTIONS} {options}"), &["json", "html"])
}

#[test]
fn streams_on_all_servers_are_proved_to_have_every_message_once() {
    let (address, board) = board(SOUND);
    let servers = format!("--streams-per-user 2 --servers http://{}", board.serve(9));
    let ran = board_load(address, &servers);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
    assert_eq!(ran.outcome, Outcome::Sound);
    ran.is("/messages/acknowledged", 60.0);
    ran.is("/verification/streams", 10.0);
    ran.is("/each_stream_ms/count", 600.0);
    ran.is("/until_last_ms/count", 60.0);
    ran.is("/posts/succeeded", 60.0);
    assert!((board.count() - 60.0).abs() < 1e-9);
    let origins = board.newest();
    assert!(origins[&7] > 0 && origins[&9] > 0, "posts went to one server alone: {origins:?}");
    for figure in ["mean 23430 ms", "mean 2600 ms", "250 clients", "10, 100 and 500 users"] {
        assert!(ran.text.contains(figure), "no {figure} in {}", ran.text);
    }
    assert!(ran.html.contains("VERIFIED") && ran.html.contains("post to the last stream"));
}

#[test]
fn what_is_lost_repeated_reordered_or_changed_is_told_apart() {
    let cases: [(&str, Manner, &[&str]); 10] = [
        (
            "lost on one stream",
            tell(|s, e| when(s == 2 && e == 9, Tell::Never)),
            &["missing", "gaps"],
        ),
        ("told twice", tell(|s, e| when(s == 2 && e == 9, Tell::Twice)), &["repeats"]),
        ("told late", tell(|s, e| when(s == 2 && e == 9, Tell::Late)), &["out_of_order"]),
        ("misquoted", tell(|s, e| when(s == 2 && e == 9, Tell::Misquote)), &["garbled", "missing"]),
        ("misdated", tell(|s, e| when(s == 2 && e == 9, Tell::Misdate)), &["misplaced"]),
        (
            "a number left out",
            post(|n, _| if n == 10 { Take::StoreAfterGap } else { Take::Store }),
            &["gaps"],
        ),
        (
            "two of one number",
            post(|n, _| if n % 10 == 0 { Take::StoreAsLast } else { Take::Store }),
            &["shared_places", "repeats"],
        ),
        (
            "another id",
            post(|n, _| if n == 10 { Take::StoreAndLie } else { Take::Store }),
            &["misplaced"],
        ),
        (
            "never stored",
            post(|n, _| if n == 10 { Take::Pretend } else { Take::Store }),
            &["missing"],
        ),
        (
            "refused and stored",
            post(|n, _| if n == 10 { Take::StoreAndSay(403) } else { Take::Store }),
            &["refused_stored"],
        ),
    ];
    std::thread::scope(|scope| {
        for (what, manner, faults) in cases {
            scope.spawn(move || assert_found(what, manner, faults));
        }
    });
}

/// The run is not verified, for these faults and for no others.
fn assert_found(what: &str, manner: Manner, faults: &[&str]) {
    let (address, _) = board(manner);
    // What never comes is waited for no longer than it takes.
    let catch_up = if faults.contains(&"missing") { "--catch-up 2s" } else { "" };
    let ran = board_load(address, catch_up);
    assert!(ran.text.ends_with("\nNOT VERIFIED\n"), "{what}: {}", ran.text);
    assert!(ran.text.contains("for example: "), "{what}: {}", ran.text);
    assert_eq!((ran.outcome, ran.outcome.exit_code()), (Outcome::Unsound, 1));
    for fault in faults {
        let count = ran.number(&format!("/verification/{fault}"));
        assert!(count > 0.0, "{what}: no {fault} in {}", ran.text);
    }
    // A reordered message is not lost, nor is a repeated one.
    for other in ["missing", "gaps", "repeats", "out_of_order", "garbled", "refused_stored"] {
        if !faults.contains(&other) {
            assert_eq!(ran.json["verification"][other], 0, "{what}: {}", ran.text);
        }
    }
}

fn tell(tell: fn(u64, usize) -> Tell) -> Manner {
    Manner { tell, ..SOUND }
}

fn post(post: fn(u64, u64) -> Take) -> Manner {
    Manner { post, ..SOUND }
}

fn when(is_so: bool, tell: Tell) -> Tell {
    if is_so { tell } else { Tell::Once }
}

#[test]
fn a_stream_that_is_cut_goes_on_from_where_it_was() {
    let (address, _) = board(SOUND);
    let ran = board_load(address, "--cut 20ms");
    assert!(ran.number("/ends/cut") >= 5.0, "{}", ran.text);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn a_stream_that_the_server_ends_is_opened_again() {
    let (address, _) = board(tell(|_, event| when(event % 10 == 3, Tell::AndEnd)));
    let ran = board_load(address, "");
    assert!(ran.number("/ends/lost") >= 5.0, "{}", ran.text);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn a_server_that_crashes_and_comes_back_is_waited_for() {
    let (address, _) = board(post(|number, tries| match (number, tries) {
        (20 | 40, 1) => Take::Crash,
        _ => Take::Store,
    }));
    let ran = board_load(address, "");
    ran.is("/messages/acknowledged", 60.0);
    assert!(ran.number("/ends/lost") >= 10.0, "{}", ran.text);
    assert!(ran.number("/messages/retries") >= 2.0, "{}", ran.text);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn a_server_that_forgets_where_a_stream_was_is_found_out() {
    for (resume, fault) in
        [(Resume::FromFirst, "repeats_after_reconnect"), (Resume::FromNow, "missing")]
    {
        let (address, _) = board(Manner { resume, ..SOUND });
        // Often enough that a message comes while a stream is not open.
        let ran = board_load(address, "--cut 5ms --catch-up 500ms");
        let count = ran.number(&format!("/verification/{fault}"));
        assert!(count > 0.0 && ran.text.ends_with("\nNOT VERIFIED\n"), "{fault}: {}", ran.text);
    }
}

#[test]
fn a_message_is_sent_again_under_its_client_id_until_it_is_acknowledged() {
    let (address, board) = board(post(|number, tries| match (number % 3, tries) {
        (0, 1) => Take::Say(503),
        (0, 2) | (1, 1) => Take::StoreAndClose,
        (2, 1) => Take::StoreAndSay(503),
        _ => Take::Store,
    }));
    let ran = board_load(address, "");
    ran.is("/messages/acknowledged", 60.0);
    ran.is("/messages/retries", 80.0);
    ran.is("/messages/new_as_repeat", 0.0);
    ran.is("/verification/unknown", 0.0);
    assert!((board.count() - 60.0).abs() < 1e-9, "{}", ran.text);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn a_message_of_unknown_outcome_may_be_there_once_or_not_at_all() {
    let (address, _) = board(post(|number, _| match number % 10 {
        3 => Take::StoreAndSay(503),
        7 => Take::Say(503),
        _ => Take::Store,
    }));
    let ran = board_load(address, "--patience 50ms");
    ran.is("/messages/acknowledged", 48.0);
    ran.is("/verification/unknown", 12.0);
    ran.is("/verification/unknown_stored", 6.0);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
    let uneven = Manner {
        post: |number, _| if number == 3 { Take::StoreAndSay(503) } else { Take::Store },
        // The stream that never hears of it hears of no number that is passed over either.
        tell: |stream, event| when(stream == 1 && event == 2, Tell::Never),
        ..SOUND
    };
    let (address, _) = self::board(uneven);
    let ran = board_load(address, "--patience 50ms --connections 1 --catch-up 2s");
    ran.is("/verification/unknown_uneven", 1.0);
    ran.is("/verification/missing", 0.0);
    assert!(ran.text.ends_with("\nNOT VERIFIED\n"), "{}", ran.text);
}

#[test]
fn nothing_is_verified_where_nothing_was_acknowledged() {
    let (address, _) = board(post(|_, _| Take::Say(403)));
    let ran = board_load(address, "");
    assert!(ran.text.ends_with("\nNOT VERIFIED: no message was acknowledged\n"), "{}", ran.text);
    ran.is("/messages/refused", 60.0);
    assert_eq!((ran.outcome, ran.outcome.exit_code()), (Outcome::Unsound, 1));
}

#[test]
fn in_a_closed_loop_every_account_posts_as_many() {
    let (address, board) = board(SOUND);
    let options = "board --users 7 --messages 11 --workers 2 --verify";
    let ran = load_into(address, options, &["json"]);
    ran.is("/messages/acknowledged", 77.0);
    ran.is("/until_last_ms/count", 77.0);
    let posts: Vec<u64> = board.state.lock().unwrap().authors.values().copied().collect();
    assert_eq!(posts, [11; 7]);
    assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
}

#[test]
fn tokens_that_are_kept_need_no_second_sign_in() {
    let (address, board) = board(SOUND);
    let folder = tempfile::tempdir().unwrap();
    let tokens = format!("--tokens {}", folder.path().join("tokens").display());
    let asked = || {
        let state = board.state.lock().unwrap();
        (state.sign_ups, state.sign_ins)
    };
    for (options, expected) in
        [(&*tokens, (5, 5)), (&*tokens, (5, 5)), ("", (10, 10)), (&*tokens, (10, 10))]
    {
        let ran = board_load(address, options);
        assert!(ran.text.ends_with("\nVERIFIED\n"), "{}", ran.text);
        assert_eq!(asked(), expected, "{options}");
    }
}
