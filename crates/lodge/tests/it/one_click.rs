//! A click limit is exact, under concurrent requests and across crashes.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use rustix::process::Signal;
use serde_json::json;

use crate::{HttpConnection, Lodge, Server};

const CLIENTS: usize = 100;

#[test]
fn a_one_click_link_redirects_one_of_a_hundred_simultaneous_clients() {
    let server = Lodge::new().start();
    for short in ["once-1", "once-2", "once-3"] {
        server.create(&json!({ "target": "example.org", "short": short, "max_clicks": 1 }));
        let mut statuses = statuses(&server, short);
        statuses.sort_unstable();
        let expected: Vec<u16> =
            std::iter::once(307).chain(std::iter::repeat_n(410, CLIENTS - 1)).collect();
        assert_eq!(statuses, expected);
    }
}

#[test]
fn a_five_click_link_redirects_five_times() {
    let server = Lodge::new().start();
    server.create(&json!({ "target": "example.org", "short": "five", "max_clicks": 5 }));
    let statuses = statuses(&server, "five");
    assert_eq!(statuses.iter().filter(|status| **status == 307).count(), 5);
    assert_eq!(statuses.iter().filter(|status| **status == 410).count(), CLIENTS - 5);
}

#[test]
fn a_one_click_link_never_redirects_twice_across_kill_9() {
    const ROUNDS: usize = 6;
    const LINKS: usize = 12;
    let lodge = Lodge::new();
    let mut redirects_before_a_kill = 0;
    for round in 0..ROUNDS {
        let server = lodge.start();
        let shorts: Vec<String> = (0..LINKS).map(|link| format!("once-{round}-{link}")).collect();
        for short in &shorts {
            server.create(&json!({ "target": "example.org", "short": short, "max_clicks": 1 }));
        }
        let counts: Vec<AtomicUsize> = shorts.iter().map(|_| AtomicUsize::new(0)).collect();
        // Each round kills the server after another number of redirects.
        let left = AtomicUsize::new(1 + round);
        thread::scope(|scope| {
            for client in 0..16 {
                let (server, shorts, counts, left) = (&server, &shorts, &counts, &left);
                scope.spawn(move || ask_in_turn(server, client, shorts, counts, left));
            }
        });
        server.kill();
        redirects_before_a_kill += sum(&counts);
        let server = lodge.start();
        for (short, count) in shorts.iter().zip(&counts) {
            let after = statuses(&server, short);
            let after = after.iter().filter(|status| **status == 307).count();
            let in_all = count.load(Ordering::SeqCst) + after;
            assert!(in_all <= 1, "{short} redirected {in_all} times");
        }
    }
    assert!(redirects_before_a_kill >= ROUNDS);
}

fn sum(counts: &[AtomicUsize]) -> usize {
    counts.iter().map(|count| count.load(Ordering::SeqCst)).sum()
}

/// Returns the statuses when all clients follow a link at the same time.
fn statuses(server: &Server, short: &str) -> Vec<u16> {
    let answers = server.ask("GET", &format!("/{short}")).at_once(CLIENTS);
    answers.into_iter().map(|answer| answer.status).collect()
}

/// Requests the links in turn, starting at `first`, until the server is gone. The client whose redirect
/// brings `left` to 0 kills the server.
fn ask_in_turn(
    server: &Server,
    first: usize,
    shorts: &[String],
    redirects: &[AtomicUsize],
    left: &AtomicUsize,
) {
    let Ok(mut wire) = HttpConnection::connect(server.address) else { return };
    for step in 0.. {
        let link = (first + step) % shorts.len();
        let Ok(answer) = server.ask("GET", &format!("/{}", shorts[link])).on(&mut wire) else {
            return;
        };
        if answer.status != 307 {
            assert_eq!(answer.status, 410);
            continue;
        }
        redirects[link].fetch_add(1, Ordering::SeqCst);
        if left.fetch_sub(1, Ordering::SeqCst) == 1 {
            server.signal(Signal::KILL);
        }
    }
}
