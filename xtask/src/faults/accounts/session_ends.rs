//! Ends sessions that every web process has accepted before: by a sign-out, or by a ban. More than a second after the
//! acknowledgement no web process may accept one, so each is tried again until the end.

use std::{
    thread,
    time::{Duration, Instant},
};

use rand::RngExt as _;

use super::{
    acknowledged::{Acknowledged, EndedSession, Person, Session},
    kinds::{END, SIGN_IN},
    requests::ask_me,
};
use crate::{
    faults::workload::{Client, RequestOutcome, Route},
    http::{Body, Http},
};

/// Tries of a sign-out or ban.
const TRIES: usize = 5;

/// How long an ended session may be accepted.
const ACCEPTED: Duration = Duration::from_secs(1);

/// How long a process may take to refuse one: while no store answers, it answers 503.
const REFUSED: Duration = Duration::from_secs(30);

/// Pause between two checks.
const POLL: Duration = Duration::from_millis(40);

/// The newest ended sessions, which are tried again.
const AGAIN: usize = 40;

pub(super) fn work(mut client: Client<Acknowledged>) {
    for turn in 0_u64.. {
        if client.is_to_stop() {
            return;
        }
        if let Some((person, session)) = client.new_session() {
            end(&mut client, person, &session, turn % 2 == 0);
        }
        try_again(&mut client);
        client.pause(300);
    }
}

fn end(client: &mut Client<Acknowledged>, mut person: Person, session: &Session, by_ban: bool) {
    for route in client.common.webs() {
        // The web process remembers the session.
        let began = Instant::now();
        let answer = ask_me(&client.common.http, route.address, &session.token);
        let outcome = RequestOutcome::of_answer(answer.as_ref(), |answer| answer.status == 200);
        client.record(SIGN_IN, route, began, outcome);
    }
    let (mut route, mut is_first) = (client.any_route(None), true);
    let mut is_ended = false;
    for _ in 0..TRIES {
        is_ended = if by_ban {
            ban(client, route, &person)
        } else {
            sign_out(client, route, session, is_first)
        };
        if is_ended {
            break;
        }
        is_first = false;
        client.pause(200);
        route = client.any_route(Some(route));
    }
    person.is_banned = if by_ban { is_ended.then_some(true) } else { Some(false) };
    client.app.people.push(person);
    if is_ended {
        let ended = EndedSession { token: session.token.clone(), at: Instant::now() };
        for route in client.common.webs() {
            while ended.at.elapsed() < REFUSED
                && !client.is_to_stop()
                && !is_refused(client, route, &ended)
            {
                thread::sleep(POLL);
            }
        }
        client.app.ended.push(ended);
    }
}

/// Bans a person as an admin.
fn ban(client: &Client<Acknowledged>, route: Route, person: &Person) -> bool {
    let admin = client.app.admin.newest(0).unwrap_or_default();
    let (cookie, path) =
        (format!("lodge_session={admin}"), format!("/admin/accounts/{}", person.username));
    let headers = [("Cookie", cookie.as_str()), ("Accept", "text/html")];
    let send =
        |http: &Http, at| http.send_body("POST", at, &path, &headers, Body::form("action=ban"));
    client.write(END, route, 303, send).is_some()
}

/// Signs out. After an attempt with an unknown outcome, the session may have ended already.
fn sign_out(
    client: &Client<Acknowledged>,
    route: Route,
    session: &Session,
    is_first: bool,
) -> bool {
    let bearer = format!("Bearer {}", session.token);
    let headers = [("Authorization", bearer.as_str())];
    let send = |http: &Http, at| {
        let mut answer = http.send_with("DELETE", at, "/api/session", &headers, None)?;
        if answer.status == 401 && !is_first {
            answer.status = 204;
        }
        Some(answer)
    };
    client.write(END, route, 204, send).is_some()
}

/// Tries an ended session on a web process; returns whether the process has refused it when it must.
fn is_refused(client: &Client<Acknowledged>, route: Route, ended: &EndedSession) -> bool {
    let asked = Instant::now();
    let answer = ask_me(&client.common.http, route.address, &ended.token);
    let is_late = asked > ended.at + ACCEPTED;
    match answer.map(|answer| answer.status) {
        Some(401) => is_late,
        Some(200) if is_late => {
            client.common.ledger.count(|tally| tally.late_ends += 1);
            true
        }
        Some(200 | 500..) | None => false,
        Some(other) => {
            client.record_wrong(END, route, asked, &other.to_string());
            true
        }
    }
}

/// Tries one of the newest ended sessions on a random web process.
fn try_again(client: &mut Client<Acknowledged>) {
    let back = client.random.random_range(..AGAIN);
    let (Some(ended), route) = (client.app.ended.newest(back), client.any_route(None)) else {
        return;
    };
    is_refused(client, route, &ended);
}
