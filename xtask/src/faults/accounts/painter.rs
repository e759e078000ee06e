//! Sets pictures of one account after the other on random routes, and reads each on another route.

use std::time::Instant;

use serde_json::Value;

use super::{
    acknowledged::{Acknowledged, Person, Session},
    kinds::PICTURE,
};
use crate::{
    faults::workload::{Client, RequestOutcome, Route},
    http::{Body, Http},
};

/// Pictures of one account.
const PICTURES: usize = 4;

const JPEG: &[u8] = include_bytes!("../../../../crates/contract/samples/progressive.jpg");

pub(super) fn work(mut client: Client<Acknowledged>) {
    while !client.is_to_stop() {
        if let Some((mut person, session)) = client.new_session() {
            for _ in 0..PICTURES {
                if client.is_to_stop() {
                    break;
                }
                let route = client.any_route(None);
                paint(&client, route, &mut person, &session);
                let route = client.any_route(Some(route));
                look(&client, route, &person);
                client.pause(500);
            }
            client.app.people.push(person);
        }
        client.pause(500);
    }
}

/// Sets a picture.
fn paint(client: &Client<Acknowledged>, route: Route, person: &mut Person, session: &Session) {
    let bearer = format!("Bearer {}", session.token);
    let headers = [("Authorization", bearer.as_str())];
    let body = Body { kind: "image/jpeg", bytes: JPEG.to_vec() };
    let send = |http: &Http, at| http.send_body("PUT", at, "/api/me/picture", &headers, body);
    let set = client.write(PICTURE, route, 200, send);
    person.picture = set.and_then(|answer| picture_of(&answer.body));
}

/// Reads the person's picture, if it is known.
fn look(client: &Client<Acknowledged>, route: Route, person: &Person) {
    let Some(path) = &person.picture else { return };
    let began = Instant::now();
    let answer = client.common.http.send("GET", route.address, path);
    let outcome = RequestOutcome::of_answer(answer.as_ref(), |answer| answer.status == 200);
    client.record(PICTURE, route, began, outcome);
}

/// Returns the path of the picture in an account; empty if it has none, and `None` if this is no account.
pub(super) fn picture_of(account: &str) -> Option<String> {
    let account: Value = serde_json::from_str(account).ok()?;
    Some(account["picture"]["large"].as_str().unwrap_or_default().to_owned())
}
