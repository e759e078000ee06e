//! Rides that the operator voids.

use serde_json::{Value, json};

use crate::{Lodge, Server};

const DAY: &str = "/skiers/3/seasons/2025/days/1/skiers/7";
const FAR_OFF: &str = "/skiers/3/seasons/9999/days/366/skiers/7";
const OF_FAR_OFF: [&str; 6] = ["--season", "9999", "--resort", "3", "--day", "366"];

fn send(server: &Server, path: &str, lift: u32) -> String {
    let answer = server.post(path).json(json!({ "time": 217, "liftID": lift })).expect(201);
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// Returns the fields of each event that `lodge admin ride find` prints.
fn find(lodge: &Lodge, more: &[&str]) -> Vec<Vec<String>> {
    lodge.admin_list(&[&["ride", "find"], &OF_FAR_OFF[..], more].concat())
}

fn stored(server: &Server) -> Value {
    server.get("/api/rides/ledger").json()["for_ever"]["stored"].clone()
}

#[test]
fn the_operator_finds_and_voids_a_ride_that_was_sent_without_a_key() {
    let (lodge, server) = Lodge::new().started();
    let wrong = send(&server, FAR_OFF, 21);
    let right = send(&server, DAY, 1);
    assert!(server.get("/rides").text().contains("9999"), "the wrong season is on the front page");
    let found = find(&lodge, &[]);
    let line = [wrong.as_str(), "-", "7", "217", "21", "210"];
    assert_eq!((found.len(), &found[0][..6]), (1, &line.map(str::to_owned)[..]));
    assert_eq!(find(&lodge, &["--skier", "8"]).len(), 0);

    let said = lodge.admin(&["ride", "void", &wrong]);
    let ride = "skier 7 at resort 3, season 9999, day 366, minute 217, lift 21, vertical 210";
    assert_eq!(said, format!("voided the ride of {ride}\n"));
    assert_eq!(server.get(FAR_OFF).status, 404);
    assert_eq!(server.get(DAY).json(), json!(10), "other rides stay");
    assert!(!server.get("/rides").text().contains("9999"));
    assert_eq!(stored(&server), json!(3), "the ledger counts the void");
    let found = find(&lodge, &["--skier", "7"]);
    assert_eq!((found.len(), &found[1][7]), (2, &wrong));

    let (void, absent) = (found[1][0].as_str(), "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b");
    let refusals = || {
        for (event, why) in [
            (wrong.as_str(), "already void"),
            (void, "is itself a void"),
            (absent, "no event with this id was sent without a key"),
            ("", "must be 1 to 128"),
        ] {
            lodge.run(&["admin", "ride", "void", event]).fails(why);
        }
    };
    refusals();
    assert_eq!(stored(&server), json!(3));
    assert_eq!(server.stop(), Some(0));
    refusals();
    lodge.admin(&["ride", "void", &right]);
    lodge.run(&["admin", "rebuild", "rides"]).prints("all totals are correct");
    assert_eq!(lodge.start().get(DAY).status, 404);
}

#[test]
fn a_ride_of_a_gate_is_voided_only_with_the_gate_named() {
    let (lodge, server) = Lodge::new().started();
    let key = lodge.gate("north", &[]);
    let send = |once: &str, key: Option<&str>| {
        let ask = server.post(FAR_OFF).idempotency_key(once).bearer_if(key);
        ask.json(json!({ "time": 1, "liftID": 2 })).expect(201);
    };
    send("scan 1", Some(&key));
    send("scan 2", None);
    lodge.admin(&["gate", "revoke", "north"]);
    let gates: Vec<_> = find(&lodge, &[]).into_iter().map(|fields| fields[1].clone()).collect();
    assert_eq!(gates, ["north", "-"]);
    for (arguments, why) in [
        (&["scan 1"][..], "was sent without a key"),
        (&["scan 2", "--gate", "north"], "this gate sent no"),
        (&["scan 1", "--gate", "south"], "no gate with this name"),
    ] {
        lodge.run(&[&["admin", "ride", "void"], arguments].concat()).fails(why);
    }
    assert_eq!(server.get(FAR_OFF).json(), json!(40));
    lodge.admin(&["ride", "void", "scan 1", "--gate", "north"]);
    assert_eq!(server.get(FAR_OFF).json(), json!(20), "although its key was revoked");
}

#[test]
fn all_events_of_a_day_are_found() {
    let (lodge, server) = Lodge::new().started();
    let line = |n: u32| {
        let (skier, lift) = (n % 9 + 1, n % 40 + 1);
        json!({ "id": format!("scan {n}"), "resortID": 3, "seasonID": "9999", "dayID": 366, "skierID": skier, "time": 1, "liftID": lift }).to_string()
    };
    let lines: Vec<_> = (0..2_500).map(line).collect();
    server.post("/api/rides").body(lines.join("\n")).expect(200);
    let ids: Vec<_> = find(&lodge, &[]).into_iter().map(|fields| fields[0].clone()).collect();
    let expected: Vec<_> = (0..2_500).map(|n| format!("scan {n}")).collect();
    assert_eq!(ids, expected);
}
