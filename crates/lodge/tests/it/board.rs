//! The message board by its JSON API: what is written, read, changed, hidden, and by whom.

use serde_json::{Value, json};

use crate::{
    accounts,
    client::{Answer, Ask, each, holds},
    server::{Lodge, Server, eventually_true},
};

/// A server with the board.
pub(crate) fn lodge() -> Lodge {
    // What is sent by these tests is more than one person types.
    Lodge::new().with("LODGE_LIMITS_POSTS_PER_MINUTE", "0")
}

impl Server {
    /// Signs up a moderator of the board; returns the session token.
    pub(crate) fn moderator(&self, username: &str) -> String {
        let token = self.member(username);
        self.lodge.admin(&["user", "role", username, "moderator"]);
        eventually_true("the role is known", || {
            ask(self, &token, "GET", "/-/reports").send().status == 200
        });
        token
    }
}

/// A request about the board.
pub(crate) fn ask(server: &Server, token: &str, method: &str, path: &str) -> Ask {
    server.ask(method, &format!("/api/board{path}")).bearer(token)
}

/// Writes to the lobby.
pub(crate) fn post(server: &Server, token: &str, client_id: &str, body: &str) -> Answer {
    let message = json!({ "client_id": client_id, "body": body });
    ask(server, token, "POST", "/lobby/messages").json(&message).send()
}

/// The same, which must work; the message's id.
pub(crate) fn posted(server: &Server, token: &str, client_id: &str, body: &str) -> String {
    post(server, token, client_id, body).expect(201).json()["id"].as_str().unwrap().to_owned()
}

fn get(server: &Server, token: &str, path: &str) -> Value {
    ask(server, token, "GET", path).expect(200).json()
}

fn status(server: &Server, token: &str, method: &str, path: &str) -> u16 {
    ask(server, token, method, path).send().status
}

fn bodies(page: &Value) -> Vec<Value> {
    each(&page["messages"], "body")
}

#[test]
fn a_message_is_stored_once_under_its_client_id() {
    let server = lodge().start();
    let [ada, bob] = server.members(["ada", "bob"]);
    let event = post(&server, &ada, "one", " Fresh\r\nsnow! ").expect(201).json();
    assert_eq!((&event["kind"], &event["body"]), (&json!("message"), &json!("Fresh\nsnow!")));
    assert_eq!(event["author"], json!({ "username": "ada", "nickname": "ada" }));
    assert!(event.get("visibility").is_none() && event["at"].as_str().unwrap().ends_with('Z'));

    let again = post(&server, &ada, "one", "Fresh\nsnow!");
    assert_eq!((again.status, again.json()), (200, event.clone()));
    post(&server, &ada, "one", "Ice").is_about(422, "client_id");
    assert_eq!(post(&server, &bob, "one", "Ice").status, 201, "another person's id is another");
    let page = get(&server, &ada, "/lobby/messages");
    assert_eq!(bodies(&page), ["Fresh\nsnow!", "Ice"]);
    let server = server.restart_after_kill();
    assert_eq!(post(&server, &ada, "one", "Fresh\nsnow!").json(), event, "also after a crash");
}

#[test]
fn what_cannot_be_written_is_refused_by_name() {
    let server = lodge().start();
    let ada = server.member("ada");
    let send = |message: &Value| ask(&server, &ada, "POST", "/lobby/messages").json(message).send();
    let long = "⛷".repeat(2_001);
    for (message, field) in [
        (json!({ "client_id": "a", "body": " " }), "body"),
        (json!({ "client_id": "a", "body": long }), "body"),
        (json!({ "client_id": "a", "body": "a\u{0}b" }), "body"),
        (json!({ "client_id": "", "body": "a" }), "client_id"),
        (json!({ "client_id": "a b", "body": "a" }), "client_id"),
        (json!({ "client_id": "a", "body": "a", "reply_to": "x" }), "reply_to"),
        (json!({ "client_id": "a" }), "body"),
        (json!({ "client_id": "a", "body": "a", "boddy": "b" }), "body"),
    ] {
        send(&message).is_about(400, field);
    }
    let answers_nothing = json!({ "client_id": "a", "body": "a", "reply_to": "7:1" });
    assert_eq!(send(&answers_nothing).status, 404);
    assert_eq!(send(&json!({ "client_id": "a", "body": "a".repeat(40_000) })).status, 413);
    // 2,000 characters fit, also where each is written as twelve.
    let escaped = format!(r#"{{"client_id":"b","body":"{}"}}"#, "\\ud83d\\ude00".repeat(2_000));
    let ask_escaped = ask(&server, &ada, "POST", "/lobby/messages");
    ask_escaped.header("Content-Type", "application/json").body(escaped).expect(201);
    for channel in ["nowhere", "-", "UP!"] {
        let path = format!("/{channel}/messages");
        ask(&server, &ada, "POST", &path)
            .json(json!({ "client_id": "a", "body": "a" }))
            .expect(404);
    }
}

#[test]
fn nobody_reads_or_writes_without_being_signed_in() {
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
fn events_are_numbered_without_a_gap_and_read_both_ways() {
    let server = lodge().start();
    let ada = server.member("ada");
    for number in 0..25 {
        posted(&server, &ada, &number.to_string(), &format!("message {number}"));
    }
    let all = get(&server, &ada, "/lobby/events");
    let ids = each(&all["events"], "id");
    let (origin, _) = ids[0].as_str().unwrap().split_once(':').unwrap();
    assert_eq!(ids, (1..=25).map(|seq| format!("{origin}:{seq}")).collect::<Vec<_>>());

    let (mut read, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(&server, &ada, &format!("/lobby/events?after={cursor}&limit=7"));
        read.extend(page["events"].as_array().unwrap().clone());
        page["cursor"].as_str().unwrap().clone_into(&mut cursor);
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(&read, all["events"].as_array().unwrap());
    let page = get(&server, &ada, &format!("/lobby/events?after={cursor}"));
    assert_eq!((&page["events"], page["cursor"].as_str().unwrap()), (&json!([]), &*cursor));

    let mut back = Vec::new();
    let mut page = get(&server, &ada, "/lobby/events?tail=4");
    loop {
        back.splice(0..0, page["events"].as_array().unwrap().clone());
        if page["more"] == false {
            break;
        }
        let start = page["start"].as_str().unwrap();
        page = get(&server, &ada, &format!("/lobby/events?before={start}&limit=6"));
    }
    assert_eq!(&back, all["events"].as_array().unwrap());
    for wrong in
        ["after=x", "limit=0", "limit=501", "tail=0", "tail=2&after=", "before=1:01", "from=1:1"]
    {
        let path = format!("/lobby/events?{wrong}");
        assert_eq!(status(&server, &ada, "GET", &path), 400, "{wrong}");
    }
    let newest = get(&server, &ada, "/lobby/messages?limit=2");
    assert_eq!(
        json!([bodies(&newest), newest["more"]]),
        json!([["message 23", "message 24"], true])
    );
    let before = newest["messages"][0]["id"].as_str().unwrap();
    let earlier = get(&server, &ada, &format!("/lobby/messages?limit=1&before={before}"));
    assert_eq!(bodies(&earlier), ["message 22"]);
}

#[test]
fn nobody_changes_what_somebody_else_wrote() {
    let server = lodge().start();
    let [ada, bob] = server.members(["ada", "bob"]);
    let mod_token = server.moderator("meg");
    let id = posted(&server, &ada, "a", "mine");
    let path = format!("/lobby/messages/{id}");
    let edit = |token: &str, body: &str| {
        ask(&server, token, "PATCH", &path).json(json!({ "body": body })).send()
    };
    for other in [&bob, &mod_token] {
        assert_eq!(edit(other, "yours").status, 403);
        assert_eq!(status(&server, other, "DELETE", &path), 403);
    }
    assert_eq!(get(&server, &bob, &path)["body"], "mine");
    let edited = edit(&ada, "mine, still");
    assert_eq!((edited.status, &edited.json()["target"]), (200, &json!(id)), "{edited:?}");
    assert_eq!(edit(&ada, "mine, still").status, 204, "it says so already");
    let message = get(&server, &bob, &path);
    assert_eq!(message["body"], "mine, still");
    assert!(message["edited_at"].is_string());
    assert_eq!(message["history"][0]["body"], "mine");
    assert_eq!(status(&server, &ada, "DELETE", &path), 200);
    assert_eq!(status(&server, &ada, "DELETE", &path), 204);
    assert_eq!(edit(&ada, "again").status, 410);
    for wrong in ["/lobby/messages/x", "/lobby/messages/7:999"] {
        assert_eq!(status(&server, &ada, "DELETE", wrong), 404, "{wrong}");
    }
}

#[test]
fn what_is_hidden_or_deleted_is_told_to_nobody_who_may_not_read_it() {
    let server = lodge().start();
    let [ada, bob] = server.members(["ada", "bob"]);
    let meg = server.moderator("meg");
    let (hidden, deleted) =
        (posted(&server, &ada, "a", "secret one"), posted(&server, &ada, "b", "secret two"));
    ask(&server, &ada, "PATCH", &format!("/lobby/messages/{hidden}"))
        .json(json!({ "body": "secret three" }))
        .send();
    let hide = format!("/lobby/messages/{hidden}/hidden");
    assert_eq!(status(&server, &bob, "PUT", &hide), 403, "staff alone hide");
    assert_eq!(status(&server, &ada, "PUT", &hide), 403, "and nobody their own");
    assert_eq!(status(&server, &meg, "PUT", &hide), 200);
    assert_eq!(status(&server, &meg, "PUT", &hide), 204);
    assert_eq!(status(&server, &ada, "DELETE", &format!("/lobby/messages/{deleted}")), 200);
    for path in ["/lobby/events", "/lobby/messages", "/-/search?q=secret"] {
        let answer = ask(&server, &bob, "GET", path).send();
        assert!(answer.status == 200 && !answer.text().contains("secret"), "{path}: {answer:?}");
    }
    let events = get(&server, &bob, "/lobby/events");
    assert_eq!(events["events"].as_array().unwrap().len(), 5, "each keeps its place: {events}");
    assert_eq!(events["events"][0]["visibility"], "hidden");
    holds(&events["events"][1], json!({ "visibility": "deleted", "body": null }));
    assert_eq!(get(&server, &meg, &format!("/lobby/messages/{hidden}"))["body"], "secret three");
    assert_eq!(status(&server, &meg, "DELETE", &hide), 200);
    assert_eq!(get(&server, &bob, &format!("/lobby/messages/{hidden}"))["body"], "secret three");
}

#[test]
fn signs_are_counted_and_reports_are_settled() {
    let server = lodge().start();
    let [ada, bob] = server.members(["ada", "bob"]);
    let meg = server.moderator("meg");
    let id = posted(&server, &ada, "a", "hello");
    let sign = format!("/lobby/messages/{id}/reactions/%F0%9F%91%8D");
    assert_eq!(status(&server, &bob, "PUT", &sign), 200);
    assert_eq!(status(&server, &bob, "PUT", &sign), 204);
    assert_eq!(status(&server, &bob, "PUT", &format!("/lobby/messages/{id}/reactions/no")), 400);
    let message = get(&server, &ada, &format!("/lobby/messages/{id}"));
    assert_eq!(message["reactions"], json!([{ "reaction": "👍", "count": 1, "mine": false }]));
    assert_eq!(status(&server, &bob, "DELETE", &sign), 200);

    let report = ask(&server, &bob, "POST", &format!("/lobby/messages/{id}/reports"))
        .json(json!({ "reason": "rude" }));
    report.expect(204);
    assert_eq!(status(&server, &bob, "GET", "/-/reports"), 403);
    let reports = get(&server, &meg, "/-/reports");
    let report = &reports["reports"][0];
    assert_eq!(json!([report["reason"], report["message"]["id"]]), json!(["rude", id]));
    assert_eq!(report["by"]["username"], "bob");
    let settle = format!("/-/reports/{}", report["id"]);
    assert_eq!(status(&server, &bob, "DELETE", &settle), 403);
    assert_eq!(status(&server, &meg, "DELETE", &settle), 204);
    assert_eq!(get(&server, &meg, "/-/reports"), json!({ "reports": [] }));
}

#[test]
fn channels_are_made_by_staff_and_slow_mode_slows_members() {
    let server = lodge().start();
    let (ada, meg) = (server.member("ada"), server.moderator("meg"));
    let make = |token: &str, name: &str| {
        ask(&server, token, "POST", "").json(json!({ "channel": name, "topic": "Up" })).send()
    };
    assert_eq!(make(&ada, "lift-7").status, 403);
    assert_eq!(make(&meg, "Lift-7").status, 201);
    assert_eq!(make(&meg, "lift-7").status, 200, "it is there");
    assert_eq!(make(&meg, "lift 7").status, 400);
    let channels = get(&server, &ada, "");
    let channels = &channels["channels"];
    assert_eq!(json!([channels[0]["channel"], channels[1]["topic"]]), json!(["lobby", "Up"]));

    let slow = |token: &str, change: &Value| {
        ask(&server, token, "PATCH", "/lobby").json(change).send().status
    };
    assert_eq!(slow(&ada, &json!({ "slow_mode_s": 60 })), 403);
    assert_eq!(slow(&meg, &json!({ "slow_mode_s": 99_999 })), 400);
    assert_eq!(slow(&meg, &json!({ "slow_mode_s": 60 })), 200);
    posted(&server, &ada, "a", "one");
    post(&server, &ada, "b", "two").is_put_off(429);
    assert_eq!(post(&server, &ada, "a", "one").status, 200, "a repetition is none");
    posted(&server, &meg, "a", "one");
    posted(&server, &meg, "b", "two");
}

#[test]
fn somebody_sends_so_much_a_minute_and_a_bot_ten_times_as_much() {
    let (lodge, server) = Lodge::new().with("LODGE_LIMITS_POSTS_PER_MINUTE", "2").started();
    let [ada, bob] = server.members(["ada", "bob"]);
    let bot = lodge.admin(&["bot", "create", "weather"]).trim().to_owned();
    let sent = |token: &str| {
        (0..100)
            .take_while(|number| post(&server, token, &format!("{number}"), "x").status == 201)
            .count()
    };
    assert_eq!(sent(&ada), 2);
    post(&server, &ada, "z", "x").is_put_off(429);
    assert_eq!(sent(&bob), 2, "others are not limited by it");
    assert!((20..22).contains(&sent(&bot)));
}

#[test]
fn bots_write_with_a_key_until_it_is_revoked() {
    let (lodge, server) = lodge().started();
    let ada = server.member("ada");
    let bot = lodge.admin(&["bot", "create", "Weather"]).trim().to_owned();
    assert!(bot.starts_with("lodge_bot_"), "{bot}");
    let id = posted(&server, &bot, "a", "−7 °C");
    let message = get(&server, &ada, &format!("/lobby/messages/{id}"));
    let author = json!({ "username": "Weather", "nickname": "Weather", "bot": true });
    assert_eq!(message["author"], author);
    assert_eq!(status(&server, &ada, "DELETE", &format!("/lobby/messages/{id}")), 403);
    assert_eq!(status(&server, &bot, "GET", "/-/reports"), 403, "a bot keeps no order");
    // It opens nothing else.
    server.ask("GET", "/api/links").bearer(&bot).expect(401);
    lodge.run(&["admin", "bot", "list"]).prints("Weather\t");
    lodge.admin(&["bot", "revoke", "Weather"]);
    assert_eq!(post(&server, &bot, "b", "x").status, 401);
    lodge.run(&["admin", "bot", "revoke", "nobody"]).fails("no bot of that name");
}

#[test]
fn whoever_is_banned_from_the_board_gets_nowhere_in_it() {
    let server = lodge().start();
    let [ada, bob] = server.members(["ada", "bob"]);
    let meg = server.moderator("meg");
    assert_eq!(status(&server, &meg, "PUT", "/-/bans/bob"), 404, "who was never here");
    posted(&server, &bob, "a", "hello");
    assert_eq!(status(&server, &ada, "PUT", "/-/bans/bob"), 403);
    assert_eq!(status(&server, &meg, "PUT", "/-/bans/meg"), 403, "staff ban those below them");
    assert_eq!(status(&server, &meg, "PUT", "/-/bans/bob"), 204);
    assert_eq!(get(&server, &meg, "/-/bans")["bans"][0]["person"]["username"], "bob");
    for path in ["", "/lobby/messages", "/lobby/events", "/lobby/stream", "/-/unread"] {
        assert_eq!(status(&server, &bob, "GET", path), 403, "{path}");
    }
    assert_eq!(post(&server, &bob, "b", "hello").status, 403);
    assert!(accounts::opens(&server, &bob), "the account is none of the board's");
    assert_eq!(status(&server, &meg, "DELETE", "/-/bans/bob"), 204);
    assert_eq!(post(&server, &bob, "b", "hello").status, 201);
}

#[test]
fn markup_is_data() {
    let server = lodge().start();
    let ada = server.member("ada");
    let evil = "</script><script>alert(1)</script>\n\ndata: x\n\nid: 9 & \"quoted\" \u{2028}";
    let id = posted(&server, &ada, "a", evil);
    let answer = ask(&server, &ada, "GET", &format!("/lobby/messages/{id}")).send();
    assert_eq!(answer.json()["body"], evil.trim());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(get(&server, &ada, "/lobby/events")["events"][0]["body"], evil.trim());
}

#[test]
fn unread_messages_are_counted_until_they_are_read() {
    let server = lodge().start();
    let [ada, bob] = server.members(["ada", "bob"]);
    let cursor = get(&server, &bob, "/lobby/messages")["cursor"].clone();
    let read = |cursor: &Value| {
        ask(&server, &bob, "PUT", "/lobby/read").json(json!({ "cursor": cursor })).send().status
    };
    assert_eq!(read(&cursor), 204);
    posted(&server, &ada, "a", "hello");
    posted(&server, &ada, "b", "hello @bob");
    let unread = get(&server, &bob, "/-/unread");
    assert_eq!(unread["channels"][0], json!({ "channel": "lobby", "messages": 2, "mentions": 1 }));
    assert_eq!(read(&get(&server, &bob, "/lobby/events")["cursor"]), 204);
    assert_eq!(read(&json!("x")), 400);
    let unread = get(&server, &bob, "/-/unread");
    assert!(each(&unread["channels"], "messages").iter().all(|count| *count == 0), "{unread}");
    let server = server.restart();
    let unread = get(&server, &bob, "/-/unread");
    assert_eq!(unread["channels"], json!([]), "it is noted at the end");
}

#[test]
fn a_deleted_account_leaves_its_messages_without_a_name_and_took_them_along() {
    let server = lodge().start();
    let [ada, bob] = server.members(["ada", "bob"]);
    let id = posted(&server, &ada, "a", "I was here");
    let file = server.ask("GET", "/api/me/export").bearer(&ada).send().json();
    assert_eq!(file["messages"][0]["body"], "I was here", "{file}");
    assert_eq!(accounts::deleted(&server, &ada), 204);
    eventually_true("the name is forgotten", || {
        let message = get(&server, &bob, &format!("/lobby/messages/{id}"));
        assert_eq!(message["body"], "I was here");
        message["author"] == json!({ "username": "", "nickname": "" })
    });
}

#[test]
fn the_board_brings_accounts() {
    let (lodge, server) = lodge().with("LODGE_APPS", "board").started();
    let ada = server.member("ada");
    posted(&server, &ada, "a", "hello");
    assert!(lodge.run(&["check"]).out.contains("apps board, accounts"));
    assert_eq!(server.get("/api/rides/ledger").status, 404);
}

#[test]
fn what_is_refused_says_what_would_be_right() {
    let server = lodge().start();
    let ada = server.member("ada");
    for path in ["/lobby/messages?before=zz", "/lobby/events?before=zz"] {
        ask(&server, &ada, "GET", path).send().is_about(400, "before");
    }
    let refused = server.ask("GET", "/board/lobby?before=zz").session(&ada).send();
    refused.is_about(400, "before");
    for asked in
        [server.ask("GET", "/api/board"), server.ask("GET", "/api/board").bearer("nothing")]
    {
        let refused = asked.send();
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert_eq!(refused.status, 401);
        assert!(detail.contains("session") && detail.contains("key of a bot"), "{detail}");
    }
}
