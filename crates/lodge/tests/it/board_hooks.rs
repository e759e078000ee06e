//! Webhooks of the board: deliveries, their order and retries, and refused addresses.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lodge_domain::board::HookSecret;
use serde_json::{Value, json};

use crate::{
    DEADLINE, Lodge, Response, Server, assert_fields, board::lodge, eventually, eventually_true,
};

/// A webhook receiver on this machine.
struct HookReceiver {
    url: String,
    arrived: Receiver<Delivery>,
}

/// A delivery, and the connection for its response.
struct Delivery {
    head: Vec<String>,
    body: Vec<u8>,
    stream: TcpStream,
}

impl HookReceiver {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (sender, arrived) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A server that is killed may leave half a request.
                let Some(request) = read(stream) else { continue };
                if sender.send(request).is_err() {
                    return;
                }
            }
        });
        Self { url, arrived }
    }

    fn next(&self) -> Delivery {
        self.arrived.recv_timeout(DEADLINE).expect("no delivery in time")
    }

    /// Accepts the next delivery. Returns its id, kind and body.
    fn take(&self) -> Value {
        let next = self.next();
        let (id, body) = (next.header("webhook-id").to_owned(), next.json());
        next.answer("200 OK");
        json!([id, body["data"]["event"]["kind"], body["data"]["event"]["body"]])
    }

    fn has_come(&self) -> bool {
        !matches!(self.arrived.try_recv(), Err(TryRecvError::Empty))
    }
}

fn read(stream: TcpStream) -> Option<Delivery> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Delivery { head, body, stream: reader.into_inner() })
}

impl Delivery {
    fn header(&self, name: &str) -> &str {
        let value = self.head.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value.expect(name)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn answer(mut self, status: &str) {
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        // The server may have closed the connection.
        let _ = self.stream.write_all(answer.as_bytes());
    }
}

/// A board that may send webhooks to private addresses.
fn lodge_with_hooks() -> Lodge {
    lodge().with("LODGE_BOARD_HOOKS_PRIVATE", "true")
}

fn admin(lodge: &Lodge, server: &Server) -> String {
    let token = server.moderator("rosa");
    lodge.admin(&["user", "role", "rosa", "admin"]);
    eventually_true("the role counts", || server.board_status(&token, "GET", "/-/hooks") == 200);
    token
}

fn add(server: &Server, token: &str, url: &str) -> Response {
    server.board(token, "POST", "/-/hooks").json(json!({ "channel": "lobby", "url": url })).send()
}

fn hooks(server: &Server, token: &str) -> Vec<Value> {
    let answer = server.read_board(token, "/-/hooks");
    answer["hooks"].as_array().unwrap().clone()
}

#[test]
fn a_receiver_gets_signed_events_in_order_from_now_on() {
    let (lodge, server) = lodge_with_hooks().started();
    let (ada, root, told) = (server.member("ada"), admin(&lodge, &server), HookReceiver::new());
    server.posted(&ada, "before", "not delivered");
    let added = add(&server, &root, &told.url).expect(201);
    let secret = added.json()["secret"].as_str().unwrap().to_owned();
    assert!(hooks(&server, &root)[0].get("secret").is_none());

    let first = server.posted(&ada, "a", "one");
    let arrived = told.next();
    assert_eq!(arrived.head[0], "POST /hook HTTP/1.1");
    assert_eq!(arrived.header("content-type"), "application/json");
    let id = arrived.header("webhook-id");
    assert_eq!(id, format!("lobby/{first}"));
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let timestamp_s = arrived.header("webhook-timestamp").parse().unwrap();
    let signature =
        HookSecret::stored(key.try_into().unwrap()).sign(id, timestamp_s, &arrived.body);
    assert_eq!(arrived.header("webhook-signature"), signature);
    let events = server.read_board(&ada, "/lobby/events");
    let event = &events["events"][1];
    let told_of = json!({ "channel": "lobby", "event": event });
    let body = json!({ "type": "board.message", "timestamp": event["at"], "data": told_of });
    assert_eq!(arrived.json(), body);

    let path = format!("/lobby/messages/{first}");
    let edit = server.board(&ada, "PATCH", &path).json(json!({ "body": "two" })).send().json();
    let delete = server.board(&ada, "DELETE", &path).send().json();
    arrived.answer("204 No Content");
    for (event, kind) in [(edit, "edit"), (delete, "delete")] {
        let id = format!("lobby/{}", event["id"].as_str().unwrap());
        // The text of a deleted message is gone from its edits too.
        assert_eq!(told.take(), json!([id, kind, null]));
    }
    eventually_true("the cursor is stored", || {
        hooks(&server, &root)[0]["cursor"] == server.read_board(&ada, "/lobby/events")["cursor"]
    });
    assert!(!told.has_come(), "nothing is delivered twice");
}

#[test]
fn deliveries_in_flight_are_repeated_after_a_crash_and_none_is_lost() {
    let (lodge, server) = lodge_with_hooks().started();
    let (ada, root, told) = (server.member("ada"), admin(&lodge, &server), HookReceiver::new());
    assert_eq!(add(&server, &root, &told.url).status, 201);
    let ids: Vec<_> = ["a", "b", "c"].iter().map(|id| server.posted(&ada, id, id)).collect();
    let event =
        |place: usize, body: &str| json!([format!("lobby/{}", ids[place]), "message", body]);
    assert_eq!(told.take(), event(0, "a"));

    let under_way = told.next();
    assert_eq!(under_way.header("webhook-id"), format!("lobby/{}", ids[1]));
    server.kill();
    under_way.answer("200 OK");

    let server = lodge.start();
    let again = told.next();
    assert_eq!(again.header("webhook-id"), format!("lobby/{}", ids[1]));
    assert_eq!(server.stop(), Some(0), "an unresponsive receiver does not delay the stop");
    drop(again);

    let server = lodge.start();
    assert_eq!(told.take(), event(1, "b"));
    assert_eq!(told.take(), event(2, "c"));
    let cursor = server.read_board(&ada, "/lobby/events")["cursor"].clone();
    eventually_true("the cursor is stored", || hooks(&server, &root)[0]["cursor"] == cursor);
    assert!(!told.has_come());
}

#[test]
fn a_message_hidden_before_its_delivery_is_sent_without_text() {
    let (lodge, server) = lodge_with_hooks().started();
    let (ada, root, told) = (server.member("ada"), admin(&lodge, &server), HookReceiver::new());
    assert_eq!(add(&server, &root, &told.url).status, 201);
    server.posted(&ada, "a", "fine");
    let fine = told.next();
    let hidden = server.posted(&ada, "b", "a secret");
    let path = format!("/lobby/messages/{hidden}/hidden");
    server.board(&root, "PUT", &path).expect(200);
    fine.answer("200 OK");
    let arrived = told.next();
    let event = &arrived.json()["data"]["event"];
    assert_eq!((&event["id"], &event["visibility"]), (&json!(hidden), &json!("hidden")));
    assert!(event["body"].is_null() && !String::from_utf8_lossy(&arrived.body).contains("secret"));
    arrived.answer("200 OK");
    assert_eq!(told.take()[1], "hide");
}

#[test]
fn a_failing_receiver_is_retried_and_one_that_answers_410_is_disabled() {
    let (lodge, server) = lodge_with_hooks().started();
    let (ada, root) = (server.member("ada"), admin(&lodge, &server));
    let (fails, is_gone) = (HookReceiver::new(), HookReceiver::new());
    for told in [&fails, &is_gone] {
        assert_eq!(add(&server, &root, &told.url).status, 201);
    }
    server.posted(&ada, "a", "one");
    fails.next().answer("500 Internal Server Error");
    is_gone.next().answer("410 Gone");
    let [failing, disabled] = eventually("both failures are stored", || {
        let hooks: [Value; 2] = hooks(&server, &root).try_into().unwrap();
        hooks.iter().all(|hook| hook.get("why").is_some()).then_some(hooks)
    });
    let why = "the receiver answered 500 Internal Server Error";
    assert_fields(&failing, json!({ "failures": 1, "why": why }));
    assert!(failing["next_try"].as_str() > failing["failing_since"].as_str(), "{failing}");
    assert!(disabled["disabled_at"].is_string(), "{disabled}");
    let listed = lodge.admin_list(&["hook", "list"]);
    let states = [&listed[0][4], &listed[1][4]];
    assert!(states[0].starts_with("failing since "), "{states:?}");
    assert!(states[1].starts_with("disabled "), "{states:?}");
    server.posted(&ada, "b", "two");
    assert_eq!(fails.take()[2], "one");
    assert_eq!(fails.take()[2], "two");
    assert!(!is_gone.has_come());
}

#[test]
fn webhooks_to_private_addresses_are_refused() {
    let (lodge, server) = lodge().started();
    let root = admin(&lodge, &server);
    for url in [
        "http://127.0.0.1/",
        "https://10.1.2.3/",
        "http://0x7f.1/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://localhost:8080/",
    ] {
        let refused = add(&server, &root, url);
        let json = refused.json();
        assert_eq!((refused.status, &json["field"]), (400, &json!("url")), "{url}");
        assert!(json["detail"].as_str().unwrap().contains("board.hooks_private"), "{json}");
    }
}

#[test]
fn only_admins_manage_hooks() {
    let (lodge, server) = lodge_with_hooks().started();
    let (ada, meg) = (server.member("ada"), server.moderator("meg"));
    let bot = lodge.admin(&["bot", "create", "Weather"]).trim().to_owned();
    let (root, told) = (admin(&lodge, &server), HookReceiver::new());
    for token in [&ada, &meg, &bot] {
        assert_eq!(add(&server, token, &told.url).status, 403);
        server.board(token, "GET", "/-/hooks").expect(403);
        server.board(token, "DELETE", "/-/hooks/1").expect(403);
    }
    for (channel, url, status) in [
        ("nowhere", "https://example.org/", 404),
        ("lobby", "ftp://example.org/", 400),
        ("-", "https://example.org/", 400),
    ] {
        let hook = json!({ "channel": channel, "url": url });
        server.board(&root, "POST", "/-/hooks").json(&hook).expect(status);
    }
    let secret = lodge.admin(&["hook", "add", "lobby", &told.url]);
    assert!(secret.starts_with("whsec_"), "{secret}");
    let listed = lodge.admin_list(&["hook", "list"]);
    let [number, channel, url, _, state] = &listed[0][..] else { panic!("{listed:?}") };
    assert_eq!((&**number, &**channel, url, &**state), ("1", "lobby", &told.url, "ok"));
    assert!(!listed.concat().concat().contains(secret.trim()));
    server.posted(&ada, "a", "one");
    assert_eq!(told.take()[2], "one");

    for status in [204, 404] {
        assert_eq!(server.board_status(&root, "DELETE", "/-/hooks/1"), status);
    }
    let another = HookReceiver::new();
    lodge.admin(&["hook", "add", "lobby", &another.url]);
    server.posted(&ada, "b", "two");
    assert_eq!(another.take()[2], "two");
    assert!(!told.has_come(), "a removed hook gets no deliveries");
    lodge.admin(&["hook", "remove", "2"]);
    lodge.run(&["admin", "hook", "remove", "2"]).fails("there is no such webhook");
}
