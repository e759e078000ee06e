//! `lodge move` copies everything once, even if it is interrupted.

use std::{
    fs,
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    client::each,
    keyspace::Keyspace,
    server::{CommandOutput, Lodge, Server, eventually_true, eventually_within, text},
};

const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile/15E148";
const BOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1)";

/// The timeout of a move, including the creation of the keyspace, on a busy machine.
const DEADLINE: Duration = Duration::from_mins(3);

/// Serializes moves: most use the shared keyspace, and a small cluster can create the tables of only one at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of links in a large source: more than twice the interval between two progress records.
const MANY: usize = 1_200;

/// Returns the settings of the servers on the destination.
fn settings(keyspace: &Keyspace) -> [(&'static str, String); 4] {
    [
        ("LODGE_APPS", "links".to_owned()),
        ("LODGE_LINKS_STORE", "cassandra".to_owned()),
        ("LODGE_CASSANDRA_NODES", Keyspace::nodes()),
        ("LODGE_CASSANDRA_KEYSPACE", keyspace.name().to_owned()),
    ]
}

/// Returns the servers on the destination.
fn deployment(keyspace: &Keyspace) -> Lodge {
    settings(keyspace)
        .into_iter()
        .fold(Lodge::new(), |lodge, (name, value)| lodge.with(name, &value))
}

fn run_move(deployment: &Lodge, source: &Lodge) -> CommandOutput {
    deployment.run_within(DEADLINE, &["move", "--from", text(&source.data())])
}

fn move_into(keyspace: &Keyspace, source: &Lodge) -> CommandOutput {
    run_move(&deployment(keyspace), source)
}

fn moved(keyspace: &Keyspace, source: &Lodge) -> String {
    let ran = move_into(keyspace, source).expect(0);
    assert!(ran.out.trim_end().ends_with("verified"), "{ran:?}");
    ran.out
}

/// Returns a source with imported links; every tenth has clicks.
fn large_source(links: usize) -> Lodge {
    let source = Lodge::new();
    let head = "short,target,redirect,created_at,expires_at,max_clicks,clicks_used,password_hash,tags,clicks\n";
    let rows = (0..links).map(|number| {
        let clicks = if number.is_multiple_of(10) { number } else { 0 };
        format!(
            "many-{number},https://example.org/{number},307,2026-01-01T00:00:00Z,,,,,,{clicks}\n"
        )
    });
    let csv: String = std::iter::once(head.to_owned()).chain(rows).collect();
    let file = source.write("links.csv", csv);
    assert_eq!(source.start().stop(), Some(0));
    source.admin(&["import", text(&file), "--from", "lodge"]);
    source
}

/// The keys and reports of callers after using the source.
struct CallerState {
    manage_key: String,
    replaced_key: String,
    api_key: String,
    revoked_key: String,
    reports: Vec<(String, Value)>,
}

/// Returns a source with every kind of data.
fn used_source() -> (Lodge, CallerState) {
    let source = Lodge::new();
    let server = source.start();
    let (api_key, revoked_key) = (source.key("me"), source.key("gone"));
    let plain = json!({ "target": "https://example.org/plain", "short": "plain", "redirect": 301 });
    let plain = server.post("/api/links").idempotency_key("first").json(&plain).send();
    let manage_key = plain.json()["manage_key"].as_str().unwrap().to_owned();
    server.create(&json!({ "target": "example.org/few", "short": "few", "max_clicks": 4 }));
    server.create(&json!({ "target": "example.org/locked", "short": "locked", "password": "x" }));
    let rekeyed = server.create(&json!({ "target": "example.org", "short": "rekeyed" }));
    let edit = json!({ "new_manage_key": true, "target": "example.org/2" });
    let rekeyed = server.manage(&rekeyed, "PATCH").json(edit).send();
    let replaced_key = text_of(&rekeyed.json(), "manage_key").to_owned();
    for (short, key) in [("mine-1", &api_key), ("mine-2", &api_key), ("theirs", &revoked_key)] {
        let link = json!({ "target": "example.org", "short": short, "tags": ["a", "b"] });
        server.post("/api/links").bearer(key).json(&link).expect(201);
    }
    source.admin(&["key", "revoke", "gone"]);
    let deleted = server.create(&json!({ "target": "example.org", "short": "deleted" }));
    server.manage(&deleted, "DELETE").expect(204);
    let soon = (Timestamp::now() + Duration::from_millis(1_500)).to_string();
    server.create(&json!({ "target": "example.org", "short": "expired", "expires_at": soon }));
    follow(&server);
    eventually_true("the link expires", || server.get("/expired").status == 410);
    let server = server.restart();
    let reports = reports(&server, &api_key, &manage_key);
    assert_eq!(server.stop(), Some(0));
    (source, CallerState { manage_key, replaced_key, api_key, revoked_key, reports })
}

fn follow(server: &Server) {
    for (device, referrer, count) in
        [(PHONE, "https://news.example/a", 3), (PHONE, "https://blog.example/", 2), (BOT, "", 4)]
    {
        for _ in 0..count {
            let ask = server.ask("GET", "/plain").header("User-Agent", device);
            ask.header("Referer", referrer).expect(301);
        }
    }
    assert_eq!((server.get("/few").status, server.get("/few").status), (307, 307));
    server.post("/locked").form("password=x").expect(303);
    assert_eq!(server.get("/mine-1").status, 307);
}

/// Returns every click report of the links of both keys.
fn reports(server: &Server, api_key: &str, manage_key: &str) -> Vec<(String, Value)> {
    let mut reports = Vec::new();
    for (short, key) in [("plain", manage_key), ("mine-1", api_key)] {
        for by in ["day", "hour", "referrer", "device"] {
            let path = format!("/api/links/{short}/clicks?by={by}");
            let report = server.ask("GET", &path).bearer(key).expect(200).json();
            reports.push((path, report));
        }
    }
    reports
}

fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("no {field} in {value}"))
}

/// A running move.
pub(crate) struct RunningMove(Child);

impl RunningMove {
    /// Starts a move of `source` to the stores of these settings.
    pub(crate) fn start(settings: &[(&'static str, String)], source: &Lodge) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodge"));
        command
            .env_clear()
            .current_dir(source.data())
            .envs(settings.iter().map(|(name, value)| (name, value)))
            .args(["move", "--from", text(&source.data())])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        assert_eq!(self.0.try_wait().unwrap(), None, "the move ended before it was killed");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Returns the number of copied links that the destination has recorded, if it has a record.
fn links_recorded(keyspace: &Keyspace) -> Option<u64> {
    let rows = keyspace.try_run("SELECT value FROM @settings WHERE name = 'move'")?;
    let record = rows.first()?.columns.first()?.as_ref()?.as_blob()?.clone();
    let record: Value = serde_json::from_slice(&record).unwrap();
    Some(record["step"]["links"]["put"].as_u64().unwrap_or(u64::MAX))
}

#[test]
fn a_move_brings_everything_over() {
    let _turn = turn();
    let (source, held) = used_source();
    let database = fs::read(source.data().join("lodge.db")).unwrap();
    let keyspace = Keyspace::new();
    let said = moved(&keyspace, &source);
    assert!(said.starts_with("9 links, 2 keys, "), "{said}");
    assert_eq!(
        database,
        fs::read(source.data().join("lodge.db")).unwrap(),
        "the source is unchanged"
    );

    let server = deployment(&keyspace).start();
    assert_eq!(reports(&server, &held.api_key, &held.manage_key), held.reports);
    assert_eq!(server.get("/plain").leads(), (301, Some("https://example.org/plain")));
    assert_eq!(server.get("/locked").location(), None);
    server.post("/locked").form("password=y").expect(403);
    server.post("/locked").form("password=x").expect(303);
    let few: Vec<u16> = (0..3).map(|_| server.get("/few").status).collect();
    assert_eq!(few, [307, 307, 410], "two of four clicks were used");
    for gone in ["deleted", "expired"] {
        assert_eq!(server.get(&format!("/{gone}")).status, 410, "{gone}");
        let again = json!({ "target": "example.org", "short": gone });
        server.post("/api/links").json(&again).expect(409);
    }
    assert_lists_are_moved(&server, &held);
    assert_keys_still_work(&server, &held);
}

fn assert_lists_are_moved(server: &Server, held: &CallerState) {
    let list = |query: &str| {
        let ask = server.ask("GET", &format!("/api/links?{query}")).bearer(&held.api_key);
        each(&ask.expect(200).json()["links"], "short")
    };
    assert_eq!(list(""), ["mine-2", "mine-1"]);
    assert_eq!(list("tag=b"), ["mine-2", "mine-1"]);
    server.ask("GET", "/api/links").bearer(&held.revoked_key).expect(401);
}

fn assert_keys_still_work(server: &Server, held: &CallerState) {
    let link = json!({ "target": "https://example.org/plain", "short": "plain", "redirect": 301 });
    let again = server.post("/api/links").idempotency_key("first").json(&link).send();
    assert_eq!(again.header("idempotency-replayed"), Some("true"), "{again:?}");
    assert_eq!(text_of(&again.json(), "manage_key"), held.manage_key);
    for (short, key) in [("plain", &held.manage_key), ("rekeyed", &held.replaced_key)] {
        let edit = server.patch(&format!("/api/links/{short}")).bearer(key);
        edit.json(json!({ "target": "https://example.org/new" })).expect(200);
    }
}

#[test]
fn a_killed_move_resumes_and_ends_with_the_same_result() {
    let _turn = turn();
    let source = large_source(MANY);
    let keyspace = Keyspace::emptied();
    let under_way = RunningMove::start(&settings(&keyspace), &source);
    let noted = eventually_within(DEADLINE, "some of the links are copied", || {
        links_recorded(&keyspace).filter(|put| *put > 0)
    });
    under_way.kill();
    assert!(keyspace.count("links") < MANY, "the move was killed before its end");
    let said = moved(&keyspace, &source);
    assert!(said.starts_with(&format!("{noted} links were already copied")), "{noted}: {said}");
    let killed = keyspace.dump();
    drop(keyspace);
    let keyspace = Keyspace::emptied();
    assert!(!moved(&keyspace, &source).contains("already"));
    let whole = keyspace.dump();
    assert_eq!(killed.len(), whole.len());
    let other = killed.iter().zip(&whole).find(|(one, other)| one != other);
    assert_eq!(other, None);
}

#[test]
fn a_repeated_move_changes_nothing_and_finds_tampered_rows() {
    let _turn = turn();
    let (source, keyspace) = (large_source(30), Keyspace::emptied());
    source.key("me");
    moved(&keyspace, &source);
    let before = keyspace.dump();
    moved(&keyspace, &source);
    assert_eq!(keyspace.dump(), before);

    let tampered = [
        "UPDATE @links SET target = 'https://evil.example/' WHERE short = 'many-1' IF EXISTS",
        "DELETE FROM @links WHERE short = 'many-2' IF EXISTS",
        "INSERT INTO @links (short, id, target, redirect, version, key_version, created_at, changed_at) \
         VALUES ('more', uuid(), 'https://example.org/', 307, 1, 1, 0, 0) IF NOT EXISTS",
        "UPDATE @keys_by_name SET revoked_at = 0 WHERE name = 'me' IF EXISTS",
    ];
    for statement in tampered {
        keyspace.run(statement);
    }
    let rows = keyspace.run("SELECT id FROM @links WHERE short = 'many-10'");
    let id = rows[0].columns[0].as_ref().unwrap().as_uuid().unwrap();
    keyspace.run(&format!(
        "INSERT INTO @clicks_by_day (link, day, device, incarnation, number, clicks) \
         VALUES ({id}, 20000, 'bot', uuid(), 1, 7)"
    ));
    let ran = move_into(&keyspace, &source).expect(1);
    for difference in [
        "API key me: different",
        "link many-1: different target",
        "link many-2: missing",
        "link more: not in the source",
        "link many-10: different clicks",
        "total links: 30 in the source, 29 of them in the destination",
        "total clicks: 30 in the source, 37 in the destination",
    ] {
        assert!(ran.err.lines().any(|line| line == difference), "no {difference} in {ran:?}");
    }
    assert_eq!(ran.err.lines().count(), 7, "{ran:?}");
    assert!(ran.out.contains("NOT VERIFIED: 7 differences"), "{ran:?}");
}

#[test]
fn a_move_reports_that_accounts_are_not_moved() {
    let _turn = turn();
    let (source, keyspace) = (large_source(1), Keyspace::emptied());
    assert!(!moved(&keyspace, &source).contains("accounts"));
    let file = source.write("accounts.csv", "username\nada\n");
    source.admin(&["user", "import", text(&file)]);
    let ran = move_into(&keyspace, &source);
    let stay = format!("accounts stay in {}: ", text(&source.data()));
    assert!(ran.code == 0 && ran.out.lines().last().unwrap().starts_with(&stay), "{ran:?}");
}

#[test]
fn in_replace_mode_the_newest_put_wins_over_what_was_moved() {
    let _turn = turn();
    let (source, keyspace) =
        (Lodge::new().with("LODGE_LINKS_MODE", "replace"), Keyspace::emptied());
    let server = source.start();
    for turn in ["first", "second"] {
        let put = server.put(&format!("/?short=put&long=example.org/{turn}")).send();
        assert!((200..300).contains(&put.status), "{put:?}");
    }
    assert_eq!(server.stop(), Some(0));
    let deployment = deployment(&keyspace).with("LODGE_LINKS_MODE", "replace");
    assert_eq!(run_move(&deployment, &source).code, 0);
    let before = keyspace.dump();
    assert_eq!(run_move(&deployment, &source).code, 0);
    assert_eq!(keyspace.dump(), before);
    let server = deployment.start();
    assert_eq!(server.get("/put").location(), Some("https://example.org/second"));
    let put = server.put("/?short=put&long=example.org/third").send();
    assert!((200..300).contains(&put.status), "{put:?}");
    // Read the row: the server's cache would answer even if it were not stored.
    let rows = keyspace.run("SELECT target FROM @links WHERE short = 'put'");
    let target = rows[0].columns[0].as_ref().unwrap().as_text().unwrap();
    assert_eq!(target, "https://example.org/third");
}

#[test]
fn a_keyspace_of_another_installation_is_refused_before_any_write() {
    let _turn = turn();
    let source = large_source(3);
    let keyspace = Keyspace::emptied();
    let refused = |why: &str| {
        let before = keyspace.dump();
        move_into(&keyspace, &source).fails(why);
        assert_eq!(keyspace.dump(), before);
    };
    moved(&keyspace, &large_source(2));
    refused("another installation");
    for setting in ["secret", "move"] {
        keyspace.run(&format!("DELETE FROM @settings WHERE name = '{setting}' IF EXISTS"));
    }
    refused("already contains links or API keys");
}

#[test]
fn a_source_that_changed_since_the_move_began_is_refused() {
    let _turn = turn();
    let source = large_source(3);
    let keyspace = Keyspace::emptied();
    moved(&keyspace, &source);
    let server = source.start();
    let ran = move_into(&keyspace, &source).expect(2);
    assert!(ran.err.contains("in use by another process"), "{ran:?}");
    assert_eq!(server.stop(), Some(0));
    moved(&keyspace, &source);
    let server = source.start();
    server.create(&json!({ "target": "example.org", "short": "late" }));
    assert_eq!(server.stop(), Some(0));
    move_into(&keyspace, &source).fails("has changed since");
}

#[test]
fn a_move_without_a_source_or_a_destination_says_what_is_missing() {
    let source = large_source(1);
    let ran = source.run(&["move", "--from", text(&source.data())]).expect(78);
    for missing in
        ["links.store must be \"cassandra\"", "accounts.store \"mariadb\"", "pictures.store \"s3\""]
    {
        assert!(ran.err.contains(missing), "{ran:?}");
    }
    let nowhere = source.file("nowhere");
    let keyspace = Keyspace::new();
    deployment(&keyspace).run(&["move", "--from", text(&nowhere)]).fails("nowhere");
    assert!(!nowhere.exists());
    assert_eq!(keyspace.try_run("SELECT name FROM @settings").map(|rows| rows.len()), None);
}
