//! Creates links with generated shorts and an Idempotency-Key; retries unknown outcomes on another route, and
//! repeats each acknowledged request once. One key must give one link.

use serde_json::{Value, json};

use super::{
    expected::{Expected, Links},
    kinds::REPEAT,
};
use crate::{
    faults::workload::{Client, Route},
    http::Http,
};

/// Tries of a request.
const TRIES: usize = 8;

pub(super) fn work(mut client: Client<Links>) {
    while !client.is_to_stop() {
        let key = client.fresh();
        let target = format!("https://example.org/{key}");
        let body = json!({ "target": target, "tags": [client.common.tag] });
        if let Some(short) = make(&mut client, &key, &body) {
            let link = Expected { short, targets: vec![target], is_edited: false };
            client.app.0.push(link);
        }
        client.pause(150);
    }
}

/// Sends a request until it is acknowledged, and then once more; returns the short.
fn make(client: &mut Client<Links>, key: &str, body: &Value) -> Option<String> {
    let (mut route, mut made) = (client.any_route(None), None);
    for _ in 0..TRIES {
        let short = send(client, route, key, body);
        match (short, made.take()) {
            (Some(short), None) => made = Some(short),
            (Some(short), Some(first)) => {
                if short != first {
                    client.common.ledger.count(|tally| tally.duplicated += 1);
                }
                return Some(first);
            }
            (None, Some(first)) => return Some(first),
            (None, None) => client.pause(200),
        }
        route = client.any_route(Some(route));
    }
    made
}

fn send(client: &Client<Links>, route: Route, key: &str, body: &Value) -> Option<String> {
    let bearer = format!("Bearer {}", client.common.api_key);
    let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key)];
    let send = |http: &Http, at| http.send_with("POST", at, "/api/links", &headers, Some(body));
    client.write(REPEAT, route, 201, send)?.text("short")
}
