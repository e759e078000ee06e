//! An ended session is invalid in every process within a second.

use std::{
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use lodge_testbed::by_depth;
use serde_json::json;

use crate::{PASSWORD, Server, text, tiers::Tiers};

/// Sessions of each account.
const SESSIONS: usize = 2;

/// Threads that sign in; each sign-in hashes a password.
const SIGNING_IN: usize = 4;

/// Accounts whose sessions end one after another, a multiple of [`SIGNING_IN`]. At nightly depth a thousand
/// sessions end.
fn accounts() -> usize {
    by_depth(60, 500)
}

/// One account in this many ends its sessions by a new password, which takes two hashes.
const PASSWORDS_EVERY: usize = 10;

/// Sessions with the time at which their end was acknowledged.
type Ended = (Instant, Vec<String>);

#[test]
fn ended_sessions_are_refused_by_two_processes_after_a_second() {
    let (tiers, _accounts, one) = Tiers::new().start();
    let other = tiers.another_web().start();
    let webs = [&one, &other];
    import(&tiers, &one);
    tiers.accounts.admin(&["user", "role", "stella", "admin"]);
    let staff = one.token("stella");
    let signed_in = sign_all_in(webs);
    let (sender, ended) = channel::<Ended>();
    let (trials, accepted) = thread::scope(|scope| {
        let looking = scope.spawn(move || accepted(webs, &ended));
        for (number, tokens) in signed_in.into_iter().enumerate() {
            for token in &tokens {
                // Both processes cache the session.
                assert!((0..2).all(|_| webs.iter().all(|web| web.is_signed_in(token))));
            }
            sender.send(end_sessions(webs[number / 2 % 2], number, tokens, &staff)).unwrap();
        }
        drop(sender);
        looking.join().unwrap()
    });
    assert_eq!((trials, accepted), (accounts() * SESSIONS, 0));
    for web in webs {
        let hits = web.metric("lodge_accounts_cache_hit_seconds_count");
        assert!(hits > by_depth(60.0, 500.0), "sessions are cached: {hits}");
    }
}

fn name(number: usize) -> String {
    format!("ada{number}")
}

/// Imports accounts with the hash of an existing password, so that it is hashed once.
fn import(tiers: &Tiers, web: &Server) {
    web.make_account("stella");
    let hash: String = tiers.accounts.query("SELECT password FROM accounts");
    let lines = (0..accounts()).map(|number| format!("{},,,\"{hash}\",\n", name(number)));
    let head = "username,nickname,email,password_hash,role\n".to_owned();
    let file =
        tiers.accounts.write("accounts.csv", [head].into_iter().chain(lines).collect::<String>());
    tiers.accounts.admin(&["user", "import", text(&file)]);
}

/// Signs all accounts in, in both processes. Returns the tokens of each account.
fn sign_all_in(webs: [&Server; 2]) -> Vec<Vec<String>> {
    let sign_in = |number| (0..SESSIONS).map(move |place| webs[place % 2].token(&name(number)));
    thread::scope(|scope| {
        let share = accounts() / SIGNING_IN;
        let shares = (0..SIGNING_IN).map(|from| from * share..(from + 1) * share);
        let threads: Vec<_> = shares
            .map(|share| scope.spawn(|| share.map(|number| sign_in(number).collect()).collect()))
            .collect();
        threads.into_iter().flat_map(|thread| -> Vec<_> { thread.join().unwrap() }).collect()
    })
}

/// Ends an account's sessions by a sign-out everywhere, a ban, or a new password set in another session.
fn end_sessions(web: &Server, number: usize, tokens: Vec<String>, staff: &str) -> Ended {
    let name = name(number);
    let (ask, done) = match (number % PASSWORDS_EVERY, number % 2) {
        (0, _) => {
            let request = json!({ "current": PASSWORD, "new": "another in the fog" });
            (web.put("/api/me/password").bearer(&web.token(&name)).json(&request), 200)
        }
        (_, 0) => {
            let request = json!({ "current": PASSWORD });
            (web.delete("/api/me/sessions").bearer(&tokens[0]).json(&request), 204)
        }
        _ => {
            let ask = web.post(&format!("/admin/accounts/{name}")).session(staff);
            (ask.browser().form("action=ban"), 303)
        }
    };
    assert_eq!(ask.send().status, done);
    (Instant::now(), tokens)
}

/// Tries every session a second after its end. Returns the number tried, and how often one was accepted.
fn accepted(webs: [&Server; 2], ended: &Receiver<Ended>) -> (usize, usize) {
    let (mut trials, mut accepted) = (0, 0);
    for (number, (at, tokens)) in ended.iter().enumerate() {
        // The promise is one second.
        thread::sleep((at + Duration::from_secs(1)).saturating_duration_since(Instant::now()));
        for token in &tokens {
            let [first, then] =
                [number % 2, (number + 1) % 2].map(|web| webs[web].is_signed_in(token));
            accepted += usize::from(first) + usize::from(then);
            trials += 1;
        }
    }
    (trials, accepted)
}
