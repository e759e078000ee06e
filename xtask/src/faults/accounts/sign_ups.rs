//! Creates accounts one after the other on one route, and signs in on another.

use super::acknowledged::{Acknowledged, Session};
use crate::faults::workload::{Client, Route};

pub(super) fn work(mut client: Client<Acknowledged>, route: Route) {
    while !client.is_to_stop() {
        if let Some(person) = client.new_person(route) {
            let session: Option<Session> = client.session_of(&person);
            client.app.people.push(person);
            if let Some(session) = session {
                client.app.sessions.push(session);
            }
        }
        client.pause(600);
    }
}
