//! Pictures of accounts.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, SystemTime},
};

use lodge_contract::pictures::files;
use serde_json::Value;

use crate::{Lodge, Request, Response, Server, eventually_true, text, tiers::Tiers};

fn put(server: &Server, token: &str, upload: &[u8]) -> Response {
    server.put("/api/me/picture").bearer(token).body(upload).send()
}

/// Sets a picture. Returns its paths, large and small.
fn set(server: &Server, token: &str, upload: &[u8]) -> [String; 2] {
    let answer = put(server, token, upload).expect(200);
    places(&answer.json())
}

fn places(account: &Value) -> [String; 2] {
    ["large", "small"].map(|size| account["picture"][size].as_str().unwrap().to_owned())
}

fn statuses(server: &Server, places: &[String; 2]) -> [u16; 2] {
    [0, 1].map(|index| server.get(&places[index]).status)
}

/// A request with a form of these files.
fn form(server: &Server, token: &str, parts: &[(&str, &[u8])]) -> Request {
    let parts: Vec<_> = parts.iter().map(|(name, content)| (*name, Some("f"), *content)).collect();
    server.on_page(token, "POST", "/account/picture").parts(&parts)
}

/// Returns the files of pictures below a folder.
pub(crate) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all = entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] });
    all.filter(|path| path.file_name().is_some_and(|name| name != "last-sweep")).collect()
}

/// Moves a file's modification time into the past by `age`.
pub(crate) fn age(file: &Path, age: Duration) {
    let file = fs::File::options().append(true).open(file).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn a_picture_stays_until_it_is_replaced_or_removed() {
    let (lodge, server) = Lodge::new().started();
    assert_eq!(server.make_account("ada")["picture"], Value::Null);
    let token = server.token("ada");
    let first = set(&server, &token, &files::with_gps());
    for (place, px) in first.iter().zip(["256", "64"]) {
        assert!(place.ends_with(&format!("/{px}")), "{place}");
        let answer = server.get(place);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/jpeg")));
        assert_eq!(answer.header("cache-control"), Some("private, max-age=31536000, immutable"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.body.starts_with(&[0xff, 0xd8]) && answer.body.ends_with(&[0xff, 0xd9]));
        assert!(!answer.text().contains(files::SECRET));
        let tag = answer.header("etag").unwrap();
        let again = server.ask("GET", place).header("If-None-Match", tag).send();
        assert_eq!((again.status, again.body.len()), (304, 0));
        let one_of = format!("\"x\", W/{tag}");
        let again = server.ask("GET", place).header("If-None-Match", &one_of).send();
        assert_eq!((again.status, again.header("etag")), (304, Some(tag)));
        server.ask("HEAD", place).expect(200);
    }
    let me = || server.ask("GET", "/api/me").bearer(&token).send().json();
    assert_eq!(places(&me()), first);
    assert_eq!(places(&server.get("/api/users/ada").json()), first);
    let export = server.ask("GET", "/api/me/export").bearer(&token).send().json();
    assert_eq!(places(&export["account"]), first);
    assert_eq!(export["events"][0]["what"], "picture_changed");

    let same = set(&server, &token, &files::with_gps());
    assert_ne!(same, first, "the same picture gets a new name");
    assert_eq!((statuses(&server, &first), statuses(&server, &same)), ([404; 2], [200; 2]));
    let second = set(&server, &token, &files::jpeg());
    assert_eq!((statuses(&server, &same), statuses(&server, &second)), ([404; 2], [200; 2]));
    let removed = server.delete("/api/me/picture").bearer(&token).send();
    assert_eq!((removed.status, &me()["picture"]), (204, &Value::Null));
    assert_eq!(statuses(&server, &second), [404; 2]);

    let third = set(&server, &token, &files::jpeg());
    assert_eq!(statuses(&server, &third), [200; 2]);
    assert_eq!(server.delete_account(&token), 204);
    assert_eq!(statuses(&server, &third), [404; 2]);
    assert_eq!(files_in(&lodge.data().join("pictures")).len(), 0);
}

#[test]
fn no_two_accounts_share_a_picture() {
    let server = Lodge::new().start();
    let [adas, graces] = server.members(["ada", "grace"]);
    let upload = files::jpeg();
    let (ada, grace) = (set(&server, &adas, &upload), set(&server, &graces, &upload));
    assert_ne!(ada, grace);
    assert_eq!(server.delete_account(&adas), 204);
    assert_eq!((statuses(&server, &ada), statuses(&server, &grace)), ([404; 2], [200; 2]));
}

#[test]
fn an_acknowledged_picture_survives_a_crash() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    let places = set(&server, &token, &files::jpeg());
    let before = server.get(&places[0]).body;
    let server = server.restart_after_kill();
    assert_eq!(server.get(&places[0]).body, before);
    assert_eq!(self::places(&server.get("/api/users/ada").json()), places);
}

#[test]
fn an_unreadable_picture_folder_answers_503_not_404() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    let places = set(&server, &token, &files::jpeg());
    let (folder, aside) = (server.lodge.data().join("pictures"), server.lodge.data().join("aside"));
    fs::rename(&folder, &aside).unwrap();
    fs::write(&folder, "a file where a folder should be").unwrap();
    for answer in [server.get(&places[0]), put(&server, &token, &files::jpeg())] {
        answer.expect_retry_after(503);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    fs::remove_file(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    assert_eq!(self::places(&server.get("/api/users/ada").json()), places);
    assert_eq!(statuses(&server, &places), [200; 2]);
}

/// The largest growth in bytes of the server, which passes files to the decoder: some copies of the longest
/// file, and less than the 64 MB that the smallest of them would unpack to.
const SERVER_BYTES: u64 = 40 << 20;

#[test]
fn hostile_files_are_refused_without_using_memory() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    // Allocates the memory that decoding any picture needs.
    let places = set(&server, &token, &files::jpeg());
    let before = server.memory_peak_bytes();
    for (name, upload) in files::hostile().into_iter().chain([files::greedy()]) {
        let problem = put(&server, &token, &upload).expect(400).json();
        assert_eq!(problem["field"], "picture", "{name}");
        assert!(problem["detail"].as_str().unwrap().starts_with("picture: "), "{name}: {problem}");
        let grown = server.memory_peak_bytes().saturating_sub(before);
        assert!(grown < SERVER_BYTES, "{name} took {} KiB", grown >> 10);
    }
    assert_eq!(statuses(&server, &places), [200; 2], "the previous picture stays");
    assert_eq!(files_in(&server.lodge.data().join("pictures")).len(), 2);
}

/// The decoder's memory limit in KiB: less than the 64 MB that the smallest of these files would unpack to.
const DECODER_KIB: u32 = 32 << 10;

/// A decoder that exceeds its memory limit ends without a response.
#[test]
fn hostile_files_stay_within_the_decoders_memory_limit() {
    for (name, upload) in files::hostile() {
        let decoded = decoded_within(DECODER_KIB, &upload);
        assert!(decoded.status.success(), "{name}: {}", decoded.status);
        let refused = 2;
        assert_eq!(decoded.stdout.first(), Some(&refused), "{name}");
    }
    let [(name, upload), _] = files::largest().try_into().unwrap();
    assert!(!decoded_within(DECODER_KIB, &upload).status.success(), "{name} takes more");
}

/// The decoder takes its rights away before it reads a byte, and needs none to decode.
#[test]
fn the_decoder_reads_its_upload_in_a_sandbox() {
    for (name, upload) in files::largest() {
        let process = decoder(DECODER_KIB * 8);
        let status = format!("/proc/{}/status", process.id());
        let is_set = |line: &str| fs::read_to_string(&status).unwrap().lines().any(|it| it == line);
        eventually_true("a filter of system calls", || is_set("Seccomp:\t2"));
        assert!(is_set("NoNewPrivs:\t1"));
        let decoded = output(process, &upload);
        assert!(decoded.status.success(), "{name}: {}", decoded.status);
        let accepted = 1;
        assert_eq!(decoded.stdout.first(), Some(&accepted), "{name}");
    }
}

/// Runs the decoder process with a memory limit.
fn decoded_within(kib: u32, upload: &[u8]) -> Output {
    output(decoder(kib), upload)
}

fn decoder(kib: u32) -> Child {
    let bounded = format!("ulimit -d {kib}; exec \"$0\" decode-picture");
    Command::new("sh")
        .args(["-c", &bounded, env!("CARGO_BIN_EXE_lodge")])
        .env_clear()
        .env("MIMALLOC_ARENA_RESERVE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn output(mut process: Child, upload: &[u8]) -> Output {
    let mut input = process.stdin.take().unwrap();
    let length = u32::try_from(upload.len()).unwrap().to_be_bytes();
    // "s" requests a square. The process may end before it has read all input.
    let _ = input.write_all(&[b"s", &length[..], upload].concat());
    drop(input);
    process.wait_with_output().unwrap()
}

#[test]
fn the_largest_pictures_are_accepted() {
    let (server, [token]) =
        Lodge::new().with("LODGE_HTTP_REQUEST_TIMEOUT_S", "60").start_with(["ada"]);
    let before = server.memory_peak_bytes();
    for (_, upload) in files::largest() {
        put(&server, &token, &upload).expect(200);
    }
    let grown = server.memory_peak_bytes().saturating_sub(before);
    assert!(grown < 32 << 20, "they took {} KiB", grown >> 10);
}

#[test]
fn unused_pictures_are_deleted_and_used_or_new_ones_kept() {
    let (lodge, server) = Lodge::new().started();
    let token = server.member("ada");
    let places = set(&server, &token, &files::jpeg());
    assert_eq!(server.stop(), Some(0));
    let folder = lodge.data().join("pictures");
    let left = |digit: &str, age_s: u64| {
        let id = digit.repeat(64);
        let folder = folder.join(&id[..3]);
        fs::create_dir_all(&folder).unwrap();
        let files = ["256", "64"].map(|px| folder.join(format!("{id}-{px}.jpg")));
        files.map(|file| {
            fs::write(&file, files::jpeg()).unwrap();
            age(&file, Duration::from_secs(age_s));
            file
        })
    };
    let (old, young) = (left("a", 3_700), left("b", 3_000));
    for file in fs::read_dir(folder.join(&places[0].split('/').nth(3).unwrap()[..3])).unwrap() {
        age(&file.unwrap().path(), Duration::from_hours(10));
    }
    age(&folder.join("last-sweep"), Duration::from_hours(1));
    let server = lodge.start();
    eventually_true("unused pictures are deleted", || old.iter().all(|file| !file.exists()));
    assert!(young.iter().all(|file| file.exists()));
    assert_eq!(statuses(&server, &places), [200; 2]);
    assert_eq!(files_in(&folder).len(), 4);
}

#[test]
fn staff_remove_pictures_of_accounts_below_their_role() {
    let (lodge, server) = Lodge::new().started();
    for name in ["ada", "max", "eve"] {
        server.make_account(name);
    }
    lodge.admin(&["user", "role", "max", "moderator"]);
    let [ada, max, eve] = ["ada", "max", "eve"].map(|name| server.token(name));
    let take = |token: &str, name: &str| {
        let ask = server.on_page(token, "POST", &format!("/admin/accounts/{name}"));
        ask.form("action=take_picture").send().status
    };
    let (adas, eves) = (set(&server, &ada, &files::jpeg()), set(&server, &eve, &files::jpeg()));
    let page = server.on_page(&max, "GET", "/admin/accounts/eve").send().text();
    assert!(page.contains(&eves[0]) && page.contains("value=\"take_picture\""), "{page}");
    assert_eq!(take(&eve, "ada"), 403);
    assert_eq!(take(&max, "eve"), 303);
    assert_eq!((statuses(&server, &eves), statuses(&server, &adas)), ([404; 2], [200; 2]));
    assert_eq!(server.get("/api/users/eve").json()["picture"], Value::Null);
    let export = server.ask("GET", "/api/me/export").bearer(&eve).send().json();
    let last = &export["events"][0];
    assert_eq!((&last["what"], &last["by_staff"]), (&"picture_changed".into(), &true.into()));
    assert_eq!(take(&max, "eve"), 303, "the picture is already gone");

    lodge.admin(&["user", "picture-remove", "ada"]);
    assert_eq!(server.get("/api/users/ada").json()["picture"], Value::Null);
    let again = lodge.run(&["admin", "user", "picture-remove", "ada"]);
    assert!(again.code == 1 && again.err.contains("this account has no picture"), "{again:?}");
}

#[test]
fn a_picture_larger_than_the_setting_is_refused() {
    let (server, [token]) =
        Lodge::new().with("LODGE_ACCOUNTS_PICTURE_KIB_MAX", "100").start_with(["ada"]);
    let of = |kib: usize| [files::jpeg(), vec![0; kib << 10]].concat();
    assert_eq!(put(&server, &token, &of(50)).status, 200);
    assert_eq!(put(&server, &token, &of(100)).status, 413);
    let chunked = server.put("/api/me/picture").bearer(&token);
    let chunk = format!("{:x}\r\n", 110 << 10).into_bytes();
    let body = [chunk, vec![0; 110 << 10], b"\r\n0\r\n\r\n".to_vec()].concat();
    chunked.header("Transfer-Encoding", "chunked").body(body).expect(413);
}

#[test]
fn a_picture_cannot_be_set_without_signing_in() {
    let (lodge, server) = Lodge::new().started();
    for method in ["PUT", "DELETE"] {
        let ask = || server.ask(method, "/api/me/picture").body(files::jpeg());
        ask().expect(401);
        ask().bearer("session_x").expect(401);
    }
    let form = "multipart/form-data; boundary=x";
    let ask = server.put("/api/me/picture").header("Content-Type", form);
    ask.body("--x--").expect(415).says("must be the bytes of the picture");
    assert_eq!(files_in(&lodge.data().join("pictures")).len(), 0);
}

#[test]
fn an_unauthenticated_upload_is_refused_before_the_body_is_read() {
    let server = Lodge::new().start();
    for ask in [server.put("/api/me/picture").bearer("session_x"), server.put("/api/me/picture")] {
        // The body is never sent.
        ask.header("Content-Length", "4000000").expect(401);
    }
    let form = server.post("/account/picture").browser();
    form.header("Content-Length", "4000000").send().leads_to(303, "/login?next=/account");
}

#[test]
fn a_picture_form_shows_the_error_next_to_the_file() {
    let (server, [token]) =
        Lodge::new().with("LODGE_ACCOUNTS_PICTURE_KIB_MAX", "100").start_with(["ada"]);
    let send = |parts: &[(&str, &[u8])]| form(&server, &token, parts).send();
    let hint = server.on_page(&token, "GET", "/account").send().text();
    assert!(hint.contains("at most 100 KB") && hint.contains("data-bytes-max=\"102400\""));

    let refused = [
        (400, "must be a JPEG, PNG, WebP or GIF.", send(&[("picture", b"<svg/>")])),
        (400, "is missing; choose a file first.", send(&[("picture", b"")])),
        (400, "is missing; choose a file first.", send(&[])),
        (400, "is missing; choose a file first.", send(&[("other", b"x")])),
        (
            413,
            "is larger than 100 KB; choose a smaller one.",
            send(&[("picture", &vec![7; 103_000])]),
        ),
        (
            413,
            "is larger than 100 KB; choose a smaller one.",
            send(&[("picture", &vec![7; 200_000])]),
        ),
    ];
    for (status, said, answer) in refused {
        let page = answer.text();
        assert_eq!(answer.status, status, "{page}");
        let error = page.split("id=\"picture-error\">").nth(1).unwrap_or_else(|| panic!("{page}"));
        assert!(error.starts_with(&format!("The picture {said}<")), "{error}");
    }
    let foreign = form(&server, &token, &[("picture", &files::jpeg())]);
    foreign.header("Sec-Fetch-Site", "cross-site").expect(403);
    assert_eq!(server.get("/api/users/ada").json()["picture"], Value::Null);
    send(&[("picture", &files::jpeg())]).leads_to(303, "/account?saved");
    let places = places(&server.get("/api/users/ada").json());
    assert_eq!(statuses(&server, &places), [200; 2]);
    assert!(server.on_page(&token, "GET", "/account").send().text().contains(&places[0]));
    let removed = server.on_page(&token, "POST", "/account/picture/delete").send();
    assert_eq!((removed.status, statuses(&server, &places)), (303, [404; 2]));
}

#[test]
fn uploads_past_the_decoders_queue_are_refused() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
    let ask = server.put("/api/me/picture").bearer(&token).body(files::large_png());
    let answers = ask.at_once(24);
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 503).collect();
    assert!(!refused.is_empty() && answers.iter().any(|answer| answer.status == 200));
    for answer in &answers {
        assert!(matches!(answer.status, 200 | 409 | 503), "{answer:?}");
    }
    assert!(refused.iter().all(|answer| answer.expect_retry_after(503) > 0));
    assert_eq!(put(&server, &token, &files::jpeg()).status, 200);
    assert_eq!(files_in(&server.lodge.data().join("pictures")).len(), 2);
}

#[test]
fn uploads_of_pictures_are_limited_per_address() {
    let (server, [token]) =
        Lodge::new().with("LODGE_LIMITS_PICTURES_PER_MINUTE", "3").start_with(["ada"]);
    let send = |address: &str| {
        server.put("/api/me/picture").from(address).bearer(&token).body(files::jpeg()).send()
    };
    for _ in 0..3 {
        assert_eq!(send("192.0.2.1").status, 200);
    }
    send("192.0.2.1").expect_retry_after(429);
    assert_eq!(send("192.0.2.2").status, 200);
}

#[test]
fn only_a_pictures_name_reads_a_file() {
    let (server, [token]) = Lodge::new().start_with(["ada"]);
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
        let answer = server.get(&path).expect(404);
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
}

#[test]
fn two_web_processes_serve_the_same_pictures() {
    let shared = tempfile::tempdir().unwrap();
    let folder = shared.path().join("pictures");
    let tiers = Tiers::new().with("LODGE_ACCOUNTS_PICTURES", text(&folder));
    let (tiers, accounts, web) = tiers.start();
    let another = tiers.another_web();
    let another = another.start();
    let token = web.member("ada");
    let places = set(&web, &token, &files::jpeg());
    assert_eq!(statuses(&another, &places), [200; 2]);
    assert_eq!(another.delete_account(&token), 204);
    assert_eq!((statuses(&web, &places), files_in(&folder).len()), ([404; 2], 0));
    assert_eq!(accounts.get("/health/live").status, 200);
    assert!(!tiers.accounts.data().join("pictures").exists());
}
