//! Lift rides: the course's published API, and aggregates over many rides.

use serde_json::{Value, json};

use crate::{
    Lodge, Response, Server, eventually_true,
    rides_batches::{answered, batch, batch_of, line},
};

pub(crate) const DAY: &str = "/skiers/1/seasons/2025/days/3/skiers/7";

pub(crate) fn ride(server: &Server, path: &str, time: u32, lift: u32) -> Response {
    server.post(path).json(json!({ "time": time, "liftID": lift })).send()
}

fn made(server: &Server, path: &str, time: u32, lift: u32) {
    ride(server, path, time, lift).expect(201);
}

/// Returns the message of a refusal, which must be its only field.
pub(crate) fn message(answer: &Response) -> String {
    assert_eq!(answer.header("content-type"), Some("application/json"), "{answer:?}");
    let said = answer.json();
    assert_eq!(said.as_object().map(serde_json::Map::len), Some(1), "{said}");
    said["message"].as_str().unwrap().to_owned()
}

#[test]
fn rides_are_counted_as_the_course_published() {
    let server = Lodge::new().start();
    made(&server, DAY, 1, 10);
    made(&server, DAY, 60, 10);
    made(&server, DAY, 61, 20);
    made(&server, "/skiers/1/seasons/2025/days/3/skiers/8", 62, 40);
    made(&server, "/skiers/2/seasons/2024/days/366/skiers/7", 1440, 1);
    assert_eq!(server.get(DAY).json(), json!(400));
    for day in ["day", "days"] {
        let skiers = server.get(&format!("/resorts/1/seasons/2025/{day}/3/skiers"));
        assert_eq!(skiers.json(), json!({ "time": "Mission Ridge", "numSkiers": 2 }));
    }
    let empty = server.get("/resorts/9/seasons/2025/day/3/skiers").json();
    assert_eq!(empty, json!({ "time": "Bluewood", "numSkiers": 0 }));

    let vertical = |query: &str| server.get(&format!("/skiers/7/vertical{query}"));
    let seasons = |of: Value| json!({ "resorts": of });
    let of_2024 = json!({ "seasonID": "2024", "totalVert": 10 });
    let of_2025 = json!({ "seasonID": "2025", "totalVert": 400 });
    assert_eq!(vertical("").json(), json!(410));
    assert_eq!(vertical("?season=2025").json(), seasons(json!([of_2025])));
    for both in
        ["?resort=1&resort=2&season=2025&season=2024", "?resort=1,2", "?season=2024%2c2025,2023"]
    {
        assert_eq!(vertical(both).json(), seasons(json!([of_2024, of_2025])), "{both}");
    }
    assert_eq!(vertical("?resort=2").json(), seasons(json!([of_2024])));

    let resorts = server.get("/resorts").json();
    assert_eq!(resorts["resorts"][9], json!({ "resortName": "Loup Loup", "resortID": 10 }));
    assert_eq!(server.get("/resorts/1/seasons").json(), json!({ "seasons": ["2025"] }));
    assert_eq!(server.get("/resorts/3/seasons").json(), json!({ "seasons": [] }));

    for path in [
        "/skiers/1/seasons/2025/days/4/skiers/7",
        "/skiers/9/vertical",
        "/skiers/7/vertical?resort=3",
    ] {
        let answer = server.get(path);
        assert_eq!((answer.status, message(&answer).is_empty()), (404, false), "{path}");
    }
}

#[test]
fn many_rides_are_summed_by_skier_lift_and_hour() {
    let server = Lodge::new().start();
    made(&server, DAY, 1, 10);
    made(&server, DAY, 61, 10);
    made(&server, "/skiers/1/seasons/2025/days/3/skiers/8", 62, 40);
    made(&server, "/skiers/1/seasons/2025/days/4/skiers/7", 62, 30);
    let get = |path: &str, query: &str| {
        server.get(&format!("/api/rides/{path}?resort=1&season=2025{query}")).json()
    };
    let leader = |rank: u32, skier: u32, vertical: u32| json!({ "rank": rank, "skierID": skier, "vertical": vertical });
    let of_the_day = json!({ "leaders": [leader(1, 8, 400), leader(2, 7, 200)] });
    let of_the_season = json!({ "leaders": [leader(1, 7, 500), leader(2, 8, 400)] });
    assert_eq!(get("leaderboard", "&day=3"), of_the_day);
    assert_eq!(get("leaderboard", ""), of_the_season);
    assert_eq!(get("leaderboard", "&limit=1"), json!({ "leaders": [leader(1, 7, 500)] }));
    let lifts = json!([{ "liftID": 10, "rides": 2, "vertical": 200 }, { "liftID": 40, "rides": 1, "vertical": 400 }]);
    assert_eq!(get("lifts", "&day=3"), json!({ "lifts": lifts }));
    let hours = json!([{ "hour": 0, "rides": 1, "vertical": 100 }, { "hour": 1, "rides": 2, "vertical": 500 }]);
    assert_eq!(get("hours", "&day=3"), json!({ "hours": hours }));
    for path in [
        "leaderboard?resort=1",
        "leaderboard?resort=1&season=2025&limit=101",
        "lifts?resort=1&season=2025",
        "hours?resort=1&season=2025&day=3&hour=4",
    ] {
        let answer = server.get(&format!("/api/rides/{path}"));
        assert!(answer.status == 400 && !message(&answer).is_empty(), "{path}: {answer:?}");
    }
}

#[test]
fn the_same_ride_with_the_same_key_counts_once_forever() {
    let server = Lodge::new().start();
    let send = |server: &Server, key: &str, lift: u32| {
        server.post(DAY).idempotency_key(key).json(json!({ "time": 1, "liftID": lift })).send()
    };
    let first = send(&server, "gate 4: 17", 10);
    assert_eq!((first.status, first.json()), (201, json!({ "id": "gate 4: 17" })));
    assert_eq!(first.header("idempotency-replayed"), None);
    let server = server.restart_after_kill();
    let again = send(&server, "gate 4: 17", 10);
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let other = send(&server, "gate 4: 17", 11).expect(400);
    assert!(message(&other).starts_with("Idempotency-Key: was already used for a different event"));
    assert_eq!(server.get(DAY).json(), json!(100));

    let made_up = [ride(&server, DAY, 1, 10), ride(&server, DAY, 1, 10)].map(|made| made.json());
    assert_ne!(made_up[0], made_up[1], "each request without a key is a new ride");
    let long = "x".repeat(129);
    for key in ["", "ä", &long] {
        let answer = send(&server, key, 10);
        assert!(answer.status == 400 && message(&answer).starts_with("Idempotency-Key"), "{key}");
    }
    server
        .post(DAY)
        .idempotency_key("a")
        .idempotency_key("b")
        .json(json!({ "time": 1, "liftID": 1 }))
        .expect(400);
    assert_eq!(server.get(DAY).json(), json!(300));
}

#[test]
fn bad_input_is_400_with_the_field_and_its_valid_range() {
    let server = Lodge::new().start();
    let good = r#"{"time":1,"liftID":1}"#;
    let (time, lift) = (
        "time: must be a whole number from 1 to 1440",
        "liftID: must be a whole number from 1 to 40",
    );
    for (body, words) in [
        (r#"{"time":0,"liftID":1}"#, time),
        (r#"{"time":1441,"liftID":1}"#, time),
        (r#"{"time":1.0,"liftID":1}"#, time),
        (r#"{"time":1e0,"liftID":1}"#, time),
        (r#"{"time":"1","liftID":1}"#, time),
        (r#"{"time":-1,"liftID":1}"#, time),
        (r#"{"time":null,"liftID":1}"#, time),
        (r#"{"time":99999999999999999999999,"liftID":1}"#, time),
        (r#"{"liftID":1}"#, "time: is missing"),
        (r#"{"time":1,"liftID":41}"#, lift),
        (r#"{"time":1,"liftID":true}"#, lift),
        (r#"{"time":1,"liftID":[1]}"#, lift),
        (r#"{"time":1,"liftID":{}}"#, lift),
        (r#"{"time":1}"#, "liftID: is missing"),
        ("{}", "time: is missing"),
        (r#"{"time":1,"liftID":1,"waitTime":3}"#, "unknown field `waitTime`"),
        (r#"{"time":1,"time":1,"liftID":1}"#, "duplicate field `time`"),
        (r#"{"time":1,"liftID":1"#, "EOF"),
        (r#"{"time":01,"liftID":1}"#, "invalid number"),
        (r#"{"time":1,"liftID":1}{}"#, "trailing"),
        ("[1,1]", "must be a JSON object"),
        ("", "must be a JSON object"),
    ] {
        let answer = server.post(DAY).header("Content-Type", "application/json").body(body).send();
        assert!(answer.status == 400 && message(&answer).contains(words), "{body}: {answer:?}");
    }
    let numbers =
        ["0", "+1", "-1", "0x1", "1.0", "1e0", "%31", "%201", "x", "99999999999999999999"];
    for (name, before, after, last) in [
        ("resortID", "/skiers/", "/seasons/2025/days/3/skiers/7", "11"),
        ("seasonID", "/skiers/1/seasons/", "/days/3/skiers/7", "10000"),
        ("dayID", "/skiers/1/seasons/2025/days/", "/skiers/7", "367"),
        ("skierID", "/skiers/1/seasons/2025/days/3/skiers/", "", "100001"),
        ("resortID", "/resorts/", "/seasons/2025/day/3/skiers", "11"),
        ("resortID", "/resorts/", "/seasons", "11"),
        ("skierID", "/skiers/", "/vertical", "100001"),
    ] {
        for number in numbers.into_iter().chain([last]) {
            let path = format!("{before}{number}{after}");
            let method = if path.contains("/skiers/7") { "POST" } else { "GET" };
            let ask = server.ask(method, &path).header("Content-Type", "application/json");
            let answer = ask.body(if method == "POST" { good } else { "" }).expect(400);
            let said = message(&answer);
            assert!(said.starts_with(name) && said.contains("from 1 to"), "{path}: {said}");
        }
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let answer = server.post(DAY).header("Content-Type", kind).body(good).send();
        assert!(answer.status == 400 && message(&answer).starts_with("Content-Type"), "{kind}");
    }
    assert_eq!(server.get(DAY).status, 404, "nothing was stored");
}

#[test]
fn every_error_of_rides_has_a_message() {
    let server = Lodge::new().with("LODGE_HTTP_REQUEST_TIMEOUT_S", "2").start();
    let long = format!("{{\"time\":1,\"liftID\":1{}}}", " ".repeat(2000));
    for (method, path, body, status) in [
        ("PUT", DAY, "", 405),
        ("DELETE", "/resorts", "", 405),
        ("PATCH", "/api/rides", "", 405),
        ("GET", "/api/rides/nothing", "", 404),
        ("GET", "/skiers/1/nothing", "", 404),
        ("GET", "/resorts/1/nothing", "", 404),
        ("GET", "/skiers", "", 404),
        ("POST", "/skiers/1/seasons/2025/days/3/skiers/7/rides", "", 404),
        ("DELETE", "/resorts/1/seasons", "", 405),
        ("POST", "/skiers/7/vertical", "", 405),
        ("POST", DAY, &long, 413),
    ] {
        let ask = server.ask(method, path).header("Content-Type", "application/json").body(body);
        for ask in [ask.clone(), ask.browser()] {
            assert!(!message(&ask.expect(status)).is_empty(), "{method} {path}");
        }
    }
    let elsewhere = server.post(DAY).header("Sec-Fetch-Site", "cross-site").send();
    assert!(elsewhere.status == 403 && !message(&elsewhere).is_empty(), "{elsewhere:?}");

    let head = format!("POST {DAY} HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{{");
    let late = server.send_raw(head.as_bytes()).read().unwrap();
    assert!(late.status == 408 && !message(&late).is_empty(), "{late:?}");

    let page = server.ask("GET", "/nothing").browser().send();
    assert!(page.text().starts_with("<!doctype html>"), "other paths answer with a page");
}

#[test]
fn the_ledger_balances_and_survives_a_restart() {
    let (lodge, server) = Lodge::new().started();
    assert_eq!(batch(&server, &[line("a", 7, 1), line("b", 7, 1)].concat()).0.status, 200);
    assert_eq!(batch(&server, &[line("b", 7, 1), line("c", 7, 99)].concat()).0.status, 400);
    assert_eq!(batch(&server, &line("a", 7, 2)).0.status, 400);
    assert_eq!(ride(&server, DAY, 0, 1).status, 400);
    assert_eq!(server.get("/skiers/0/vertical").status, 400, "a read is not an event");
    let ledger = server.get("/api/rides/ledger").json();
    let since_start = json!({ "accepted": 3, "stored": 2, "duplicates": 1, "in_flight": 0, "refused": 3, "undecided": 0 });
    assert_eq!(ledger["since_start"], since_start);
    let for_ever = json!({ "accepted": 3, "stored": 2, "duplicates": 1, "refused": 3 });
    eventually_true("refused events are stored in the ledger", || {
        server.get("/api/rides/ledger").json()["for_ever"] == for_ever
    });
    assert_eq!(ride(&server, DAY, 0, 1).status, 400);
    assert_eq!(server.stop(), Some(0));
    let ledger = lodge.start().get("/api/rides/ledger").json();
    let for_ever = json!({ "accepted": 3, "stored": 2, "duplicates": 1, "refused": 4 });
    assert_eq!(ledger["for_ever"], for_ever, "the last refusal is stored at shutdown");
    assert_eq!(ledger["since_start"]["refused"], 0);
}

#[test]
fn the_resorts_are_those_of_the_configuration() {
    let lodge = Lodge::new();
    let toml = r#"
        [rides]
        seasons = [2024, 2026]
        lifts_max = 2
        [[rides.resorts]]
        id = 3
        name = "Home"
        lifts = [{ id = 5, name = "Front Side", vertical = 520 }]
        [[rides.resorts]]
        id = 12
        name = "Away"
    "#;
    lodge.write("lodge.toml", toml);
    let server = lodge.start();
    let expected = json!({ "vertical_unit": "m", "resorts": [
        { "resortID": 3, "name": "Home", "lifts": [{ "liftID": 5, "name": "Front Side", "vertical": 520 }] },
        { "resortID": 12, "name": "Away", "lifts": [{ "liftID": 1, "vertical": 10 }, { "liftID": 2, "vertical": 20 }] },
    ] });
    assert_eq!(server.get("/api/rides/resorts").json(), expected);
    let path = "/skiers/3/seasons/2024/days/1/skiers/1";
    made(&server, path, 1, 5);
    assert_eq!(server.get(path).json(), json!(520));
    for (path, lift) in [
        (path, 1),
        ("/skiers/12/seasons/2024/days/1/skiers/1", 3),
        ("/skiers/4/seasons/2024/days/1/skiers/1", 5),
        ("/skiers/3/seasons/2023/days/1/skiers/1", 5),
    ] {
        assert_eq!(ride(&server, path, 1, lift).status, 400, "{path}");
    }
}

#[test]
fn rides_are_searched() {
    let (lodge, server) = Lodge::new().with("LODGE_APPS", "rides").started();
    with_a_season(&lodge, &server);
    let found = server.get("/api/rides/search?season=2025&by=resort&lift=2&time=1-60").json();
    assert_eq!(found["read_from"], "rides");
    let groups = json!([
        { "resortID": 3, "rides": 749, "vertical": 14_980, "skiers": 2 },
        { "resortID": 4, "rides": 750, "vertical": 15_000, "skiers": 2 },
    ]);
    assert_eq!(found["groups"], groups);
    let found = server.get("/api/rides/search?season=2025&by=season,resort").json();
    assert_eq!((&found["read_from"], &found["groups"][1]["skiers"]), (&json!("sums"), &json!(2)));
    assert_eq!(found["groups"][1]["seasonID"], "2025");
    let lists = [
        "resort=3,4&lift=1,2&by=resort,day",
        "resort=3&resort=4&lift=1&lift=2&by=resort&by=day",
        "resort=3%2c4&lift=1%2C2&by=resort%2cday",
    ];
    let [first, others @ ..] = lists.map(|query| {
        server.get(&format!("/api/rides/search?season=2025&{query}")).expect(200).json()
    });
    assert_eq!(first["groups"].as_array().map(Vec::len), Some(6));
    assert!(others.iter().all(|other| *other == first), "{others:?}");
    assert_eq!(first.get("more"), None, "the result is complete");
    let most = "/api/rides/search?season=2025&by=resort&lift=2&time=1-60&order=vertical&limit=1";
    let found = server.get(most).json();
    assert_eq!((&found["groups"], &found["more"]), (&json!([groups[1]]), &json!(true)));
    for (query, words) in [
        ("lift=41", "lift: must be a whole number from 1 to 40"),
        ("days=9-2", "days: must not begin after its end"),
    ] {
        let refused = server.get(&format!("/api/rides/search?{query}"));
        assert_eq!((refused.status, message(&refused)), (400, words.to_owned()));
    }
}

#[test]
fn an_export_without_a_key_has_no_event_ids() {
    let (lodge, server) = Lodge::new().with("LODGE_APPS", "rides").started();
    let gate = with_a_season(&lodge, &server);
    let exported = server.get("/api/rides/export.csv?season=2025");
    assert_eq!(exported.header("content-type"), Some("text/csv; charset=utf-8"));
    let text = exported.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 3_001);
    let head = "seasonID,resortID,resort,dayID,skierID,time,liftID,rides,vertical,received_at";
    assert_eq!(lines[0], head);
    assert!(!text.contains("scan") && !text.contains("void"));
    let taken_back: Vec<_> = lines.iter().filter(|line| line.contains(",-1,-20,")).collect();
    assert!(taken_back[0].starts_with("2025,3,Stevens Pass,1,1,1,2,-1,-20,"), "{taken_back:?}");
    assert_eq!(taken_back.len(), 1);
    let of_one = server.get("/api/rides/export.csv?season=2025&resort=4").text();
    assert_eq!(of_one.lines().count(), 1 + 1_500);
    let missing = server.get("/api/rides/export.csv");
    assert_eq!((missing.status, message(&missing)), (400, "season: is missing".to_owned()));
    assert_eq!(server.get("/api/rides/export.csv?season=1999").text().lines().count(), 1);

    let with =
        |key: &str| server.ask("GET", "/api/rides/export.csv?season=2025").bearer(key).send();
    let own = with(&gate).text();
    assert_eq!(own.lines().next(), Some(format!("{head},event,voids").as_str()));
    let named = |end: &str| own.lines().filter(|line| line.ends_with(end)).count();
    // The id is escaped so that spreadsheets do not run it as a formula.
    assert_eq!(named(r#",'=a void,"scan 0, ""gate"" 4""#), 1);
    assert_eq!(named(r#","scan 1, ""gate"" 4","#), 1);
    let other = with(&lodge.gate("south", &[])).text();
    assert!(other.lines().skip(1).all(|line| line.ends_with("Z,,")), "only ids of its own events");
    assert_eq!(with("lodge_gate_x").status, 401);
}

/// Sends three thousand rides and a void of one of them, by a gate. Returns the gate's key.
fn with_a_season(lodge: &Lodge, server: &Server) -> String {
    let line = |n: u64| {
        format!(
            r#"{{"id":"scan {n}, \"gate\" 4","resortID":{},"seasonID":"2025","dayID":{},"skierID":{},"time":{},"liftID":2}}"#,
            n % 2 + 3,
            n % 3 + 1,
            n % 4 + 1,
            n % 120 + 1
        )
    };
    let mut lines: Vec<_> = (0..3_000).map(line).collect();
    lines.push(r#"{"id":"=a void","void":"scan 0, \"gate\" 4"}"#.to_owned());
    let gate = lodge.gate("north", &[]);
    batch_of(server, &lines.join("\n")).bearer(&gate).expect(200);
    gate
}

#[test]
fn a_void_without_a_key_is_refused() {
    let (lodge, server) = Lodge::new().started();
    assert_eq!(batch(&server, &line("a", 7, 10)).0.status, 200);
    let void = "{\"id\":\"v\",\"void\":\"a\"}\n";
    let (answer, said) = batch(&server, void);
    let refused =
        json!([{ "line": 1, "status": 403, "message": "only a gate with a key can void rides" }]);
    assert_eq!((answer.status, json!(said)), (400, refused));
    let gate = lodge.gate("north", &[]);
    let (_, said) = answered(batch_of(&server, void).bearer(&gate).send());
    assert_eq!(said[0]["status"], 404, "the gate did not send the ride: {said:?}");
    assert_eq!(server.get(DAY).json(), json!(100));
}

#[test]
fn an_added_season_is_listed_even_without_rides() {
    let server = Lodge::new().start();
    let add = |server: &Server, resort: &str, body: &str| {
        let ask = server.post(&format!("/resorts/{resort}/seasons"));
        ask.header("Content-Type", "application/json").body(body).send()
    };
    let seasons = |server: &Server| server.get("/resorts/1/seasons").json();
    made(&server, DAY, 1, 1);
    for year in [json!("2030"), json!("2019"), json!(2019), json!("2025")] {
        let answer = add(&server, "1", &json!({ "year": year }).to_string());
        assert_eq!((answer.status, answer.body.len()), (201, 0), "{answer:?}");
    }
    let server = server.restart_after_kill();
    assert_eq!(seasons(&server), json!({ "seasons": ["2019", "2025", "2030"] }));
    assert_eq!(server.get("/resorts/2/seasons").json(), json!({ "seasons": [] }));
    let page = server.ask("GET", "/rides/resorts/1").browser().send().text();
    assert!(page.contains("2025") && !page.contains("2030"), "pages list seasons with rides only");

    let long = format!("{{\"year\":\"2019\"{}}}", " ".repeat(2000));
    for (resort, body, status, words) in [
        ("11", r#"{"year":"2019"}"#, 400, "resortID: must be a whole number from 1 to 10"),
        ("x", r#"{"year":"2019"}"#, 400, "resortID: must be a whole number from 1 to 10"),
        ("1", "{}", 400, "year: is missing"),
        ("1", r#"{"year":"0"}"#, 400, "year: must be a whole number from 1 to 9999"),
        ("1", r#"{"year":null}"#, 400, "year: must be a whole number from 1 to 9999"),
        ("1", r#"{"year":"2018","year":"2018"}"#, 400, "duplicate field `year`"),
        ("1", r#"{"year":"2018","name":"x"}"#, 400, "unknown field `name`"),
        ("1", "2018", 400, "must be a JSON object"),
        ("1", &long, 413, "larger"),
    ] {
        let answer = add(&server, resort, body).expect(status);
        assert!(message(&answer).contains(words), "{body}: {answer:?}");
    }
    server.put("/resorts/1/seasons").expect(405);
}

#[test]
fn adding_a_season_requires_the_same_key_as_sending_rides() {
    let (lodge, server) = Lodge::new().with("LODGE_RIDES_KEYS_REQUIRED", "true").started();
    let gate = lodge.gate("north", &["--resort", "3"]);
    let add = |resort: u32, key: Option<&str>| {
        let ask = server.post(&format!("/resorts/{resort}/seasons")).bearer_if(key);
        let answer = ask.json(json!({ "year": "2019" })).send();
        assert!(answer.status == 201 || !message(&answer).is_empty(), "{answer:?}");
        answer.status
    };
    assert_eq!([add(3, None), add(3, Some("lodge_gate_x")), add(4, Some(&gate))], [401, 401, 403]);
    assert_eq!(add(3, Some(&gate)), 201);
    let listed = [3, 4].map(|resort| server.get(&format!("/resorts/{resort}/seasons")).json());
    assert_eq!(listed, [json!({ "seasons": ["2019"] }), json!({ "seasons": [] })]);
}
