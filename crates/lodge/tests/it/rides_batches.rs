//! Batches of lift rides, and the limits on events.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use crate::{
    Lodge, Request, Response, Server, each, eventually_true,
    rides::{DAY, message, ride},
};

pub(crate) fn batch_of(server: &Server, lines: &str) -> Request {
    server.post("/api/rides").header("Content-Type", "application/x-ndjson").body(lines)
}

pub(crate) fn batch(server: &Server, lines: &str) -> (Response, Vec<Value>) {
    answered(batch_of(server, lines).send())
}

pub(crate) fn answered(answer: Response) -> (Response, Vec<Value>) {
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"), "{answer:?}");
    let text = answer.text();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (answer, lines)
}

pub(crate) fn line(id: &str, skier: u32, lift: u32) -> String {
    format!(
        "{{\"id\":\"{id}\",\"resortID\":1,\"seasonID\":\"2025\",\"dayID\":3,\"skierID\":{skier},\"time\":4,\"liftID\":{lift}}}\n"
    )
}

/// Lines of `count` rides by the first lift, whose ids begin with `of`.
fn lines(of: &str, count: u32) -> String {
    (0..count).map(|number| line(&format!("{of}{number}"), 7, 1)).collect()
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn valid_lines_of_a_batch_are_stored_despite_invalid_ones() {
    let (lodge, server) = Lodge::new().started();
    let gate = lodge.gate("north", &[]);
    let batch =
        |server: &Server, lines: &str| answered(batch_of(server, lines).bearer(&gate).send());
    let last = line("d", 8, 4);
    let lines = [
        &line("a", 7, 10),
        "\r\n",
        &line("b", 7, 41),
        "nonsense\n",
        &line("a", 7, 10),
        &line("a", 7, 11),
        "{\"id\":\"c\",\"void\":\"a\"}\n",
        "{\"id\":\"c\",\"void\":\"a\"}\n",
        "{\"void\":\"a\"}\n",
        "{\"void\":\"z\"}\n",
        last.trim_end(),
    ];
    let (answer, said) = batch(&server, &lines.concat());
    answer.expect(400);
    assert_eq!(each(&json!(said), "line"), [1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let statuses = [201, 400, 400, 200, 400, 201, 200, 409, 404, 201];
    assert_eq!(each(&json!(said), "status"), statuses, "{said:?}");
    assert_eq!(said[0], json!({ "line": 1, "status": 201, "id": "a" }));
    let wrong = json!({ "line": 3, "status": 400, "message": "liftID: must be a whole number from 1 to 40" });
    assert_eq!(said[1], wrong);
    let server = server.restart_after_kill();
    assert_eq!(server.get("/skiers/1/seasons/2025/days/3/skiers/8").json(), json!(40));
    assert_eq!(server.get(DAY).status, 404, "its only ride is void");

    let (answer, said) = batch(&server, &line("d", 8, 4));
    assert_eq!((answer.status, &said[0]["status"]), (200, &json!(200)), "all lines are stored");
    let (answer, said) = batch(&server, "");
    assert_eq!((answer.status, said.len()), (200, 0));
}

#[test]
fn a_batch_may_be_compressed() {
    let server = Lodge::new().start();
    let lines = |of: &str| {
        let lines = (0..2_000u32).map(|number| line(&format!("{of}{number}"), number + 1, 1));
        lines.collect::<String>().into_bytes()
    };
    let zstd = |plain: &[u8]| zstd::encode_all(plain, 3).unwrap();
    for (packing, body) in [("gzip", gzip(&lines("g"))), ("zstd", zstd(&lines("z")))] {
        for (kind, status) in [
            ("application/x-ndjson", 201),
            ("application/jsonl", 200),
            ("application/json-lines; charset=utf-8", 200),
            ("application/json", 200),
        ] {
            let ask = server.post("/api/rides").header("Content-Encoding", packing);
            let (answer, said) = answered(ask.header("Content-Type", kind).body(&*body).send());
            assert_eq!((answer.status, said.len()), (200, 2_000));
            assert!(said.iter().all(|line| line["status"] == status), "{packing} {kind}");
        }
    }
    assert_eq!(server.get("/resorts/1/seasons/2025/day/3/skiers").json()["numSkiers"], 2_000);
}

#[test]
fn an_unreadable_batch_is_refused_as_a_whole() {
    let server = Lodge::new().start();
    let before = server.memory_peak_bytes();
    let good = line("a", 7, 10).into_bytes();
    let zeros = vec![b'\n'; 200 << 20];
    let bombs = [gzip(&zeros), zstd::encode_all(&*zeros, 1).unwrap()];
    drop(zeros);
    let too_many = line("a", 7, 10).repeat(10_001).into_bytes();
    let too_large = vec![b'x'; (2 << 20) + 1];
    let cut_off = &gzip(&good)[..20];
    for (packing, kind, body, status) in [
        ("gzip", "application/x-ndjson", &bombs[0][..], 400),
        ("zstd", "application/x-ndjson", &bombs[1], 400),
        ("gzip", "application/x-ndjson", cut_off, 400),
        ("gzip", "application/x-ndjson", &good, 400),
        ("zstd", "application/x-ndjson", &good, 400),
        ("br", "application/x-ndjson", &good, 400),
        ("identity", "text/plain", &good, 400),
        ("identity", "application/x-ndjson", &too_many, 400),
        ("identity", "application/x-ndjson", &too_large, 413),
    ] {
        let ask = server.post("/api/rides").header("Content-Encoding", packing);
        assert!(!message(&ask.header("Content-Type", kind).body(body).expect(status)).is_empty());
    }
    let grown = server.memory_peak_bytes() - before;
    assert!(grown < 64 << 20, "{grown} bytes");
    assert_eq!(server.get("/api/rides/ledger").json()["since_start"]["refused"], 9);
    assert_eq!(server.get(DAY).status, 404);
}

#[test]
fn a_batch_with_a_key_is_counted_once_however_often_it_is_sent() {
    let server = Lodge::new().start();
    let ride = line("", 7, 10).replace("\"id\":\"\",", "");
    let send = |server: &Server, key: &str, lines: &str| {
        let ask = server.post("/api/rides").idempotency_key(key);
        answered(ask.header("Content-Type", "application/x-ndjson").body(lines).send())
    };
    let statuses = |said: &[Value]| each(&json!(said), "status");
    let lines = format!("{ride}{ride}\n{}{ride}", line("own", 7, 10));
    let (_, first) = send(&server, "day 3", &lines);
    assert_eq!(statuses(&first), [201, 201, 201, 201]);
    assert_eq!(first[2]["id"], "own");
    let server = server.restart_after_kill();
    let (answer, again) = send(&server, "day 3", &lines);
    assert_eq!((answer.status, statuses(&again)), (200, vec![json!(200); 4]));
    assert_eq!(answer.header("idempotency-replayed"), Some("true"));
    assert_eq!(each(&json!(again), "id"), each(&json!(first), "id"));
    assert_eq!(server.get(DAY).json(), json!(400));

    let (_, other) = send(&server, "day 4", &ride);
    assert_eq!(statuses(&other), [201], "another key is another batch");
    let long = "x".repeat(129);
    for key in ["", "ä", &long] {
        let answer = server.post("/api/rides").idempotency_key(key).body(&*ride).send();
        assert!(answer.status == 400 && message(&answer).starts_with("Idempotency-Key"), "{key}");
    }
    assert_eq!(server.get(DAY).json(), json!(500));
}

#[test]
fn another_body_with_a_used_key_is_refused_and_nothing_is_stored() {
    let (lodge, server) = Lodge::new().started();
    let gates = ["north", "south"].map(|name| lodge.gate(name, &[]));
    let ride = line("", 7, 10).replace("\"id\":\"\",", "");
    let (first, own) = (ride.repeat(2), line("own", 7, 10));
    let ask = |body: &[u8]| {
        let ask = server.post("/api/rides").idempotency_key("day 3").body(body);
        ask.header("Content-Type", "application/x-ndjson")
    };
    let send = |body: &str| ask(body.as_bytes()).bearer(&gates[0]).send();
    let ledger = || server.get("/api/rides/ledger").json()["since_start"].clone();
    assert_eq!(send(&first).status, 200);
    for other in [format!("{own}{first}"), own.clone(), format!("bad\n{own}"), ride.clone()] {
        let refused = ledger()["refused"].as_u64().unwrap();
        let answer = send(&other);
        assert!(answer.status == 400 && message(&answer).contains("was used for another"));
        assert_eq!(ledger()["refused"], refused + other.lines().count() as u64, "{other}");
    }
    assert_eq!(server.get(DAY).json(), json!(200), "nothing was stored");
    let packed = ask(&gzip(first.as_bytes())).header("Content-Encoding", "gzip");
    let (answer, again) = answered(packed.bearer(&gates[0]).send());
    assert_eq!((answer.status, again.len()), (200, 2), "compression does not change the batch");
    assert_eq!(answer.header("idempotency-replayed"), Some("true"));
    let of_another = ask(own.as_bytes()).bearer(&gates[1]).send();
    assert_eq!(of_another.status, 200, "idempotency keys are scoped to the gate");
    assert_eq!(server.get(DAY).json(), json!(300));
}

#[test]
fn error_messages_of_a_batch_are_bounded() {
    let server = Lodge::new().start();
    let line = format!("{{\"{}\":1}}\n", "\\u0001".repeat(165));
    let (answer, said) = batch(&server, &line.repeat(2_000));
    assert_eq!((answer.status, said.len()), (400, 2_000));
    assert!(answer.body.len() < line.len() * 2_000, "{} bytes", answer.body.len());
    assert!(said.iter().all(|line| line["message"].as_str().unwrap().chars().count() < 300));
    let (answer, said) = batch(&server, &"{}\n".repeat(10_000));
    assert_eq!((answer.status, said.len()), (400, 10_000));
    assert_eq!(server.get("/api/rides/ledger").json()["since_start"]["refused"], 12_000);
}

#[test]
fn unread_answers_of_one_address_leave_memory_for_batches_of_others() {
    // Otherwise these addresses count as this machine.
    let server = Lodge::new().with("LODGE_HTTP_TRUSTED_PROXIES", "127.0.0.9").start();
    let packed = |lines: &str| {
        batch_of(&server, "").header("Content-Encoding", "gzip").body(gzip(lines.as_bytes()))
    };
    let invalid = packed(&format!("{{\"{}\":1}}\n", "q".repeat(60)).repeat(10_000));
    let unread: Vec<_> = (0..60).map(|_| invalid.begin_from("127.0.0.2")).collect();
    let with = |status| unread.iter().filter(|(_, head)| head.status == status).count();
    assert!(with(400) > 3 && with(429) > 30 && with(400) + with(429) == 60, "{}", with(400));
    let valid = packed(&lines("a", 10_000));
    valid.send_from("127.0.0.5").expect(200);
    drop(unread);
    eventually_true("the address has its memory back", || {
        valid.send_from("127.0.0.2").status == 200
    });
}

#[test]
fn events_past_the_limit_are_refused_and_counted_without_flooding_the_log() {
    let server = Lodge::new().with("LODGE_RIDES_EVENTS_PER_SECOND", "100").start();
    let (answer, said) = batch(&server, &lines("a", 900));
    assert_eq!((answer.status, said.len()), (200, 900), "a batch is admitted as a whole");
    let refused = ride(&server, DAY, 1, 1);
    assert!((2..=9).contains(&refused.expect_retry_after(503)), "{refused:?}");
    let refused = server.post("/api/rides").body(lines("b", 10)).send();
    refused.expect_retry_after(503);
    assert!(!message(&refused).is_empty(), "or not at all: {refused:?}");
    assert_eq!(ride(&server, DAY, 0, 1).status, 400, "invalid is 400 past the limit too");
    let too_many = server.post("/api/rides").body(lines("c", 1_001)).send();
    assert!(too_many.status == 400 && message(&too_many).contains("at most 1000 lines"));
    let since_start = &server.get("/api/rides/ledger").json()["since_start"];
    assert_eq!((&since_start["accepted"], &since_start["refused"]), (&json!(900), &json!(1_013)));
    let limited = server.metric("lodge_rides_limited_total");
    assert!((limited - 1_012.0).abs() < 0.5, "{limited}");
    // The only warning is of the start: there is no admin.
    assert_eq!(server.log().matches("\"WARN\"").count(), 1, "{}", server.log());
}

#[test]
fn invalid_lines_do_not_count_against_the_limit() {
    let server = Lodge::new().with("LODGE_RIDES_EVENTS_PER_SECOND", "100").start();
    let wrong = "nonsense\n".repeat(2_000);
    let (answer, said) = batch(&server, &wrong);
    assert_eq!((answer.status, said.len()), (400, 2_000), "each line has its own error");
    let (answer, said) = batch(&server, &(wrong.clone() + &line("a", 7, 1)));
    assert_eq!((answer.status, &said[2_000]["status"]), (400, &json!(201)));
    assert_eq!(ride(&server, DAY, 1, 1).status, 201);
    assert_eq!(batch(&server, &lines("b", 900)).0.status, 200);
    assert_eq!(ride(&server, DAY, 1, 1).status, 503);
    assert_eq!(batch(&server, &wrong).0.status, 400, "invalid lines are not limited");
    let refused = batch_of(&server, &(wrong + &lines("c", 2))).send();
    assert!(refused.status == 503 && !message(&refused).is_empty(), "{refused:?}");
    let since_start = &server.get("/api/rides/ledger").json()["since_start"];
    assert_eq!((&since_start["accepted"], &since_start["refused"]), (&json!(902), &json!(8_003)));
    let limited = server.metric("lodge_rides_limited_total");
    assert!((limited - 3.0).abs() < 0.5, "{limited}");
}

#[test]
fn events_are_admitted_again_after_a_large_batch() {
    let server = Lodge::new().with("LODGE_RIDES_EVENTS_PER_SECOND", "1000").start();
    assert_eq!(batch(&server, &lines("a", 300)).0.status, 200);
    eventually_true("events are admitted again", || ride(&server, DAY, 1, 1).status == 201);
}

#[test]
fn events_without_a_gate_key_are_limited_per_address() {
    let (lodge, server) = Lodge::new().with("LODGE_LIMITS_RIDES_PER_MINUTE", "5").started();
    let key = lodge.admin(&["gate", "create", "north"]).trim().to_owned();
    let from = |address: &str, lines: &str| server.post("/api/rides").from(address).body(lines);
    let too_many = from("192.0.2.1", &lines("a", 6)).send();
    assert!(too_many.status == 400 && message(&too_many).contains("at most 5 lines"));
    let wrong = from("192.0.2.1", &"nonsense\n".repeat(9));
    assert_eq!(answered(wrong.send()).1.len(), 9, "invalid lines do not count");
    from("192.0.2.1", &lines("a", 4)).expect(200);
    from("192.0.2.1", &lines("b", 2)).send().expect_retry_after(429);
    let one = || server.post(DAY).from("192.0.2.1");
    let one = || one().json(json!({ "time": 1, "liftID": 1 })).send().status;
    assert_eq!([one(), one()], [201, 429]);
    assert_eq!(from("192.0.2.2", &lines("c", 5)).send().status, 200, "a limit per address");
    from("192.0.2.1", &lines("d", 9)).bearer(&key).expect(200);
    assert_eq!(batch(&server, &lines("e", 9)).0.status, 200, "this machine is not limited");
}
