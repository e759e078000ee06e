//! The measured clients: each sends requests of one kind at a fixed rate, on a connection that it keeps.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use lodge_load::{SEED_PASSWORD, seeded_name};
use serde_json::json;

use crate::{
    bench::lodge::Lodge,
    http::{Answer, Http},
};

/// Accounts, all signed in. So many that the sign-ins of the measurement end none of these sessions: an account has at
/// most 100.
pub(super) const ACCOUNTS: u64 = 1_000;

/// The name of the client that signs in.
pub(super) const SIGN_INS: &str = "sign-ins";

/// A client that sends one kind of request.
pub(super) struct Client {
    pub(super) name: &'static str,
    per_second: u32,
    /// The status of a served request.
    status: u16,
    send: fn(&Caller<'_>, u64) -> Option<Answer>,
}

/// What a client sends its requests with.
struct Caller<'a> {
    lodge: &'a Lodge,
    http: Http,
    bearer: String,
}

pub(super) const CLIENTS: [Client; 4] = [
    Client { name: "redirects", per_second: 200, status: 307, send: redirect },
    Client { name: "creations", per_second: 50, status: 201, send: create },
    Client { name: "posts", per_second: 25, status: 201, send: post },
    Client { name: SIGN_INS, per_second: 10, status: 200, send: sign_in },
];

/// The requests of a client in one run.
#[derive(Default)]
pub(super) struct Seen {
    /// The latencies of the served requests from the time at which they were due, in milliseconds, in order.
    served_ms: Vec<f64>,
    /// Requests that were refused, failed or not answered.
    pub(super) missed: usize,
}

impl Seen {
    /// The number of requests.
    pub(super) fn asked(&self) -> usize {
        self.served_ms.len() + self.missed
    }

    /// The latency that this share of the served requests did not exceed; infinite if none was served.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let rank = (self.served_ms.len() as f64 * share).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the list"
        )]
        let place = (rank as usize).saturating_sub(1);
        self.served_ms.get(place).copied().unwrap_or(f64::INFINITY)
    }
}

/// Runs all clients at once.
pub(super) fn run(lodge: &Lodge, token: &str, seconds: u32) -> Result<[Seen; CLIENTS.len()]> {
    let mut all = thread::scope(|scope| {
        let started = CLIENTS.each_ref().map(|client| {
            scope.spawn(move || client.run(lodge, token, Duration::from_secs(seconds.into())))
        });
        started.into_iter().map(|thread| thread.join().ok()).collect::<Option<Vec<Seen>>>()
    })
    .context("a client has panicked")?
    .into_iter();
    Ok([(); CLIENTS.len()].map(|()| all.next().unwrap_or_default()))
}

impl Client {
    fn run(&self, lodge: &Lodge, token: &str, length: Duration) -> Seen {
        let caller = Caller { lodge, http: Http::keep_alive(), bearer: format!("Bearer {token}") };
        let (began, mut seen) = (Instant::now(), Seen::default());
        for number in 0_u32.. {
            let due = Duration::from_secs(number.into()) / self.per_second;
            if due >= length {
                break;
            }
            thread::sleep((began + due).saturating_duration_since(Instant::now()));
            let answer = (self.send)(&caller, number.into());
            if answer.is_some_and(|answer| answer.status == self.status) {
                seen.served_ms.push(began.elapsed().saturating_sub(due).as_secs_f64() * 1e3);
            } else {
                seen.missed += 1;
            }
        }
        seen.served_ms.sort_unstable_by(f64::total_cmp);
        seen
    }
}

fn redirect(caller: &Caller<'_>, _number: u64) -> Option<Answer> {
    caller.http.send("GET", caller.lodge.address(), "/r0")
}

fn create(caller: &Caller<'_>, number: u64) -> Option<Answer> {
    let link = json!({ "target": format!("https://example.org/{number}") });
    caller.authorized("/api/links", &link)
}

fn post(caller: &Caller<'_>, _number: u64) -> Option<Answer> {
    let id = format!("{:032x}", rand::random::<u128>());
    let message = json!({ "client_id": id, "body": "Fresh snow on the upper slopes" });
    caller.authorized("/api/board/lobby/messages", &message)
}

fn sign_in(caller: &Caller<'_>, number: u64) -> Option<Answer> {
    let name = seeded_name(number % ACCOUNTS);
    let body = json!({ "username": name, "password": SEED_PASSWORD });
    caller.http.send_with("POST", caller.lodge.address(), "/api/session", &[], Some(&body))
}

impl Caller<'_> {
    fn authorized(&self, path: &str, body: &serde_json::Value) -> Option<Answer> {
        let headers = [("Authorization", self.bearer.as_str())];
        self.http.send_with("POST", self.lodge.address(), path, &headers, Some(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_latency_that_occurred() {
        let seen = Seen { served_ms: (1..=100).map(f64::from).collect(), missed: 1 };
        let percentiles = [0.5, 0.99, 1.0].map(|share| format!("{}", seen.percentile(share)));
        assert_eq!(percentiles, ["50", "99", "100"]);
        assert_eq!(seen.asked(), 101);
        assert!(Seen::default().percentile(0.99).is_infinite());
    }
}
