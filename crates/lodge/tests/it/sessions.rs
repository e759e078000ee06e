//! Sessions of accounts: how they are listed and how they end.

use serde_json::{Value, json};

use crate::{Lodge, Server};

/// Lists the sessions of an account, newest first.
pub(crate) fn sessions(server: &Server, token: &str) -> Vec<Value> {
    server.call(token, "GET", "/api/me/sessions").json()["sessions"].as_array().unwrap().clone()
}

#[test]
fn a_session_survives_a_crash_and_can_be_ended_from_another() {
    let server = Lodge::new().start();
    server.make_account("ada");
    server.make_account("grace");
    let (one, two, graces) = (server.token("ada"), server.token("ada"), server.token("grace"));
    let server = server.restart_after_kill();
    assert!(server.is_signed_in(&one) && server.is_signed_in(&two));

    let listed = sessions(&server, &one);
    let current: Vec<_> = listed.iter().map(|session| &session["current"]).collect();
    assert_eq!(current, [false, true], "newest first");
    let second = format!("/api/me/sessions/{}", listed[0]["id"].as_str().unwrap());
    assert_eq!(server.end(&graces, &second).status, 404, "not her session");
    server.call(&one, "DELETE", &second).expect_field_error(400, "current");
    let guessed = server.delete(&second).bearer(&one).json(json!({ "current": "a guess" }));
    guessed.expect(403);
    assert!(server.is_signed_in(&two));
    assert_eq!(server.end(&one, &second).status, 204);
    assert!(server.is_signed_in(&one) && !server.is_signed_in(&two));
    assert_eq!(server.call(&one, "DELETE", "/api/session").status, 204);
    assert!(!server.is_signed_in(&one) && server.is_signed_in(&graces));
    assert_eq!(server.call(&one, "DELETE", "/api/session").status, 401);
}

#[test]
fn signing_out_everywhere_ends_every_session_of_this_account() {
    let server = Lodge::new().start();
    server.make_account("ada");
    server.make_account("grace");
    let tokens: Vec<_> = (0..3).map(|_| server.token("ada")).collect();
    let graces = server.token("grace");
    server.call(&tokens[1], "DELETE", "/api/me/sessions").expect_field_error(400, "current");
    let listed = sessions(&server, &tokens[1]);
    assert_eq!(listed.len(), 3);
    let own = listed.iter().find(|session| session["current"] == true).unwrap();
    let own = format!("/api/me/sessions/{}", own["id"].as_str().unwrap());
    assert_eq!(server.end(&tokens[0], "/api/me/sessions").status, 204);
    assert_eq!(server.call(&tokens[1], "DELETE", &own).status, 401);
    assert!(tokens.iter().all(|token| !server.is_signed_in(token)));
    assert!(server.is_signed_in(&graces));
    assert!(server.is_signed_in(&server.token("ada")));
}

#[test]
fn a_session_ends_after_fourteen_days_without_use_and_thirty_in_any_case() {
    const DAY_MS: i64 = 24 * 3_600 * 1_000;
    let (server, [token]) =
        Lodge::new().with("LODGE_ACCOUNTS_SESSION_CACHE_S", "0").start_with(["ada"]);
    let set = |created_days_ago: i64, expires_in_days: i64| {
        let now = jiff::Timestamp::now().as_millisecond();
        let (created, expires) = (now - created_days_ago * DAY_MS, now + expires_in_days * DAY_MS);
        let sql = "UPDATE sessions SET created_at = ?1, expires_at = ?2";
        server.lodge.database().execute(sql, [created, expires]).unwrap();
    };
    let hours_left = || {
        let expires: i64 = server.lodge.query("SELECT expires_at FROM sessions");
        (expires - jiff::Timestamp::now().as_millisecond()) * 24 / DAY_MS
    };
    assert!((335..=336).contains(&hours_left()), "{}", hours_left());
    for (created_days_ago, days) in [(1, 14), (20, 10), (29, 1)] {
        set(created_days_ago, 1);
        assert!(server.is_signed_in(&token));
        let left = hours_left();
        assert!(
            (24 * days - 1..=24 * days).contains(&left),
            "{left} hours after {created_days_ago}"
        );
    }
    set(1, -1);
    assert!(!server.is_signed_in(&token));
    set(31, 1);
    assert!(server.is_signed_in(&token), "kept by a longer limit of before");
}
