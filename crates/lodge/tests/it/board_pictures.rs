//! Pictures in messages: posted in one request, readable with the message, and deleted with it.

use std::{fs, path::PathBuf, time::Duration};

use lodge_contract::pictures::files;
use serde_json::{Value, json};

use crate::{
    Lodge, Request, Response, Server,
    board::lodge,
    eventually_true,
    pictures::{age, files_in},
};

/// Sets a form with text fields and one file.
fn form(ask: Request, texts: &[(&str, &str)], file: &[u8]) -> Request {
    let texts = texts.iter().map(|(name, text)| (*name, None, text.as_bytes()));
    ask.parts(&texts.chain([("picture", Some("f"), file)]).collect::<Vec<_>>())
}

/// A request that posts a message with a picture to the lobby.
fn letter(server: &Server, token: &str, client_id: &str, body: &str, file: &[u8]) -> Request {
    let texts = [("client_id", client_id), ("body", body)];
    form(server.board(token, "POST", "/lobby/messages"), &texts, file)
}

/// Posts a message with a picture.
fn send(server: &Server, token: &str, client_id: &str, body: &str, file: &[u8]) -> Response {
    letter(server, token, client_id, body, file).send()
}

/// Posts a message with a picture, which must succeed. Returns the event.
fn sent(server: &Server, token: &str, client_id: &str, body: &str) -> Value {
    letter(server, token, client_id, body, &files::with_gps()).expect(201).json()
}

/// Returns the paths of an event's picture in both sizes.
fn places(event: &Value) -> [String; 2] {
    ["url", "preview"].map(|size| event["picture"][size].as_str().unwrap().to_owned())
}

fn statuses(server: &Server, token: &str, places: &[String; 2]) -> [u16; 2] {
    [0, 1].map(|index| server.ask("GET", &places[index]).bearer(token).send().status)
}

fn kept(lodge: &Lodge) -> Vec<PathBuf> {
    files_in(&lodge.data().join("message-pictures"))
}

#[test]
fn a_picture_is_visible_to_readers_of_its_message() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let event = sent(&server, &ada, "one", "");
    assert_eq!((&event["kind"], &event["body"]), (&json!("message"), &json!("")));
    let places = places(&event);
    for (place, px) in places.iter().zip(["1024", "320"]) {
        assert!(place.ends_with(&format!("/{px}")), "{place}");
        let answer = server.ask("GET", place).bearer(&bob).send();
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/jpeg")));
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
        assert!(answer.body.starts_with(&[0xff, 0xd8]) && answer.body.ends_with(&[0xff, 0xd9]));
        assert!(!answer.text().contains(files::SECRET));
        let tag = answer.header("etag").unwrap();
        let again = server.ask("GET", place).bearer(&bob).header("If-None-Match", tag).send();
        assert_eq!((again.status, again.body.len()), (304, 0));
        assert_eq!(server.on_page(&bob, "GET", place).send().body, answer.body);
        assert_eq!(server.get(place).status, 401, "the board requires sign-in");
        assert_eq!(server.get(&place.replace("/board/-/", "/-/")).status, 404);
    }
    let list = |token: &str| server.read_board(token, "/lobby/messages");
    assert_eq!(list(&bob)["messages"][0]["picture"], event["picture"]);
    let events = || server.read_board(&bob, "/lobby/events");
    assert_eq!(events()["events"][0], event);
    let export = server.ask("GET", "/api/me/export").bearer(&ada).send().json();
    assert_eq!(export["messages"][0]["picture"], event["picture"]);

    let cleo = server.moderator("cleo");
    let message = format!("/lobby/messages/{}", event["id"].as_str().unwrap());
    let hidden = format!("{message}/hidden");
    server.board(&cleo, "PUT", &hidden).expect(200);
    assert_eq!(statuses(&server, &bob, &places), [404; 2]);
    assert_eq!(statuses(&server, &cleo, &places), [200; 2], "staff see hidden pictures");
    assert!(list(&bob)["messages"][0].get("picture").is_none());
    assert!(events()["events"][0].get("picture").is_none());
    server.board(&cleo, "DELETE", &hidden).expect(200);
    assert_eq!(statuses(&server, &bob, &places), [200; 2]);

    server.board(&ada, "DELETE", &message).expect(200);
    assert_eq!(statuses(&server, &cleo, &places), [404; 2]);
    assert!(events()["events"][0].get("picture").is_none());
    assert_eq!(kept(&server.lodge), Vec::<PathBuf>::new());
}

#[test]
fn the_picture_of_a_repeated_message_is_neither_decoded_nor_stored_again() {
    let (lodge, server) = lodge().started();
    let ada = server.member("ada");
    let event = sent(&server, &ada, "one", "Look!");
    let file = files::with_gps();
    for upload in [&file[..], b"this is not a picture"] {
        let again = send(&server, &ada, "one", "Look!", upload);
        assert_eq!((again.status, again.json()), (200, event.clone()));
    }
    send(&server, &ada, "one", "Look there!", &file).expect_field_error(422, "client_id");
    assert_eq!(kept(&lodge).len(), 2);
    let server = server.restart_after_kill();
    assert_eq!(statuses(&server, &ada, &places(&event)), [200; 2], "also after a crash");
    let again = send(&server, &ada, "one", "Look!", &file);
    assert_eq!((again.status, again.json()), (200, event));
}

#[test]
fn concurrent_repeats_post_one_message_with_one_picture() {
    let (server, [ada]) = lodge().start_with(["ada"]);
    let request = letter(&server, &ada, "one", "Look!", &files::jpeg());
    let first = request.at_once(4);
    // A busy machine may refuse a picture that waits for its decoder or its disk. What it then leaves, a sweep removes.
    let is_busy = first.iter().any(|answer| answer.status == 503);
    let repeated = |first: Response| if first.status == 503 { request.send() } else { first };
    let answers: Vec<_> = first.into_iter().map(repeated).collect();
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 201)), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    assert!(answers.iter().all(|answer| answer.json() == answers[0].json()));
    assert!(is_busy || kept(&server.lodge).len() == 2);
}

#[test]
fn a_refused_picture_leaves_no_files() {
    let (server, [ada]) = lodge().with("LODGE_ACCOUNTS_PICTURE_KIB_MAX", "100").start_with(["ada"]);
    let cleo = server.moderator("cleo");
    let good = files::jpeg();
    let refused = |token: &str, body: &str, file: &[u8]| {
        let answer = send(&server, token, "one", body, file);
        (answer.status, answer.json()["field"].as_str().unwrap_or_default().to_owned())
    };
    let of = |status, field: &str| (status, field.to_owned());
    assert_eq!(refused(&ada, "a", b"<svg/>"), of(400, "picture"));
    assert_eq!(refused(&ada, "a", &files::hostile()[1].1), of(400, "picture"));
    assert_eq!(refused(&ada, "a", &vec![7; 103_000]), of(413, "picture"));
    assert_eq!(refused(&ada, "a", &vec![7; 300_000]), of(413, "picture"));
    assert_eq!(refused(&ada, "", b""), of(400, "body"), "neither text nor picture");
    assert_eq!(refused(&ada, "a\u{1b}", &good), of(400, "body"));
    assert_eq!(refused(&ada, &"a".repeat(40_000), b"<svg/>"), of(400, "form"));
    form(server.board(&ada, "POST", "/lobby/messages"), &[("other", "x")], &good)
        .send()
        .expect_field_error(400, "form");
    let plain = server.board(&ada, "POST", "/lobby/messages").header("Content-Type", "text/plain");
    plain.body("a").expect(415);
    let answers = [("client_id", "one"), ("reply_to", "7:1")];
    let answer = form(server.board(&ada, "POST", "/lobby/messages"), &answers, b"<svg/>").send();
    assert_eq!(answer.status, 404, "before the picture is decoded: {answer:?}");

    let words = json!({ "client_id": "words", "body": "a" });
    server.board(&ada, "POST", "/lobby/messages").json(&words).expect(201);
    let pictured = send(&server, &ada, "words", "a", &good);
    assert_eq!(pictured.status, 422, "the repeat has another content: {pictured:?}");

    let slow = json!({ "slow_mode_s": 600 });
    server.board(&cleo, "PATCH", "/lobby").json(&slow).expect(200);
    sent(&server, &ada, "first", "a");
    assert_eq!(refused(&ada, "a", b"<svg/>").0, 429, "before the picture is decoded");
    server.board(&cleo, "PUT", "/-/bans/ada").expect(204);
    assert_eq!(refused(&ada, "a", b"<svg/>").0, 403);
    let unread = server.board(&ada, "POST", "/lobby/messages").header("Content-Length", "90000");
    let kind = "multipart/form-data; boundary=x";
    assert_eq!(unread.header("Content-Type", kind).send().status, 403, "before the body");
    assert_eq!(kept(&server.lodge).len(), 2, "both sizes of the accepted picture");
}

#[test]
fn pictures_are_limited_per_address_and_text_is_not() {
    let (server, [ada]) = lodge().with("LODGE_LIMITS_PICTURES_PER_MINUTE", "2").start_with(["ada"]);
    let send = |client_id: &str, file: &[u8]| {
        let texts = [("client_id", client_id), ("body", "a")];
        let ask = server.board(&ada, "POST", "/lobby/messages");
        form(ask.from("192.0.2.1"), &texts, file).send()
    };
    let long = [files::jpeg(), vec![0; 50 << 10]].concat();
    assert_eq!(send("long", &long).status, 201);
    assert_eq!(send("short", &files::one_pixel()).status, 201);
    for file in [long, files::one_pixel()] {
        send("many", &file).expect_retry_after(429);
    }
    for number in 0..5 {
        assert_eq!(send(&number.to_string(), b"").status, 201, "a form without a picture");
    }
}

#[test]
fn a_form_posts_a_picture_and_shows_its_errors() {
    let (server, [ada]) = lodge().with("LODGE_ACCOUNTS_PICTURE_KIB_MAX", "100").start_with(["ada"]);
    let page = || server.on_page(&ada, "GET", "/board").send().text();
    assert!(page().contains("enctype=\"multipart/form-data\""));
    assert!(page().contains("data-bytes-max=\"102400\"") && page().contains("at most 100 KB"));
    let send = |id: &str, body: &str, file: &[u8]| {
        let texts = [("client_id", id), ("body", body)];
        form(server.on_page(&ada, "POST", "/board/lobby"), &texts, file).send()
    };
    send("one", "words", b"").expect(303);
    send("two", "", &files::jpeg()).expect(303);
    let shown = page();
    assert!(shown.contains("<p>words</p>"), "{shown}");
    assert_eq!(shown.matches("alt=\"A picture by ada\"").count(), 1, "{shown}");
    let source = shown.split("<img src=\"").find(|rest| rest.starts_with("/board/-/pictures/"));
    let source = source.and_then(|rest| rest.split('"').next()).unwrap();
    server.on_page(&ada, "GET", source).expect(200);

    let text = send("three", "kept", b"<svg/>").expect(400).text();
    assert!(text.contains("id=\"picture-error\"") && text.contains(">kept</textarea>"), "{text}");
    assert_eq!(send("three", "kept", &vec![7; 200_000]).status, 413);
    let foreign = form(server.on_page(&ada, "POST", "/board/lobby"), &[], &files::jpeg());
    foreign.header("Sec-Fetch-Site", "cross-site").expect(403);
    assert_eq!(kept(&server.lodge).len(), 2);
}

#[test]
fn pictures_of_no_message_are_deleted_and_others_kept_whichever_apps_are_on() {
    let (lodge, server) = lodge().started();
    let ada = server.member("ada");
    let event = sent(&server, &ada, "one", "");
    assert_eq!(server.stop(), Some(0));
    let of_message = kept(&lodge);
    for file in &of_message {
        age(file, Duration::from_hours(10));
    }
    let left = |folder: &str, digit: &str, hours: u64| {
        let id = digit.repeat(64);
        let folder = lodge.data().join(folder).join(&id[..3]);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{id}-320.jpg"));
        fs::write(&file, files::jpeg()).unwrap();
        age(&file, Duration::from_hours(hours));
        file
    };
    let (old, young) = (left("message-pictures", "a", 2), left("message-pictures", "b", 0));
    let unowned = left("pictures", "c", 2);
    for folder in ["pictures", "message-pictures"] {
        age(&lodge.data().join(folder).join("last-sweep"), Duration::from_hours(1));
    }

    let (lodge, server) = lodge.with("LODGE_APPS", "accounts").started();
    eventually_true("a picture of no account is deleted", || !unowned.exists());
    assert!(of_message.iter().chain([&old, &young]).all(|file| file.exists()));
    assert_eq!(server.stop(), Some(0));

    let server = lodge.with("LODGE_APPS", "board").start();
    eventually_true("a picture of no message is deleted", || !old.exists());
    assert!(of_message.iter().chain([&young]).all(|file| file.exists()));
    assert_eq!(statuses(&server, &ada, &places(&event)), [200; 2]);
}

#[test]
fn pictures_of_a_deleted_account_are_deleted_and_its_messages_stay() {
    let (server, [ada, bob]) = lodge().start_with(["ada", "bob"]);
    let (words, alone) = (sent(&server, &ada, "one", "Look!"), sent(&server, &ada, "two", ""));
    assert_eq!(server.delete_account(&ada), 204);
    eventually_true("her pictures are deleted", || kept(&server.lodge).is_empty());
    for event in [&words, &alone] {
        assert_eq!(statuses(&server, &bob, &places(event)), [404; 2]);
    }
    let page = server.read_board(&bob, "/lobby/messages");
    let messages = page["messages"].as_array().unwrap();
    assert_eq!((&messages[0]["body"], messages[0].get("picture")), (&json!("Look!"), None));
    server.on_page(&bob, "GET", "/board").send().says("The picture of this message was removed.");
}
