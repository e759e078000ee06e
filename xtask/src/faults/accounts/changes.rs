//! Changes the nicknames of accounts on random routes; a change with an unknown outcome is repeated on another route.
//! An acknowledged change must be visible on every web process within a second.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    acknowledged::{Acknowledged, Person, Session},
    kinds::CHANGE,
    requests::ask_me,
};
use crate::{
    faults::workload::{Client, Route},
    http::Http,
};

/// Changes of one account.
const CHANGES: usize = 6;

/// Tries of a change.
const TRIES: usize = 3;

/// How soon a change must be visible on every web process.
const SEEN: Duration = Duration::from_secs(1);

/// Pause between two checks.
const POLL: Duration = Duration::from_millis(40);

pub(super) fn work(mut client: Client<Acknowledged>) {
    while !client.is_to_stop() {
        if let Some((mut person, session)) = client.new_session() {
            for version in 1..=CHANGES {
                let nickname = format!("{} {version}", person.username);
                if client.is_to_stop() || !change(&mut client, &mut person, &session, nickname) {
                    break;
                }
                client.pause(300);
            }
            client.app.people.push(person);
            client.app.sessions.push(session);
        }
        client.pause(300);
    }
}

/// Changes a nickname; returns false if the outcome is unknown.
fn change(
    client: &mut Client<Acknowledged>,
    person: &mut Person,
    session: &Session,
    nickname: String,
) -> bool {
    person.nicknames.push(nickname.clone());
    let mut route = client.any_route(None);
    for _ in 0..TRIES {
        if send(client, route, session, &nickname) {
            person.nicknames = vec![nickname];
            check_all_webs(client, person, session);
            return true;
        }
        client.pause(200);
        route = client.any_route(Some(route));
    }
    false
}

fn send(client: &Client<Acknowledged>, route: Route, session: &Session, nickname: &str) -> bool {
    let bearer = format!("Bearer {}", session.token);
    let body = json!({ "nickname": nickname });
    let headers = [("Authorization", bearer.as_str())];
    let send = |http: &Http, at| http.send_with("PATCH", at, "/api/me", &headers, Some(&body));
    client.write(CHANGE, route, 200, send).is_some()
}

/// Reads the account on every web process until it shows the change. An older nickname is an error if the request was
/// sent more than a second after the acknowledgement.
fn check_all_webs(client: &Client<Acknowledged>, person: &Person, session: &Session) {
    let acknowledged = Instant::now();
    for route in client.common.webs() {
        while !client.common.ledger.is_struck(route.member) {
            if check_web(client, route, person, session, acknowledged) {
                break;
            }
            thread::sleep(POLL);
        }
    }
}

/// Reads the account on one web process; returns whether the check is finished.
fn check_web(
    client: &Client<Acknowledged>,
    route: Route,
    person: &Person,
    session: &Session,
    since: Instant,
) -> bool {
    let asked = Instant::now();
    let answer = ask_me(&client.common.http, route.address, &session.token);
    let is_late = asked > since + SEEN;
    match answer {
        Some(answer) if answer.status == 200 => {
            let nickname = answer.text("nickname").unwrap_or_default();
            let is_seen = person.nicknames.contains(&nickname);
            if is_late && !is_seen {
                client.common.ledger.count(|tally| tally.late_edits += 1);
            }
            is_seen || is_late
        }
        Some(answer) if answer.status < 500 => {
            client.record_wrong(CHANGE, route, asked, &answer.status.to_string());
            true
        }
        _ => is_late,
    }
}
