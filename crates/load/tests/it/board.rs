//! A board that delivers every event once to all streams, and boards that do not.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};

use serde_json::{Value, json};

use crate::server::{Request, read_request};

mod runs;

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
    /// Each message's number and number of tries, by client id.
    tries: HashMap<String, (u64, u64)>,
    /// Posts by token.
    authors: BTreeMap<String, u64>,
}

/// How the server handles a post.
#[derive(Clone, Copy, PartialEq)]
enum Take {
    Store,
    /// Stores the message and answers with this status.
    StoreAndSay(u16),
    /// Stores the message and closes the connection.
    StoreAndClose,
    /// Stores the message, breaks all connections and accepts no new ones for a while.
    Crash,
    /// Stores the message under the number of the previous one.
    StoreAsLast,
    /// Stores the message after skipping a number.
    StoreAfterGap,
    /// Stores the message and answers with another id.
    StoreAndLie,
    /// Acknowledges the message without storing it.
    Pretend,
    Say(u16),
}

/// How a stream delivers an event.
#[derive(Clone, Copy, PartialEq)]
enum Tell {
    Once,
    Twice,
    Never,
    /// After the next one.
    Late,
    Misquote,
    Misdate,
    /// Once, and then ends the stream.
    AndEnd,
}

/// Where a stream resumes after a reconnect.
#[derive(Clone, Copy, PartialEq)]
enum Resume {
    Where,
    FromFirst,
    FromNow,
}

/// How a server misbehaves: `post` depends on the message's number, from 1, and the try; `tell` on the numbers
/// of the stream and of the event.
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
    /// Accepted connections.
    connections: Mutex<Vec<Weak<TcpStream>>>,
    /// The number of further connections to drop.
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

    /// Answers a post. Returns false to close the connection.
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

    /// Parses a cursor into the last number of each origin.
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

    /// Serves an API stream, or a page stream, whose events carry HTML instead of the body.
    fn stream(&self, request: &Request, mut out: &TcpStream) -> std::io::Result<()> {
        let is_page = request.path.starts_with("/board/");
        let signed_in = |name: &str, begins: &str| {
            request.headers.get(name).is_some_and(|value| value.starts_with(begins))
        };
        assert_eq!(signed_in("cookie", "lodge_session=token_load-"), is_page);
        assert_eq!(signed_in("authorization", "Bearer token_load-"), !is_page);
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
            if is_page {
                let text = data["body"].as_str().unwrap();
                data["html"] = json!(format!("<li><div class=\"said\"><p>{text}</p></div></li>"));
            }
            match tell {
                Tell::Never => continue,
                Tell::Misquote if is_page => {
                    let html = data["html"].as_str().unwrap();
                    data["html"] = json!(html.replace("</p>", " </p>"));
                }
                Tell::Misquote => {
                    data["body"] = json!(format!("{} ", data["body"].as_str().unwrap()));
                }
                Tell::Misdate => data["at"] = json!("2026-02-01T00:00:00.000000Z"),
                _ => {}
            }
            if is_page {
                data.as_object_mut().unwrap().remove("body");
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

    /// Waits for an event from this index on that is after the cursor `had`.
    fn next(&self, place: &mut usize, had: &BTreeMap<u32, u64>) -> (usize, Event) {
        let mut state = self.state.lock().unwrap();
        loop {
            while let Some(event) = state.events.get(*place) {
                *place += 1;
                if event.seq > had.get(&event.origin).copied().unwrap_or_default()
                    // Two events with one number are both delivered.
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

    /// Serves a connection until either side closes it.
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
                ("GET", "/api/board/lobby/stream" | "/board/lobby/live") => {
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

    /// Serves the same board on another address, with its own origin. Returns the address.
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

/// Writes the text in two chunks, so that events are split across chunks.
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
