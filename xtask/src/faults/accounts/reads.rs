//! Reads accounts on one route: the newest ones, and during a fault those of the sessions that it has used before.

use std::{sync::atomic::Ordering, time::Instant};

use super::{
    acknowledged::{Acknowledged, Session},
    kinds::READ,
    requests::ask_me,
};
use crate::faults::workload::{Client, RequestOutcome, Route};

/// Maximum number of known sessions.
const KNOWN_MAX: usize = 30;

pub(super) fn work(mut client: Client<Acknowledged>, route: Route) {
    let mut known: Vec<Session> = Vec::new();
    for turn in 0_usize.. {
        if client.is_to_stop() {
            return;
        }
        let has_failed = client.common.has_failed.load(Ordering::Acquire);
        if has_failed && !known.is_empty() {
            read(&client, route, &known[turn % known.len()]);
        } else if let Some(session) = client.app.sessions.newest(turn * 7 % 20)
            && read(&client, route, &session)
            && known.len() < KNOWN_MAX
        {
            known.push(session);
        }
        client.pause(80);
    }
}

/// Reads an account; returns whether it is the right one.
fn read(client: &Client<Acknowledged>, route: Route, session: &Session) -> bool {
    let began = Instant::now();
    let answer = ask_me(&client.common.http, route.address, &session.token);
    let mut outcome = RequestOutcome::of_answer(answer.as_ref(), |answer| {
        answer.status == 200 && answer.text("username").as_ref() == Some(&session.username)
    });
    if matches!(&outcome, RequestOutcome::Wrong(status) if status == "200") {
        outcome = RequestOutcome::Wrong("another account".to_owned());
    }
    let is_right = matches!(outcome, RequestOutcome::Good);
    client.record(READ, route, began, outcome);
    is_right
}
