//! Pictures of accounts.

use std::{fs, path::Path};

use lodge_contract::pictures::files;
use serde_json::Value;

use crate::{
    accounts::{lodge, made, token},
    client::Answer,
    server::{Server, text},
    tiers::Tiers,
};

fn put(server: &Server, token: &str, upload: &[u8]) -> Answer {
    server.ask("PUT", "/api/me/picture").bearer(token).body(upload).send()
}

/// Sets a picture; where it is, large and small.
fn set(server: &Server, token: &str, upload: &[u8]) -> [String; 2] {
    let answer = put(server, token, upload);
    assert_eq!(answer.status, 200, "{answer:?}");
    places(&answer.json())
}

fn places(account: &Value) -> [String; 2] {
    ["large", "small"].map(|size| account["picture"][size].as_str().unwrap().to_owned())
}

fn statuses(server: &Server, places: &[String; 2]) -> [u16; 2] {
    [0, 1].map(|index| server.get(&places[index]).status)
}

/// Files below a folder.
fn files_in(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_in(&path) } else { 1 }).sum()
}

#[test]
fn a_picture_is_its_accounts_until_it_is_replaced_or_taken_away() {
    let lodge = lodge();
    let server = lodge.start();
    assert_eq!(made(&server, "ada")["picture"], Value::Null);
    let token = token(&server, "ada");
    let first = set(&server, &token, &files::with_gps());
    for (place, px) in first.iter().zip(["256", "64"]) {
        assert!(place.ends_with(&format!("/{px}")), "{place}");
        let answer = server.get(place);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/jpeg")));
        let cached = Some("public, max-age=31536000, immutable");
        assert_eq!(answer.header("cache-control"), cached);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.body.starts_with(&[0xff, 0xd8]) && answer.body.ends_with(&[0xff, 0xd9]));
        assert!(!answer.text().contains(files::SECRET));
        let tag = answer.header("etag").unwrap();
        let again = server.ask("GET", place).header("If-None-Match", tag).send();
        assert_eq!((again.status, again.body.len()), (304, 0));
        assert_eq!(server.ask("HEAD", place).send().status, 200);
    }
    let me = || server.ask("GET", "/api/me").bearer(&token).send().json();
    assert_eq!(places(&me()), first);
    assert_eq!(places(&server.get("/api/users/ada").json()), first);
    let export = server.ask("GET", "/api/me/export").bearer(&token).send().json();
    assert_eq!(places(&export["account"]), first);
    assert_eq!(export["events"][0]["what"], "picture_changed");
    assert_eq!(set(&server, &token, &files::with_gps()), first, "the same");

    let second = set(&server, &token, &files::jpeg());
    assert_eq!((statuses(&server, &first), statuses(&server, &second)), ([404; 2], [200; 2]));
    let removed = server.ask("DELETE", "/api/me/picture").bearer(&token).send();
    assert_eq!((removed.status, &me()["picture"]), (204, &Value::Null));
    assert_eq!(statuses(&server, &second), [404; 2]);

    let third = set(&server, &token, &files::jpeg());
    assert_eq!(statuses(&server, &third), [200; 2]);
    assert_eq!(server.ask("DELETE", "/api/me").bearer(&token).send().status, 204);
    assert_eq!(statuses(&server, &third), [404; 2]);
    assert_eq!(files_in(&lodge.data().join("pictures")), 0);
}

#[test]
fn no_two_accounts_share_a_picture() {
    let lodge = lodge();
    let server = lodge.start();
    let [adas, graces] = ["ada", "grace"].map(|name| {
        made(&server, name);
        token(&server, name)
    });
    let upload = files::jpeg();
    let (ada, grace) = (set(&server, &adas, &upload), set(&server, &graces, &upload));
    assert_ne!(ada, grace);
    assert_eq!(server.ask("DELETE", "/api/me").bearer(&adas).send().status, 204);
    assert_eq!((statuses(&server, &ada), statuses(&server, &grace)), ([404; 2], [200; 2]));
}

#[test]
fn an_acknowledged_picture_survives_a_crash() {
    let lodge = lodge();
    let server = lodge.start();
    made(&server, "ada");
    let token = token(&server, "ada");
    let places = set(&server, &token, &files::jpeg());
    let before = server.get(&places[0]).body;
    server.kill();
    let server = lodge.start();
    assert_eq!(server.get(&places[0]).body, before);
    assert_eq!(self::places(&server.get("/api/users/ada").json()), places);
}

#[test]
fn hostile_files_are_refused_and_take_no_memory() {
    let lodge = lodge();
    let server = lodge.start();
    made(&server, "ada");
    let token = token(&server, "ada");
    // What decoding any picture takes is taken from now on.
    let places = set(&server, &token, &files::jpeg());
    let before = server.memory_peak_bytes();
    for (name, upload) in files::hostile() {
        let answer = put(&server, &token, &upload);
        assert_eq!(answer.status, 400, "{name}: {answer:?}");
        let problem = answer.json();
        assert_eq!(problem["field"], "picture", "{name}");
        assert!(problem["detail"].as_str().unwrap().starts_with("picture: "), "{name}: {problem}");
        let grown = server.memory_peak_bytes().saturating_sub(before);
        assert!(grown < 24 << 20, "{name} took {} KiB", grown >> 10);
    }
    assert_eq!(statuses(&server, &places), [200; 2], "the picture of before is still there");
    assert_eq!(files_in(&lodge.data().join("pictures")), 2);
}

#[test]
fn a_picture_that_is_longer_than_the_settings_say_is_refused() {
    let lodge = lodge().with("LODGE_ACCOUNTS_PICTURE_KIB_MAX", "100");
    let server = lodge.start();
    made(&server, "ada");
    let token = token(&server, "ada");
    let of = |kib: usize| [files::jpeg(), vec![0; kib << 10]].concat();
    assert_eq!(put(&server, &token, &of(50)).status, 200);
    assert_eq!(put(&server, &token, &of(100)).status, 413);
    let chunked = server.ask("PUT", "/api/me/picture").bearer(&token);
    let chunk = format!("{:x}\r\n", 110 << 10).into_bytes();
    let body = [chunk, vec![0; 110 << 10], b"\r\n0\r\n\r\n".to_vec()].concat();
    assert_eq!(chunked.header("Transfer-Encoding", "chunked").body(body).send().status, 413);
}

#[test]
fn nobody_sets_a_picture_without_being_signed_in() {
    let lodge = lodge();
    let server = lodge.start();
    for method in ["PUT", "DELETE"] {
        let ask = || server.ask(method, "/api/me/picture").body(files::jpeg());
        assert_eq!(ask().send().status, 401);
        assert_eq!(ask().bearer("session_x").send().status, 401);
    }
    assert_eq!(files_in(&lodge.data().join("pictures")), 0);
}

#[test]
fn an_address_sends_so_many_pictures_a_minute() {
    let lodge = lodge().with("LODGE_LIMITS_PICTURES_PER_MINUTE", "3");
    let server = lodge.start();
    made(&server, "ada");
    let token = token(&server, "ada");
    let send = |address: &str| {
        let ask = server.ask("PUT", "/api/me/picture").header("X-Forwarded-For", address);
        ask.bearer(&token).body(files::jpeg()).send()
    };
    for _ in 0..3 {
        assert_eq!(send("192.0.2.1").status, 200);
    }
    let refused = send("192.0.2.1");
    assert_eq!((refused.status, refused.header("retry-after").is_some()), (429, true));
    assert_eq!(send("192.0.2.2").status, 200);
}

#[test]
fn nothing_but_a_pictures_name_leads_to_a_file() {
    let lodge = lodge();
    let server = lodge.start();
    made(&server, "ada");
    let token = token(&server, "ada");
    let [large, _] = set(&server, &token, &files::jpeg());
    let id = large.split('/').nth_back(1).unwrap();
    let odd = [
        format!("/-/pictures/{}/256", id.to_uppercase()),
        format!("/-/pictures/{id}/255"),
        format!("/-/pictures/{id}/0256"),
        format!("/-/pictures/{id}/256.jpg"),
        format!("/-/pictures/{}/256", &id[1..]),
        format!("/-/pictures/%2e%2e%2f{id}/256"),
        format!("/-/pictures/{}/256", "0".repeat(64)),
        "/-/pictures/..%2f..%2flodge.db/256".to_owned(),
        "/-/pictures/%ff/256".to_owned(),
    ];
    for path in odd {
        let answer = server.get(&path);
        assert_eq!(
            (answer.status, answer.header("cache-control")),
            (404, Some("no-store")),
            "{path}"
        );
    }
}

#[test]
fn two_processes_that_answer_the_public_show_the_same_pictures() {
    let shared = tempfile::tempdir().unwrap();
    let folder = shared.path().join("pictures");
    let tiers = Tiers::new().with("LODGE_ACCOUNTS_PICTURES", text(&folder));
    let (tiers, accounts, web) = tiers.start();
    let another = tiers.another_web();
    let another = another.start();
    made(&web, "ada");
    let token = token(&web, "ada");
    let places = set(&web, &token, &files::jpeg());
    assert_eq!(statuses(&another, &places), [200; 2]);
    let deleted = another.ask("DELETE", "/api/me").bearer(&token).send();
    assert_eq!(deleted.status, 204);
    assert_eq!((statuses(&web, &places), files_in(&folder)), ([404; 2], 0));
    assert_eq!(accounts.get("/health/live").status, 200);
    assert!(!tiers.accounts.data().join("pictures").exists());
}
