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
                set(&client, route, &mut person, &session);
                let route = client.any_route(Some(route));
                read(&client, route, &person);
                client.pause(500);
            }
            client.app.people.push(person);
            client.app.sessions.push(session);
        }
        client.pause(500);
    }
}

fn set(client: &Client<Acknowledged>, route: Route, person: &mut Person, session: &Session) {
    let (bearer, began) = (format!("Bearer {}", session.token), Instant::now());
    let headers = [("Authorization", bearer.as_str())];
    let body = Body { kind: "image/jpeg", bytes: JPEG.to_vec() };
    let send = |http: &Http, at| http.send_body("PUT", at, "/api/me/picture", &headers, body);
    match client.write(PICTURE, route, 200, send).map(|answer| picture_of(&answer.body)) {
        Some(path) if path.is_empty() => client.record_wrong(PICTURE, route, began, "no picture"),
        Some(path) => (person.pictures, person.may_have_another) = (vec![path], false),
        None => person.may_have_another = true,
    }
}

/// Reads the person's picture, if it has a known one.
fn read(client: &Client<Acknowledged>, route: Route, person: &Person) {
    let known = person.pictures.iter().find(|path| !path.is_empty());
    let Some(path) = known.filter(|_| !person.may_have_another) else { return };
    for path in [path.clone(), smaller(path)] {
        let began = Instant::now();
        let answer = client.common.http.send("GET", route.address, &path);
        let outcome = RequestOutcome::of_answer(answer.as_ref(), |answer| {
            answer.status == 200 && answer.is_jpeg
        });
        client.record(PICTURE, route, began, outcome);
    }
}

/// Returns the path of the smaller size of a picture.
pub(super) fn smaller(path: &str) -> String {
    path.replace("/256", "/64")
}

/// Returns the path of the picture of an account; empty if it has none.
pub(super) fn picture_of(account: &str) -> String {
    let account: Value = serde_json::from_str(account).unwrap_or_default();
    account["picture"]["large"].as_str().unwrap_or_default().to_owned()
}
