//! What the clients ask for.

use std::{net::SocketAddr, time::Instant};

use serde_json::json;

use super::{
    acknowledged::{Acknowledged, Person, Session},
    kinds::{SIGN_IN, SIGN_UP},
};
use crate::{
    faults::workload::{Client, RequestKind, RequestOutcome, Route},
    http::{Answer, Http},
};

/// Asks for an account.
pub(super) fn ask_sign_up(http: &Http, at: SocketAddr, person: &Person) -> Option<Answer> {
    let body = json!({ "username": person.username, "password": person.password });
    http.send_with("POST", at, "/api/accounts", &[], Some(&body))
}

/// Asks for a session.
pub(super) fn ask_sign_in(http: &Http, at: SocketAddr, person: &Person) -> Option<Answer> {
    let body = json!({ "username": person.username, "password": person.password });
    http.send_with("POST", at, "/api/session", &[], Some(&body))
}

/// Asks for the account of a session.
pub(super) fn ask_me(http: &Http, at: SocketAddr, token: &str) -> Option<Answer> {
    let bearer = format!("Bearer {token}");
    http.send_with("GET", at, "/api/me", &[("Authorization", &bearer)], None)
}

impl Client<Acknowledged> {
    /// Creates an account with a new name; `None` if it was not acknowledged.
    pub(super) fn new_person(&mut self, route: Route) -> Option<Person> {
        let person = Person::new(self.fresh());
        self.write(SIGN_UP, route, 201, |http, at| ask_sign_up(http, at, &person))?;
        Some(person)
    }

    /// Signs in, which succeeds on any route once the sign-up was acknowledged.
    pub(super) fn session_of(&mut self, person: &Person) -> Option<Session> {
        let route = self.any_route(None);
        let answer = self.write(SIGN_IN, route, 200, |http, at| ask_sign_in(http, at, person))?;
        Some(Session { username: person.username.clone(), token: answer.text("token")? })
    }

    /// Creates an account and signs in; an account without a session is left alone.
    pub(super) fn new_session(&mut self) -> Option<(Person, Session)> {
        let route = self.any_route(None);
        let person = self.new_person(route)?;
        let Some(session) = self.session_of(&person) else {
            self.app.people.push(person);
            return None;
        };
        Some((person, session))
    }

    /// Records an answer of a kind that is neither right nor a refusal.
    pub(super) fn record_wrong(&self, kind: RequestKind, route: Route, began: Instant, what: &str) {
        self.record(kind, route, began, RequestOutcome::Wrong(what.to_owned()));
    }
}
