//! The message board by its JSON API: posting, reading, editing, moderation and permissions.

use serde_json::{Value, json};

use crate::{Lodge, Request, Response, Server, assert_fields, each, eventually_true};

/// An installation without the limit on posts.
pub(crate) fn lodge() -> Lodge {
    // These tests post more than the default limit allows.
    Lodge::new().with("LODGE_LIMITS_POSTS_PER_MINUTE", "0")
}

impl Server {
    /// Signs up a moderator of the board. Returns the session token.
    pub(crate) fn moderator(&self, username: &str) -> String {
        let token = self.member(username);
        self.lodge.admin(&["user", "role", username, "moderator"]);
        eventually_true("the role is in effect", || {
            self.board_status(&token, "GET", "/-/reports") == 200
        });
        token
    }

    /// A request about the board.
    pub(crate) fn board(&self, token: &str, method: &str, path: &str) -> Request {
        self.ask(method, &format!("/api/board{path}")).bearer(token)
    }

    /// Reads a resource of the board, which must exist.
    pub(crate) fn read_board(&self, token: &str, path: &str) -> Value {
        self.board(token, "GET", path).expect(200).json()
    }

    /// Returns the status of a request without a body.
    pub(crate) fn board_status(&self, token: &str, method: &str, path: &str) -> u16 {
        self.board(token, method, path).send().status
    }

    /// Posts a message to the lobby.
    pub(crate) fn send_message(&self, token: &str, client_id: &str, body: &str) -> Response {
        let message = json!({ "client_id": client_id, "body": body });
        self.board(token, "POST", "/lobby/messages").json(message).send()
    }

    /// Posts a message to the lobby, which must succeed. Returns the message's id.
    pub(crate) fn posted(&self, token: &str, client_id: &str, body: &str) -> String {
        let event = self.send_message(token, client_id, body).expect(201).json();
        event["id"].as_str().unwrap().to_owned()
    }
}

fn bodies(page: &Value) -> Vec<Value> {
    each(&page["messages"], "body")
}

#[test]
fn a_message_is_stored_once_under_its_client_id() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let event = server.send_message(&ada, "one", " Fresh\r\nsnow! ").expect(201).json();
    assert_eq!((&event["kind"], &event["body"]), (&json!("message"), &json!("Fresh\nsnow!")));
    assert_eq!(event["author"], json!({ "username": "ada", "nickname": "ada" }));
    assert!(event.get("visibility").is_none() && event["at"].as_str().unwrap().ends_with('Z'));

    let again = server.send_message(&ada, "one", "Fresh\nsnow!");
    assert_eq!((again.status, again.json()), (200, event.clone()));
    server.send_message(&ada, "one", "Ice").expect_field_error(422, "client_id");
    // Client ids are scoped to the author.
    server.posted(&bob, "one", "Ice");
    assert_eq!(bodies(&server.read_board(&ada, "/lobby/messages")), ["Fresh\nsnow!", "Ice"]);
    let server = server.restart_after_kill();
    let again = server.send_message(&ada, "one", "Fresh\nsnow!").json();
    assert_eq!(again, event, "also after a crash");
}

#[test]
fn an_invalid_message_is_refused_with_the_field() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let send = |message: &Value| server.board(&ada, "POST", "/lobby/messages").json(message).send();
    let long = "⛷".repeat(2_001);
    for (message, field) in [
        (json!({ "client_id": "a", "body": " " }), "body"),
        (json!({ "client_id": "a", "body": long }), "body"),
        (json!({ "client_id": "a", "body": "a\u{0}b" }), "body"),
        (json!({ "client_id": "", "body": "a" }), "client_id"),
        (json!({ "client_id": "a b", "body": "a" }), "client_id"),
        (json!({ "client_id": "a", "body": "a", "reply_to": "x" }), "reply_to"),
        (json!({ "client_id": "a" }), "body"),
        (json!({ "client_id": "a", "body": "a", "boddy": "b" }), "boddy"),
    ] {
        send(&message).expect_field_error(400, field);
    }
    let answers_nothing = json!({ "client_id": "a", "body": "a", "reply_to": "7:1" });
    assert_eq!(send(&answers_nothing).status, 404);
    assert_eq!(send(&json!({ "client_id": "a", "body": "a".repeat(40_000) })).status, 413);
    // 2,000 characters are accepted even if each is escaped as twelve.
    let escaped = format!(r#"{{"client_id":"b","body":"{}"}}"#, "\\ud83d\\ude00".repeat(2_000));
    let ask_escaped = server.board(&ada, "POST", "/lobby/messages");
    ask_escaped.header("Content-Type", "application/json").body(escaped).expect(201);
    for channel in ["nowhere", "-", "UP!"] {
        let path = format!("/{channel}/messages");
        server
            .board(&ada, "POST", &path)
            .json(json!({ "client_id": "a", "body": "a" }))
            .expect(404);
    }
}

#[test]
fn the_board_cannot_be_read_or_written_without_signing_in() {
    let server = lodge().start();
    let paths =
        ["", "/lobby/messages", "/lobby/events", "/lobby/stream", "/lobby/people", "/-/unread"];
    for path in paths {
        let path = format!("/api/board{path}");
        assert_eq!(server.get(&path).status, 401, "{path}");
        for token in ["session_x", "lodge_bot_x", "lodge_x", ""] {
            server.ask("GET", &path).bearer(token).expect(401);
        }
    }
    server.post("/api/board/lobby/messages").json(json!({})).expect(401);
}

#[test]
fn events_are_numbered_without_gaps_and_read_in_both_directions() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    for number in 0..25 {
        server.posted(&ada, &number.to_string(), &format!("message {number}"));
    }
    let all = server.read_board(&ada, "/lobby/events");
    let ids = each(&all["events"], "id");
    let (origin, _) = ids[0].as_str().unwrap().split_once(':').unwrap();
    assert_eq!(ids, (1..=25).map(|seq| format!("{origin}:{seq}")).collect::<Vec<_>>());

    let (mut read, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server.read_board(&ada, &format!("/lobby/events?after={cursor}&limit=7"));
        read.extend(page["events"].as_array().unwrap().clone());
        page["cursor"].as_str().unwrap().clone_into(&mut cursor);
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(&read, all["events"].as_array().unwrap());
    let page = server.read_board(&ada, &format!("/lobby/events?after={cursor}"));
    assert_eq!((&page["events"], page["cursor"].as_str().unwrap()), (&json!([]), &*cursor));

    let mut back = Vec::new();
    let mut page = server.read_board(&ada, "/lobby/events?tail=4");
    loop {
        back.splice(0..0, page["events"].as_array().unwrap().clone());
        if page["more"] == false {
            break;
        }
        let start = page["start"].as_str().unwrap();
        page = server.read_board(&ada, &format!("/lobby/events?before={start}&limit=6"));
    }
    assert_eq!(&back, all["events"].as_array().unwrap());
    for wrong in
        ["after=x", "limit=0", "limit=501", "tail=0", "tail=2&after=", "before=1:01", "from=1:1"]
    {
        let path = format!("/lobby/events?{wrong}");
        assert_eq!(server.board_status(&ada, "GET", &path), 400, "{wrong}");
    }
    let newest = server.read_board(&ada, "/lobby/messages?limit=2");
    assert_eq!(bodies(&newest), ["message 23", "message 24"]);
    assert_eq!(newest["more"], true);
    let before = newest["messages"][0]["id"].as_str().unwrap();
    let earlier = server.read_board(&ada, &format!("/lobby/messages?limit=1&before={before}"));
    assert_eq!(bodies(&earlier), ["message 22"]);
}

#[test]
fn only_the_author_changes_a_message() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let mod_token = server.moderator("meg");
    let id = server.posted(&ada, "a", "mine");
    let path = format!("/lobby/messages/{id}");
    let edit = |token: &str, body: &str| {
        server.board(token, "PATCH", &path).json(json!({ "body": body })).send()
    };
    for other in [&bob, &mod_token] {
        assert_eq!(edit(other, "yours").status, 403);
        assert_eq!(server.board_status(other, "DELETE", &path), 403);
    }
    assert_eq!(server.read_board(&bob, &path)["body"], "mine");
    let edited = edit(&ada, "mine, still");
    assert_eq!((edited.status, &edited.json()["target"]), (200, &json!(id)), "{edited:?}");
    assert_eq!(edit(&ada, "mine, still").status, 204, "an edit without a change");
    let message = server.read_board(&bob, &path);
    assert_eq!(message["body"], "mine, still");
    assert!(message["edited_at"].is_string());
    assert_eq!(message["history"][0]["body"], "mine");
    assert_eq!(server.board_status(&ada, "DELETE", &path), 200);
    assert_eq!(server.board_status(&ada, "DELETE", &path), 204);
    assert_eq!(edit(&ada, "again").status, 410);
    for wrong in ["/lobby/messages/x", "/lobby/messages/7:999"] {
        assert_eq!(server.board_status(&ada, "DELETE", wrong), 404, "{wrong}");
    }
}

#[test]
fn hidden_and_deleted_text_is_never_sent_to_members() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let meg = server.moderator("meg");
    let (hidden, deleted) =
        (server.posted(&ada, "a", "secret one"), server.posted(&ada, "b", "secret two"));
    server
        .board(&ada, "PATCH", &format!("/lobby/messages/{hidden}"))
        .json(json!({ "body": "secret three" }))
        .send();
    let hide = format!("/lobby/messages/{hidden}/hidden");
    assert_eq!(server.board_status(&bob, "PUT", &hide), 403, "only staff hide");
    assert_eq!(server.board_status(&ada, "PUT", &hide), 403, "not even the author");
    assert_eq!(server.board_status(&meg, "PUT", &hide), 200);
    assert_eq!(server.board_status(&meg, "PUT", &hide), 204);
    assert_eq!(server.board_status(&ada, "DELETE", &format!("/lobby/messages/{deleted}")), 200);
    for path in ["/lobby/events", "/lobby/messages", "/-/search?q=secret"] {
        let answer = server.board(&bob, "GET", path).send();
        assert!(answer.status == 200 && !answer.text().contains("secret"), "{path}: {answer:?}");
    }
    let events = server.read_board(&bob, "/lobby/events");
    assert_eq!(events["events"].as_array().unwrap().len(), 5, "placeholders stay: {events}");
    assert_eq!(events["events"][0]["visibility"], "hidden");
    assert_fields(&events["events"][1], json!({ "visibility": "deleted", "body": null }));
    let path = format!("/lobby/messages/{hidden}");
    assert_eq!(server.read_board(&meg, &path)["body"], "secret three");
    assert_eq!(server.board_status(&meg, "DELETE", &hide), 200);
    assert_eq!(server.read_board(&bob, &path)["body"], "secret three");
}

#[test]
fn reactions_are_counted_and_reports_are_settled() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let meg = server.moderator("meg");
    let id = server.posted(&ada, "a", "hello");
    let sign = format!("/lobby/messages/{id}/reactions/%F0%9F%91%8D");
    assert_eq!(server.board_status(&bob, "PUT", &sign), 200);
    assert_eq!(server.board_status(&bob, "PUT", &sign), 204);
    server.board(&bob, "PUT", &format!("/lobby/messages/{id}/reactions/no")).expect(400);
    let message = server.read_board(&ada, &format!("/lobby/messages/{id}"));
    assert_eq!(message["reactions"], json!([{ "reaction": "👍", "count": 1, "mine": false }]));
    assert_eq!(server.board_status(&bob, "DELETE", &sign), 200);

    let report = server
        .board(&bob, "POST", &format!("/lobby/messages/{id}/reports"))
        .json(json!({ "reason": "rude" }));
    report.expect(204);
    assert_eq!(server.board_status(&bob, "GET", "/-/reports"), 403);
    let reports = server.read_board(&meg, "/-/reports");
    let report = &reports["reports"][0];
    assert_eq!(json!([report["reason"], report["message"]["id"]]), json!(["rude", id]));
    assert_eq!(report["by"]["username"], "bob");
    let settle = format!("/-/reports/{}", report["id"]);
    assert_eq!(server.board_status(&bob, "DELETE", &settle), 403);
    assert_eq!(server.board_status(&meg, "DELETE", &settle), 204);
    assert_eq!(server.read_board(&meg, "/-/reports"), json!({ "reports": [] }));
}

#[test]
fn only_staff_create_channels_and_slow_mode_limits_members() {
    let server = lodge().start();
    let (ada, meg) = (server.member("ada"), server.moderator("meg"));
    let make = |token: &str, name: &str| {
        server.board(token, "POST", "").json(json!({ "channel": name, "topic": "Up" })).send()
    };
    assert_eq!(make(&ada, "lift-7").status, 403);
    assert_eq!(make(&meg, "Lift-7").status, 201);
    assert_eq!(make(&meg, "lift-7").status, 200, "the channel exists");
    assert_eq!(make(&meg, "lift 7").status, 400);
    let channels = server.read_board(&ada, "");
    let channels = &channels["channels"];
    assert_eq!(json!([channels[0]["channel"], channels[1]["topic"]]), json!(["lobby", "Up"]));

    let slow = |token: &str, change: &Value| {
        server.board(token, "PATCH", "/lobby").json(change).send().status
    };
    assert_eq!(slow(&ada, &json!({ "slow_mode_s": 60 })), 403);
    assert_eq!(slow(&meg, &json!({ "slow_mode_s": 99_999 })), 400);
    assert_eq!(slow(&meg, &json!({ "slow_mode_s": 60 })), 200);
    server.posted(&ada, "a", "one");
    server.send_message(&ada, "b", "two").expect_retry_after(429);
    assert_eq!(server.send_message(&ada, "a", "one").status, 200, "a repeat is not a new message");
    server.posted(&meg, "a", "one");
    server.posted(&meg, "b", "two");
}

#[test]
fn posts_are_limited_per_minute_and_bots_get_ten_times_the_limit() {
    let (server, [ada, bob]) =
        Lodge::new().with("LODGE_LIMITS_POSTS_PER_MINUTE", "2").start_with(["ada", "bob"]);
    let bot = server.lodge.admin(&["bot", "create", "weather"]).trim().to_owned();
    let sent = |token: &str| {
        (0..100)
            .take_while(|number| {
                server.send_message(token, &format!("{number}"), "x").status == 201
            })
            .count()
    };
    assert_eq!(sent(&ada), 2);
    server.send_message(&ada, "z", "x").expect_retry_after(429);
    assert_eq!(sent(&bob), 2, "each member has a separate limit");
    assert!((20..22).contains(&sent(&bot)));
}

#[test]
fn bots_write_with_a_key_until_it_is_revoked() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let bot = server.lodge.admin(&["bot", "create", "Weather"]).trim().to_owned();
    assert!(bot.starts_with("lodge_bot_"), "{bot}");
    let id = server.posted(&bot, "a", "−7 °C");
    let message = server.read_board(&ada, &format!("/lobby/messages/{id}"));
    let author = json!({ "username": "Weather", "nickname": "Weather", "bot": true });
    assert_eq!(message["author"], author);
    assert_eq!(server.board_status(&ada, "DELETE", &format!("/lobby/messages/{id}")), 403);
    assert_eq!(server.board_status(&bot, "GET", "/-/reports"), 403, "a bot does not moderate");
    // The key is valid for the board only.
    server.ask("GET", "/api/links").bearer(&bot).expect(401);
    assert_eq!(server.lodge.admin_list(&["bot", "list"])[0][0], "Weather");
    server.lodge.admin(&["bot", "revoke", "Weather"]);
    assert_eq!(server.send_message(&bot, "b", "x").status, 401);
    server.lodge.run(&["admin", "bot", "revoke", "unknown"]).fails("no bot with this name");
}

#[test]
fn a_banned_member_cannot_read_or_write_the_board() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let meg = server.moderator("meg");
    assert_eq!(server.board_status(&meg, "PUT", "/-/bans/bob"), 404, "bob is new to it");
    server.posted(&bob, "a", "hello");
    assert_eq!(server.board_status(&ada, "PUT", "/-/bans/bob"), 403);
    assert_eq!(server.board_status(&meg, "PUT", "/-/bans/meg"), 403, "staff ban those below them");
    assert_eq!(server.board_status(&meg, "PUT", "/-/bans/bob"), 204);
    assert_eq!(server.read_board(&meg, "/-/bans")["bans"][0]["person"]["username"], "bob");
    for path in ["", "/lobby/messages", "/lobby/events", "/lobby/stream", "/-/unread"] {
        assert_eq!(server.board_status(&bob, "GET", path), 403, "{path}");
    }
    assert_eq!(server.send_message(&bob, "b", "hello").status, 403);
    assert!(server.is_signed_in(&bob), "a ban from the board does not affect the account");
    assert_eq!(server.board_status(&meg, "DELETE", "/-/bans/bob"), 204);
    assert_eq!(server.send_message(&bob, "b", "hello").status, 201);
}

#[test]
fn markup_is_stored_as_plain_text() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let evil = "</script><script>alert(1)</script>\n\ndata: x\n\nid: 9 & \"quoted\" \u{2028}";
    let id = server.posted(&ada, "a", evil);
    let answer = server.board(&ada, "GET", &format!("/lobby/messages/{id}")).send();
    assert_eq!(answer.json()["body"], evil.trim());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(server.read_board(&ada, "/lobby/events")["events"][0]["body"], evil.trim());
}

#[test]
fn unread_messages_are_counted_until_they_are_read() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let cursor = server.read_board(&bob, "/lobby/messages")["cursor"].clone();
    let read = |cursor: &Value| {
        server.board(&bob, "PUT", "/lobby/read").json(json!({ "cursor": cursor })).send().status
    };
    assert_eq!(read(&cursor), 204);
    server.posted(&ada, "a", "hello");
    server.posted(&ada, "b", "hello @bob");
    let unread = server.read_board(&bob, "/-/unread");
    assert_eq!(unread["channels"][0], json!({ "channel": "lobby", "messages": 2, "mentions": 1 }));
    assert_eq!(read(&server.read_board(&bob, "/lobby/events")["cursor"]), 204);
    assert_eq!(read(&json!("x")), 400);
    let unread = server.read_board(&bob, "/-/unread");
    assert!(each(&unread["channels"], "messages").iter().all(|count| *count == 0), "{unread}");
    let server = server.restart();
    let unread = server.read_board(&bob, "/-/unread");
    assert_eq!(unread["channels"], json!([]), "read positions are stored at shutdown");
}

#[test]
fn messages_are_exported_and_stay_without_a_name_after_account_deletion() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let id = server.posted(&ada, "a", "I was here");
    let file = server.ask("GET", "/api/me/export").bearer(&ada).send().json();
    assert_eq!(file["messages"][0]["body"], "I was here", "{file}");
    assert_eq!(server.delete_account(&ada), 204);
    eventually_true("the name is removed", || {
        let message = server.read_board(&bob, &format!("/lobby/messages/{id}"));
        assert_eq!(message["body"], "I was here");
        message["author"] == json!({ "username": "", "nickname": "" })
    });
}

#[test]
fn the_board_brings_accounts() {
    let (server, [ada]) = lodge().with("LODGE_APPS", "board").start_with(["ada"]);
    server.posted(&ada, "a", "hello");
    assert!(server.lodge.run(&["check"]).out.contains("apps board, accounts"));
    assert_eq!(server.get("/api/rides/ledger").status, 404);
}

#[test]
fn a_refusal_says_what_would_be_accepted() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    for path in ["/lobby/messages?before=zz", "/lobby/events?before=zz"] {
        server.board(&ada, "GET", path).send().expect_field_error(400, "before");
    }
    server
        .ask("GET", "/board/lobby?before=zz")
        .session(&ada)
        .send()
        .expect_field_error(400, "before");
    for asked in
        [server.ask("GET", "/api/board"), server.ask("GET", "/api/board").bearer("nothing")]
    {
        let refused = asked.expect(401).json();
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("session") && detail.contains("key of a bot"), "{detail}");
    }
}
