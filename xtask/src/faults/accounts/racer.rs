//! Signs up twice for one name at once, on two routes and with two passwords: at most one succeeds.

use std::thread;

use super::{
    acknowledged::{Acknowledged, Person},
    kinds::SIGN_UP,
    requests::ask_sign_up,
};
use crate::faults::workload::{Client, Route};

pub(super) fn work(mut client: Client<Acknowledged>) {
    while !client.is_to_stop() {
        let name = client.fresh();
        let one = client.any_route(None);
        let other = client.any_route(Some(one));
        let [first, second] = ["a", "b"].map(|of| {
            let password = format!("the password of {name}, {of}");
            Person { password, ..Person::new(name.clone()) }
        });
        let (first, second) = thread::scope(|scope| {
            let (client, running) = (&client, scope.spawn(|| sign_up(&client, other, second)));
            let first = sign_up(client, one, first);
            (first, running.join().ok().flatten())
        });
        match (first, second) {
            (Some(_), Some(_)) => client.common.ledger.count(|tally| tally.duplicated += 1),
            (Some(person), None) | (None, Some(person)) => {
                client.app.people.push(person);
            }
            (None, None) => {}
        }
        client.pause(1_200);
    }
}

/// Signs up; returns the account if this was acknowledged. A refusal because the name is taken is a good answer.
fn sign_up(client: &Client<Acknowledged>, route: Route, person: Person) -> Option<Person> {
    let mut is_taken = false;
    let send = |http: &crate::http::Http, at| {
        let mut answer = ask_sign_up(http, at, &person)?;
        is_taken = answer.status == 409;
        if is_taken {
            answer.status = 201;
        }
        Some(answer)
    };
    let is_answered = client.write(SIGN_UP, route, 201, send).is_some();
    (is_answered && !is_taken).then_some(person)
}
