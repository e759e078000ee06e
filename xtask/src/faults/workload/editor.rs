//! Makes a link and edits it some times, each time on another route. What was acknowledged must be seen
//! on every web process within a second.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Client, Expected, Fate, Route, fate_of};

/// What its requests are counted as.
pub(crate) const WORK: &str = "edit";

/// Edits of one link.
const EDITS: usize = 5;

/// How soon an edit is seen everywhere.
const SEEN: Duration = Duration::from_secs(1);

pub(super) fn work(mut client: Client) {
    while !client.is_to_stop() {
        if let Some(link) = make_and_edit(&mut client) {
            client.common.ledger.expect(link);
        }
        client.pause(30);
    }
}

fn target(short: &str, version: usize) -> String {
    format!("https://example.org/{short}/{version}")
}

fn make_and_edit(client: &mut Client) -> Option<Expected> {
    let short = client.fresh();
    let key = make(client, &short)?;
    let mut targets = vec![target(&short, 0)];
    for version in 1..=EDITS {
        let wanted = target(&short, version);
        client.pause(30);
        if edit(client, &short, &key, &wanted) {
            targets = vec![wanted];
            see_everywhere(client, &short, &targets[0]);
        } else {
            targets.push(wanted);
            break;
        }
        if client.is_to_stop() {
            break;
        }
    }
    Some(Expected { short, targets, is_edited: true })
}

/// Makes the link; its manage key.
fn make(client: &mut Client, short: &str) -> Option<String> {
    let (route, began) = (client.any_route(None), Instant::now());
    let body = json!({ "target": target(short, 0), "short": short });
    let http = &client.common.http;
    let answer = http.send_json("POST", route.address, "/api/links", &[], &body);
    client.note(WORK, route, began, fate_of(answer.as_ref(), 201));
    answer.filter(|answer| answer.status == 201)?.text("manage_key")
}

/// Edits it; whether that was acknowledged.
fn edit(client: &mut Client, short: &str, key: &str, target: &str) -> bool {
    let (route, began) = (client.any_route(None), Instant::now());
    let (path, key) = (format!("/api/links/{short}"), format!("Bearer {key}"));
    let (body, headers) = (json!({ "target": target }), [("Authorization", key.as_str())]);
    let answer = client.common.http.send_json("PATCH", route.address, &path, &headers, &body);
    let fate = fate_of(answer.as_ref(), 200);
    let is_done = matches!(fate, Fate::Good);
    client.note(WORK, route, began, fate);
    is_done
}

/// Asks every process until it shows the edit. An older version in answer to a question that was put
/// more than a second after the acknowledgement is one that should have been gone.
fn see_everywhere(client: &Client, short: &str, target: &str) {
    let (acknowledged, wanted) = (Instant::now(), [target.to_owned()]);
    for Route { member, address } in client.common.webs() {
        loop {
            let asked = Instant::now();
            if client.common.ledger.is_struck(member) {
                break;
            }
            let answer = client.common.http.send("GET", address, &format!("/{short}"));
            if answer.as_ref().is_some_and(|answer| answer.leads_to(&wanted)) {
                break;
            }
            if answer.as_ref().is_some_and(|answer| answer.status == 404) {
                let fate = Fate::Wrong("404".to_owned());
                client.note(WORK, Route { member, address }, asked, fate);
            }
            if asked > acknowledged + SEEN {
                if answer.is_some_and(|answer| answer.status == 307) {
                    client.common.ledger.late_edit();
                }
                break;
            }
        }
    }
}
