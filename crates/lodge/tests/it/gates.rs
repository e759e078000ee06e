//! Gates with keys: scopes of event ids, and permissions.

use serde_json::{Value, json};

use crate::{Lodge, Response, Server};

const DAY: &str = "/skiers/3/seasons/2025/days/1/skiers/7";
const ELSEWHERE: &str = "/skiers/4/seasons/2025/days/1/skiers/7";

fn send(server: &Server, path: &str, key: Option<&str>, id: &str, lift: u32) -> Response {
    server
        .post(path)
        .idempotency_key(id)
        .bearer_if(key)
        .json(json!({ "time": 1, "liftID": lift }))
        .send()
}

fn batch(server: &Server, key: &str, lines: &[Value]) -> (u16, Vec<u64>) {
    let body = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let ask = server.post("/api/rides").bearer(key);
    let answer = ask.header("Content-Type", "application/x-ndjson").body(body).send();
    let text = answer.text();
    let status = |line| serde_json::from_str::<Value>(line).unwrap()["status"].as_u64();
    (answer.status, text.lines().map(|line| status(line).unwrap_or_default()).collect())
}

fn line(id: &str, resort: u32) -> Value {
    json!({ "id": id, "resortID": resort, "seasonID": "2025", "dayID": 1, "skierID": 8, "time": 4, "liftID": 1 })
}

#[test]
fn event_ids_are_scoped_to_a_gate() {
    let (lodge, server) = Lodge::new().started();
    let (north, south) = (lodge.gate("north", &[]), lodge.gate("south", &[]));
    for (key, lift) in [(None, 1), (Some(north.as_str()), 2), (Some(south.as_str()), 3)] {
        for replayed in [None, Some("true")] {
            let answer = send(&server, DAY, key, "17", lift).expect(201);
            assert_eq!(answer.header("idempotency-replayed"), replayed, "{lift}");
        }
    }
    assert_eq!(server.get(DAY).json(), json!(60));
    let void = |key: &str| batch(&server, key, &[json!({ "id": "v", "void": "17" })]);
    assert_eq!(void(&north), (200, vec![201]));
    assert_eq!(server.get(DAY).json(), json!(40), "only its own ride is void");
    assert_eq!(send(&server, DAY, Some(&south), "17", 3).status, 201);
    let gates: Vec<i64> = {
        let database = lodge.database();
        let mut rows = database.prepare("SELECT gate FROM rides ORDER BY gate").unwrap();
        let gates = rows.query_map([], |row| row.get(0)).unwrap();
        gates.collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(gates, [0, 1, 1, 2]);
}

#[test]
fn a_gate_of_a_resort_sends_rides_of_that_resort_only() {
    let (lodge, server) = Lodge::new().started();
    let key = lodge.gate("north", &["--resort", "3"]);
    assert_eq!(send(&server, DAY, Some(&key), "a", 1).status, 201);
    let other = send(&server, ELSEWHERE, Some(&key), "b", 1);
    let message = json!({ "message": "this gate's key is for another resort" });
    assert_eq!((other.status, other.json()), (403, message));
    let lines = [line("c", 3), line("d", 4), json!({ "void": "a" }), line("e", 99)];
    assert_eq!(batch(&server, &key, &lines), (400, vec![201, 403, 201, 400]));
    assert_eq!(server.get(ELSEWHERE).status, 404);
    lodge.run(&["admin", "gate", "create", "nowhere", "--resort", "11"]).fails("from 1 to 10");
}

#[test]
fn a_revoked_gate_key_is_refused_and_its_rides_stay() {
    let (lodge, server) = Lodge::new().started();
    let (north, south) = (lodge.gate("north", &[]), lodge.gate("south", &["--resort", "3"]));
    assert_eq!(send(&server, DAY, Some(&north), "a", 1).status, 201);
    lodge.admin(&["gate", "revoke", "north"]);
    assert_eq!(send(&server, DAY, Some(&north), "b", 1).status, 401, "at once");
    assert_eq!(send(&server, DAY, Some(&south), "b", 1).status, 201);
    assert_eq!(server.get(DAY).json(), json!(20), "its rides stay");
    let listed = lodge.admin_list(&["gate", "list"]);
    assert_eq!((listed.len(), &*listed[1][4]), (2, "active"));
    assert_eq!(listed[0][..3], ["1", "north", "all"]);
    assert!(listed[0][4].starts_with("revoked "), "{listed:?}");
    assert_eq!(listed[1][..3], ["2", "south", "3"]);
    assert_eq!(lodge.run(&["admin", "gate", "revoke", "west"]).code, 1);
    assert_eq!(lodge.run(&["admin", "gate", "create", "south"]).code, 1, "names are unique");

    server.stop();
    let east = lodge.gate("east", &[]);
    let server = lodge.start();
    assert_eq!(send(&server, DAY, Some(&east), "c", 1).status, 201, "created without a server");
    assert_eq!(send(&server, DAY, Some(&north), "c", 1).status, 401);
}

#[test]
fn a_key_that_is_not_a_gate_key_is_refused() {
    let (lodge, server) = Lodge::new().started();
    let gates_key = lodge.gate("north", &[]);
    let wrong = format!("{}x", &gates_key[..53]);
    let api_key = lodge.key("me");
    for key in ["", "lodge_gate_", "lodge_gate_x", &wrong, &api_key, "session_x", "manage_x"] {
        let answer = send(&server, DAY, Some(key), "a", 1).expect(401);
        assert!(answer.json()["message"].is_string(), "{answer:?}");
        assert!(answer.header("www-authenticate").is_some(), "{answer:?}");
        assert_eq!(batch(&server, key, &[]).0, 401, "{key}");
    }
    let basic = server.post(DAY).header("Authorization", "Basic bWU6bWU=");
    basic.json(json!({ "time": 1, "liftID": 1 })).expect(401);
    assert_eq!(server.get(DAY).status, 404, "nothing was stored");
    let elsewhere = server.ask("GET", "/api/links").bearer(&gates_key).send();
    assert_eq!(elsewhere.status, 401, "a gate's key is valid for rides only");
}

#[test]
fn rides_without_a_key_are_refused_where_keys_are_required() {
    let (lodge, server) = Lodge::new().with("LODGE_RIDES_KEYS_REQUIRED", "true").started();
    let key = lodge.gate("north", &[]);
    let answer = send(&server, DAY, None, "a", 1);
    assert!(answer.status == 401 && answer.json()["message"].is_string(), "{answer:?}");
    server.post("/api/rides").body(format!("{}\n", line("a", 3))).expect(401);
    assert_eq!(send(&server, DAY, Some(&key), "a", 1).status, 201);
    assert_eq!(batch(&server, &key, &[line("b", 3)]), (200, vec![201]));
    assert_eq!(server.get(DAY).json(), json!(10), "reading needs no key");
}

#[test]
fn a_renewed_gate_gets_a_new_key_and_keeps_its_rides() {
    let (lodge, server) = Lodge::new().started();
    let first = lodge.gate("north", &["--resort", "3"]);
    assert_eq!(send(&server, DAY, Some(&first), "a", 1).status, 201);
    let renew = || lodge.admin(&["gate", "renew", "north"]).trim().to_owned();
    let second = renew();
    assert_eq!(send(&server, DAY, Some(&first), "b", 1).status, 401, "the old key");
    let again = send(&server, DAY, Some(&second), "a", 1);
    assert_eq!(again.header("idempotency-replayed"), Some("true"), "the gate keeps its events");
    assert_eq!(send(&server, ELSEWHERE, Some(&second), "b", 1).status, 403);
    lodge.admin(&["gate", "revoke", "north"]);
    assert_eq!(send(&server, DAY, Some(&second), "b", 1).status, 401);
    lodge.run(&["admin", "gate", "create", "north"]).fails("renew it");
    assert_eq!(server.stop(), Some(0));

    let third = renew();
    let server = lodge.start();
    assert_eq!(batch(&server, &third, &[json!({ "id": "v", "void": "a" })]), (200, vec![201]));
    for old in [&first, &second] {
        assert_eq!(send(&server, DAY, Some(old), "b", 1).status, 401);
    }
    assert_eq!(lodge.admin_list(&["gate", "list"])[0][4], "active");
    lodge.run(&["admin", "gate", "renew", "west"]).fails("no gate with this name");
}

#[test]
fn an_invalid_resort_of_a_gate_is_reported_by_option() {
    let lodge = Lodge::new();
    assert_eq!(lodge.start().stop(), Some(0));
    lodge.run(&["admin", "gate", "create", "x", "--resort", "99"]).fails("--resort: must be");
}
