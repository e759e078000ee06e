//! Signs up twice for one name at once, on two routes and with two passwords: at most one succeeds.

use std::{thread, time::Instant};

use super::{
    acknowledged::{Acknowledged, Person},
    kinds::SAME_NAME,
    requests::ask_sign_up,
};
use crate::{
    faults::workload::{Client, RequestOutcome, Route},
    http::Answer,
};

pub(super) fn work(mut client: Client<Acknowledged>) {
    while !client.is_to_stop() {
        let name = client.fresh();
        let one = client.any_route(None);
        let (other, began) = (client.any_route(Some(one)), Instant::now());
        let [first, second] = ["a", "b"].map(|of| {
            let password = format!("the password of {name}, {of}");
            Person { password, ..Person::new(name.clone()) }
        });
        let (first, second) = thread::scope(|scope| {
            let (client, running) = (&client, scope.spawn(|| sign_up(&client, other, second)));
            let first = sign_up(client, one, first);
            (first, running.join().unwrap_or(SignUp::Unknown))
        });
        match (first, second) {
            (SignUp::Done(_), SignUp::Done(_)) => {
                client.common.ledger.count(|tally| tally.duplicated += 1);
            }
            (SignUp::Done(person), _) | (_, SignUp::Done(person)) => client.app.people.push(person),
            // A sign-up that the server repeats must not find the name taken by itself.
            (SignUp::Taken, SignUp::Taken) => {
                client.record_wrong(SAME_NAME, one, began, "both refused");
            }
            _ => {}
        }
        client.pause(1_200);
    }
}

/// The outcome of a sign-up.
enum SignUp {
    Done(Person),
    Taken,
    Unknown,
}

fn sign_up(client: &Client<Acknowledged>, route: Route, person: Person) -> SignUp {
    let began = Instant::now();
    let answer = ask_sign_up(&client.common.http, route.address, &person);
    let is_right = |answer: &Answer| matches!(answer.status, 201 | 409);
    client.record(SAME_NAME, route, began, RequestOutcome::of_answer(answer.as_ref(), is_right));
    match answer.map(|answer| answer.status) {
        Some(201) => SignUp::Done(person),
        Some(409) => SignUp::Taken,
        _ => SignUp::Unknown,
    }
}
