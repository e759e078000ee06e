//! The record of security events.

use serde_json::{Value, json};

use crate::{Lodge, PASSWORD, Response, Server, eventually_true, tiers::Tiers};

/// An address of documentation, as the proxy on this machine names it.
const ADDRESS: &str = "192.0.2.77";

/// Returns the events as rows: kind, count, account, party, origin, detail.
fn events(lodge: &Lodge, filter: &[&str]) -> Vec<[String; 6]> {
    let rows = lodge.admin_list(&[&["events"], filter].concat());
    rows.into_iter().map(|row| row[1..].to_vec().try_into().unwrap()).collect()
}

fn sign_in_from(server: &Server, address: &str, username: &str, password: &str) -> Response {
    let body = json!({ "username": username, "password": password });
    server.post("/api/session").header("X-Forwarded-For", address).json(&body).send()
}

/// A server where Ada is an admin, Max a moderator, Eve a member; returns the sessions of the first two.
fn staffed() -> (Lodge, Server, [String; 2]) {
    let (lodge, server) = Lodge::new().started();
    for name in ["ada", "max", "eve"] {
        server.make_account(name);
    }
    lodge.admin(&["user", "role", "ada", "admin"]);
    lodge.admin(&["user", "role", "max", "moderator"]);
    let sessions = ["ada", "max"].map(|name| server.token(name));
    (lodge, server, sessions)
}

#[test]
fn failed_sign_ins_and_lock_outs_are_recorded_without_addresses_and_what_visitors_typed() {
    let (lodge, server) = Lodge::new().started();
    server.make_account("ada");
    for _ in 0..10 {
        assert_eq!(sign_in_from(&server, ADDRESS, "ada", "not the password").status, 401);
    }
    assert_eq!(sign_in_from(&server, ADDRESS, "ada", "not the password").status, 429);
    assert_eq!(sign_in_from(&server, ADDRESS, "hunter-zwei", "not the password").status, 401);

    let mut failed = events(&lodge, &["--kind", "sign_in_failed"]);
    failed.sort();
    let [unknown, wrong] = &failed[..] else { panic!("{failed:?}") };
    assert_eq!(unknown[1..4], ["1", "-", "a visitor"].map(str::to_owned));
    assert_eq!(wrong[1..4], ["10", "ada", "a visitor"].map(str::to_owned));
    let [out] = &events(&lodge, &["--kind", "locked_out"])[..] else { panic!("no lock-out") };
    assert_eq!(out[1..4], ["1", "ada", "a visitor"].map(str::to_owned));
    let origin = &out[4];
    assert!(origin.len() == 16 && u64::from_str_radix(origin, 16).is_ok(), "{origin}");
    assert_eq!(events(&lodge, &["--from", origin]).len(), 3, "all of one client");
    assert_eq!(sign_in_from(&server, "192.0.2.78", "ada", PASSWORD).status, 200);
    let began = events(&lodge, &["--kind", "sign_in"]);
    assert!(began[0][4] != *origin && began[0][3] == "ada", "{began:?}");

    let log = server.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: Vec<_> = lines.filter(|line| line["target"] == "lodge::security").collect();
    let is_logged = |what: &str, level: &str| {
        lines.iter().any(|line| {
            line["what"] == what && line["level"] == level && line["from"] == origin.as_str()
        })
    };
    assert!(is_logged("sign_in_failed", "INFO") && is_logged("locked_out", "WARN"), "{log}");
    let json = lodge.admin(&["events", "--json"]);
    for secret in [ADDRESS, "hunter-zwei", "not the password", PASSWORD] {
        assert!(!log.contains(secret) && !json.contains(secret), "{secret}");
    }
}

#[test]
fn a_ban_names_both_accounts_and_an_act_of_the_operator_names_the_command_line() {
    let (lodge, server, [_, max]) = staffed();
    server.on_page(&max, "POST", "/admin/accounts/eve").form("action=ban").expect(303);
    let banned = ["banned", "1", "eve", "max", "this machine", "-"].map(str::to_owned);
    assert_eq!(events(&lodge, &["--kind", "banned"]), std::slice::from_ref(&banned));
    assert!(events(&lodge, &["--account", "eve"]).contains(&banned));
    assert!(events(&lodge, &["--account", "max"]).contains(&banned), "what the account did");
    assert!(!events(&lodge, &["--account", "ada"]).contains(&banned));
    assert_eq!(events(&lodge, &["--account", "stranger"]), [[""; 6]; 0]);
    assert_eq!(sign_in_from(&server, ADDRESS, "eve", PASSWORD).status, 403);
    assert_eq!(events(&lodge, &["--kind", "sign_in_failed"])[0][5], "banned");

    lodge.key("mine");
    lodge.admin(&["key", "revoke", "mine"]);
    for kind in ["key_created", "key_revoked"] {
        let by_operator = [kind, "1", "-", "the command line", "-", "API key mine"];
        assert_eq!(events(&lodge, &["--kind", kind]), [by_operator]);
    }
    let roles = events(&lodge, &["--kind", "role_changed", "--account", "max"]);
    assert_eq!(roles[0][5], "moderator");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(events(&lodge, &["--kind", "banned"]), [banned], "without a server, too");
}

#[test]
fn wrong_passwords_of_a_link_are_recorded_and_lock_out_only_their_address() {
    let (lodge, server) = Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "0").started();
    server.create(&json!({ "target": "example.org", "short": "door", "password": "right" }));
    let attempt = |address: &str, password: &str| {
        server.post("/door").from(address).form(&format!("password={password}")).send().status
    };
    for _ in 0..10 {
        assert_eq!(attempt(ADDRESS, "wrong"), 403);
    }
    assert_eq!(attempt(ADDRESS, "right"), 429);
    assert_eq!(attempt("192.0.2.78", "right"), 303);
    let [refused] = &events(&lodge, &["--kind", "access_refused"])[..] else { panic!("no event") };
    assert_eq!((&*refused[1], &*refused[5]), ("10", "POST /{short}"));
    let [out] = &events(&lodge, &["--kind", "locked_out"])[..] else { panic!("no lock-out") };
    assert_eq!(out[5], "link door");
}

#[test]
fn admins_see_the_events_and_moderators_do_not() {
    let (lodge, server, [ada, max]) = staffed();
    server.on_page(&max, "GET", "/admin/events").expect(403);
    server.ask("GET", "/admin/events").browser().expect(303);
    let refused = ["access_refused", "1", "-", "max", "this machine", "GET /admin/events"];
    assert_eq!(events(&lodge, &["--kind", "access_refused"]), [refused]);
    let page = |path: &str| server.on_page(&ada, "GET", path).expect(200).text();
    let all = page("/admin/events");
    assert!(all.contains("by max: GET /admin/events") && all.contains("Role changed"), "{all}");
    assert!(page("/admin").contains("href=\"/admin/events\""));
    let of_max = page("/admin/events?kind=access_refused&account=max");
    assert!(
        of_max.contains("Access refused</strong>") && !of_max.contains("Role changed</strong>")
    );
    assert!(page("/admin/events?account=stranger").contains("No events found."));
    server.on_page(&ada, "GET", "/admin/events?kind=none").expect(400);
}

#[test]
fn a_flood_of_identical_refusals_is_one_event_with_a_count() {
    let (lodge, server) = Lodge::new().with("LODGE_LOG_ADDRESSES", "truncated").started();
    for _ in 0..300 {
        let ask = server.post("/login").header("X-Forwarded-For", ADDRESS);
        ask.header("Sec-Fetch-Site", "cross-site").form("username=a&password=b").expect(403);
    }
    let flood = ["cross_site_refused", "300", "-", "a visitor", "192.0.2.0/24", "POST none"];
    assert_eq!(events(&lodge, &["--kind", "cross_site_refused"]), [flood]);
    let rows: i64 = lodge.query("SELECT count(*) FROM security_events");
    assert_eq!(rows, 1);
    let lines = server.log().lines().filter(|line| line.contains("cross_site_refused")).count();
    assert_eq!(lines, 1, "nor does it fill the log");
    assert!(server.ops("/metrics").text().contains("lodge_security_events_dropped_total 0"));
}

#[test]
fn the_accounts_tier_stores_the_events_of_both_tiers() {
    let (tiers, _accounts, web) = Tiers::new().start();
    web.make_account("ada");
    assert_eq!(sign_in_from(&web, ADDRESS, "ada", "not the password").status, 401);
    let failed = events(&tiers.accounts, &["--kind", "sign_in_failed"]);
    assert!(failed.len() == 1 && failed[0][2] == "ada" && failed[0][4].len() == 16, "{failed:?}");
    let ada = web.token("ada");
    web.on_page(&ada, "GET", "/admin/events").expect(403);
    eventually_true("a refusal by the web tier is stored", || {
        let refused = events(&tiers.accounts, &["--kind", "access_refused"]);
        refused.iter().any(|event| event[3] == "ada" && event[5] == "GET /admin/events")
    });
}
