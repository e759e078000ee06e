//! A session that has ended is dead everywhere within a second.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    accounts::{PASSWORD, made, opens, token},
    server::Server,
    tiers::Tiers,
};

/// Accounts, and sessions of each.
const ACCOUNTS: usize = 10;
const SESSIONS: usize = 100;

#[test]
fn a_thousand_ended_sessions_open_nothing_in_two_processes_a_second_later() {
    let (tiers, _accounts, one) = Tiers::new().start();
    let other = tiers.another_web().start();
    let mut accepted = 0;
    for number in 0..ACCOUNTS {
        let name = format!("ada{number}");
        made(&one, &name);
        let tokens = signed_in(&one, &name);
        for token in &tokens {
            // Remembered by both.
            assert!((0..2).all(|_| opens(&one, token) && opens(&other, token)));
        }
        let kept = end_sessions(&tiers, &one, number, &name, &tokens[0]);
        // What is promised is a second, so that is how long it has.
        thread::sleep(Duration::from_secs(1).saturating_sub(kept.elapsed()));
        for (place, token) in tokens.iter().enumerate() {
            // Who changes their password stays signed in where they did it.
            if !(place == 0 && number % 3 == 1) {
                accepted += usize::from(opens(&one, token)) + usize::from(opens(&other, token));
            }
        }
    }
    assert_eq!(accepted, 0, "of {}", ACCOUNTS * SESSIONS);
    for web in [&one, &other] {
        let hits = web.metric("lodge_accounts_cache_hit_seconds_count");
        assert!(hits > 500.0, "sessions are remembered: {hits}");
    }
}

fn signed_in(web: &Server, name: &str) -> Vec<String> {
    (0..SESSIONS).map(|_| token(web, name)).collect()
}

/// By signing out everywhere, by a new password, by a ban; when it was acknowledged.
fn end_sessions(tiers: &Tiers, web: &Server, number: usize, name: &str, token: &str) -> Instant {
    match number % 3 {
        0 => {
            let answer = web.ask("DELETE", "/api/me/sessions").bearer(token).send();
            assert_eq!(answer.status, 204);
        }
        1 => {
            let wish = json!({ "current": PASSWORD, "new": "another in the fog" });
            let ask = web.ask("PUT", "/api/me/password").bearer(token).json(&wish);
            assert_eq!(ask.send().status, 204);
        }
        _ => drop(tiers.accounts.admin(&["user", "ban", name])),
    }
    Instant::now()
}
