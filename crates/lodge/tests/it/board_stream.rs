//! Live streams of the board.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::{
    HttpConnection, Lodge, Response, Server, assert_fields, board::lodge, each, eventually_true,
};

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Default)]
struct StreamEvent {
    id: Option<String>,
    name: String,
    data: Value,
}

/// An open stream.
struct Stream {
    wire: HttpConnection,
    rest: String,
    told: VecDeque<StreamEvent>,
    has_ended: bool,
}

fn open(server: &Server, token: &str, query: &str, last: Option<&str>) -> (Stream, Response) {
    let path = format!("/lobby/stream{query}");
    let mut request = server.board(token, "GET", &path);
    if let Some(last) = last {
        request = request.header("Last-Event-ID", last);
    }
    let (wire, head) = request.begin();
    (Stream { wire, rest: String::new(), told: VecDeque::new(), has_ended: false }, head)
}

fn listen(server: &Server, token: &str, query: &str, last: Option<&str>) -> Stream {
    let (stream, head) = open(server, token, query, last);
    assert_eq!(head.status, 200, "{head:?}");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    stream
}

impl Stream {
    /// Returns the next event except heartbeats; `None` at the end.
    fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(told) = self.told.pop_front() {
                return Some(told);
            }
            if self.has_ended {
                return None;
            }
            let chunk = self.wire.read_chunk().unwrap();
            self.has_ended = chunk.is_empty();
            self.rest.push_str(std::str::from_utf8(&chunk).unwrap());
            while let Some((block, rest)) = self.rest.split_once("\n\n") {
                let told = parsed(block);
                self.rest = rest.to_owned();
                if let Some(told) = told {
                    self.told.push_back(told);
                }
            }
        }
    }

    /// Returns the next event with an id.
    fn event(&mut self) -> StreamEvent {
        self.until(|told| told.id.is_some())
    }

    /// Returns the data of the next event with this name.
    fn named(&mut self, name: &str) -> Value {
        self.until(|told| told.name == name).data
    }

    fn until(&mut self, wanted: impl Fn(&StreamEvent) -> bool) -> StreamEvent {
        loop {
            let told = self.next().expect("the stream has ended");
            if wanted(&told) {
                return told;
            }
        }
    }
}

fn parsed(block: &str) -> Option<StreamEvent> {
    let mut told = StreamEvent::default();
    let mut has_data = false;
    for line in block.lines() {
        let (field, value) = line.split_once(": ").unwrap();
        match field {
            "id" => told.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut told.name),
            "data" => {
                told.data = serde_json::from_str(value).unwrap();
                has_data = true;
            }
            _ => assert_eq!(field, "retry"),
        }
    }
    (has_data && told.name != "heartbeat").then_some(told)
}

fn usernames(people: &Value) -> Vec<Value> {
    each(&people["people"], "username")
}

#[test]
fn a_stream_replays_and_then_follows_every_event_once() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    for number in 0..120 {
        server.posted(&ada, &number.to_string(), &format!("{number}"));
    }
    let mut from_first = listen(&server, &bob, "?after=", None);
    let told: Vec<_> = (0..120).map(|_| from_first.event()).collect();
    for (number, told) in told.iter().enumerate() {
        assert_eq!(told.data["body"], number.to_string());
        // With a single origin, the cursor is the event's id.
        assert_eq!(told.id.as_deref(), told.data["id"].as_str());
    }
    let mut resumed = listen(&server, &bob, "?after=", told[99].id.as_deref());
    for told in &told[100..] {
        assert_eq!(resumed.event(), *told);
    }
    let mut new = listen(&server, &bob, "", None);
    new.named("people");
    for number in 120..123 {
        server.posted(&ada, &number.to_string(), &format!("{number}"));
        for stream in [&mut from_first, &mut resumed, &mut new] {
            assert_eq!(stream.event().data["body"], number.to_string());
        }
    }
    assert_eq!(open(&server, &bob, "?after=x", None).1.status, 400);
    assert_eq!(open(&server, &bob, "", Some("1:01")).1.status, 400);
}

#[test]
fn a_stream_resumed_after_a_crash_misses_nothing() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let mut stream = listen(&server, &ada, "?after=", None);
    server.posted(&ada, "a", "one");
    let last = stream.event().id;
    server.posted(&ada, "b", "two");
    let server = server.restart_after_kill();
    server.posted(&ada, "c", "three");
    let mut stream = listen(&server, &ada, "", last.as_deref());
    for body in ["two", "three"] {
        assert_eq!(stream.event().data["body"], body);
    }
}

#[test]
fn an_open_stream_gets_edits_and_hidden_text_is_not_replayed() {
    let server = lodge().start();
    let (ada, meg) = (server.member("ada"), server.moderator("meg"));
    let mut stream = listen(&server, &ada, "?after=", None);
    let id = server.posted(&ada, "a", "secret");
    assert_eq!(stream.event().data["body"], "secret");
    let path = format!("/lobby/messages/{id}");
    server.board(&ada, "PATCH", &path).json(json!({ "body": "secret too" })).send();
    assert_eq!(stream.event().data["body"], "secret too");
    server.board(&meg, "PUT", &format!("{path}/hidden")).expect(200);
    let told = stream.event().data;
    assert_fields(&told, json!({ "kind": "hide", "target": id, "hidden": true }));
    let mut again = listen(&server, &ada, "?after=", None);
    let told: Vec<_> = (0..3).map(|_| again.event().data).collect();
    assert!(!format!("{told:?}").contains("secret"), "{told:?}");
}

#[test]
fn a_stream_ends_with_its_session_or_bot_key() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let other = server.token("ada");
    let bot = server.lodge.admin(&["bot", "create", "weather"]).trim().to_owned();
    let (mut one, mut two) = (listen(&server, &ada, "", None), listen(&server, &other, "", None));
    let mut of_bot = listen(&server, &bot, "", None);
    server.delete("/api/session").bearer(&ada).expect(204);
    assert!(one.named("end")["why"].is_string());
    assert_eq!(one.next(), None);
    server.posted(&other, "a", "still here");
    assert_eq!(two.event().data["body"], "still here", "the other session continues");
    server.lodge.admin(&["bot", "revoke", "weather"]);
    assert!(of_bot.named("end")["why"].is_string());
    assert_eq!(of_bot.next(), None);
}

#[test]
fn a_ban_ends_open_streams() {
    let server = lodge().start();
    let (ada, meg) = (server.member("ada"), server.moderator("meg"));
    let (mut banned, mut other) =
        (listen(&server, &ada, "", None), listen(&server, &meg, "", None));
    assert_eq!(usernames(&other.named("people")), ["ada", "meg"]);
    server.board(&meg, "PUT", "/-/bans/ada").expect(204);
    assert!(banned.named("end")["why"].as_str().unwrap().contains("banned"));
    assert_eq!(banned.next(), None);
    assert_eq!(usernames(&other.named("leave")), ["ada"], "the banned member leaves the list");
    assert_eq!(open(&server, &ada, "", None).1.status, 403);
}

#[test]
fn a_new_name_reaches_open_streams() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let id = server.posted(&ada, "a", "hello");
    let mut stream = listen(&server, &bob, "", None);
    let _own = listen(&server, &ada, "", None);
    server.patch("/api/me").bearer(&ada).json(json!({ "nickname": "Countess" })).expect(200);
    assert_eq!(stream.named("person"), json!({ "username": "ada", "nickname": "Countess" }));
    let message = server.read_board(&bob, &format!("/lobby/messages/{id}"));
    assert_eq!(message["author"]["nickname"], "Countess");
    let people = server.read_board(&bob, "/lobby/people");
    assert_eq!(people["people"][1]["nickname"], "Countess");
}

#[test]
fn account_deletion_reaches_open_streams() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    server.posted(&ada, "a", "hello");
    let mut stream = listen(&server, &bob, "", None);
    assert_eq!(server.delete_account(&ada), 204);
    assert_eq!(stream.named("gone"), json!({ "username": "ada", "nickname": "" }));
}

#[test]
fn two_streams_of_a_member_count_as_one_present_member() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let mut first = listen(&server, &ada, "", None);
    assert_eq!(usernames(&first.named("people")), ["ada"]);
    let mut second = listen(&server, &ada, "", None);
    assert_eq!(usernames(&second.named("people")), ["ada"]);
    server.board(&bob, "GET", "/lobby/events").send();
    let people = server.read_board(&bob, "/lobby/people");
    assert_eq!(usernames(&people), ["ada", "bob"], "a polling member is present too");
}

#[test]
fn the_streams_of_a_member_are_limited() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let streams: Vec<_> = (0..20).map(|_| listen(&server, &ada, "", None)).collect();
    open(&server, &ada, "", None).1.expect_retry_after(429);
    let _other = listen(&server, &bob, "", None);
    drop(streams);
    eventually_true("the streams are closed", || open(&server, &ada, "", None).1.status == 200);
}

#[test]
fn streams_use_at_most_half_of_the_connections() {
    let (server, [ada]) = Lodge::new().with("LODGE_HTTP_CONNECTIONS_MAX", "20").start_with(["ada"]);
    let streams: Vec<_> = (0..10).map(|_| listen(&server, &ada, "", None)).collect();
    open(&server, &ada, "", None).1.expect_retry_after(503);
    server.posted(&ada, "a", "hello");
    for mut stream in streams {
        assert_eq!(stream.event().data["body"], "hello");
    }
}

#[test]
fn a_stop_ends_streams_and_does_not_wait_for_them() {
    let (server, [ada]) = lodge().with("LODGE_HTTP_SHUTDOWN_GRACE_S", "600").start_with(["ada"]);
    let mut stream = listen(&server, &ada, "", None);
    stream.named("people");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(stream.next(), None, "no `end` event, so that clients reconnect");
}
