//! Edits some links in random order on random routes, with an Idempotency-Key: an edit with an unknown
//! outcome is retried on another route. In replace mode it edits by `PUT`. An acknowledged edit must be
//! visible on every web process within a second. A process that was down meanwhile must not serve an older
//! cached version, so each link is checked again later, after its last edit.

use std::{
    collections::VecDeque,
    thread,
    time::{Duration, Instant},
};

use lodge_testbed::Kind;
use rand::RngExt as _;
use serde_json::json;

use super::{
    expected::{Expected, Links},
    kinds::EDIT,
};
use crate::{
    faults::workload::{Client, RequestOutcome, Route},
    http::Http,
};

/// Links that are edited concurrently.
const LINKS: usize = 8;

/// Edits of one link.
const EDITS: usize = 4;

/// Tries of an edit.
const TRIES: usize = 3;

/// How soon an edit must be visible on every web process.
const SEEN: Duration = Duration::from_secs(1);

/// Pause between two checks.
const POLL: Duration = Duration::from_millis(40);

/// Links with all edits that are checked again.
const LEFT_ALONE: usize = 40;

/// An edited link, and whether it is to be edited again.
enum EditState {
    Again(EditedLink),
    Enough(EditedLink),
}

/// A link with its manage key, and the version of its last edit.
struct EditedLink {
    short: String,
    key: String,
    version: usize,
}

pub(super) fn work(mut client: Client<Links>) {
    let mut links: Vec<EditedLink> = Vec::new();
    let mut left_alone: VecDeque<(EditedLink, Instant)> = VecDeque::new();
    while !client.is_to_stop() {
        if links.len() < LINKS {
            links.extend(make(&mut client));
        }
        if !links.is_empty() {
            let link = links.swap_remove(client.random.random_range(..links.len()));
            match edit(&mut client, link) {
                Some(EditState::Again(link)) => links.push(link),
                Some(EditState::Enough(link)) => left_alone.push_front((link, Instant::now())),
                None => {}
            }
        }
        left_alone.truncate(LEFT_ALONE);
        look_again(&mut client, &left_alone);
        client.pause(120);
    }
    for link in links {
        let targets = vec![link.target()];
        client.app.0.push(Expected { short: link.short, targets, is_edited: true });
    }
}

impl EditedLink {
    fn target(&self) -> String {
        format!("https://example.org/{}/{}", self.short, self.version)
    }
}

fn make(client: &mut Client<Links>) -> Option<EditedLink> {
    let short = client.fresh();
    let mut link = EditedLink { short, key: String::new(), version: 0 };
    let route = client.any_route(None);
    if client.common.replaces {
        return client.put(EDIT, route, &link.short, &link.target()).then_some(link);
    }
    let body = json!({ "target": link.target(), "short": link.short });
    let send = |http: &Http, at| http.send_with("POST", at, "/api/links", &[], Some(&body));
    link.key = client.write(EDIT, route, 201, send)?.text("manage_key")?;
    Some(link)
}

/// Edits a link; returns `None` if the outcome is unknown.
fn edit(client: &mut Client<Links>, mut link: EditedLink) -> Option<EditState> {
    let before = link.target();
    link.version += 1;
    if !send(client, &link) {
        let targets = vec![before, link.target()];
        client.app.0.push(Expected { short: link.short, targets, is_edited: true });
        return None;
    }
    let targets = vec![link.target()];
    check_all_webs(client, &link.short, &targets);
    if link.version < EDITS {
        return Some(EditState::Again(link));
    }
    let short = link.short.clone();
    client.app.0.push(Expected { short, targets, is_edited: true });
    Some(EditState::Enough(link))
}

/// Checks a link with all edits, once the last one must be visible on every web process.
fn look_again(client: &mut Client<Links>, links: &VecDeque<(EditedLink, Instant)>) {
    let route = client.any_route(None);
    let Some((link, since)) = links.get(client.random.random_range(..LEFT_ALONE)) else { return };
    if route.member.kind == Kind::Web && since.elapsed() > SEEN {
        check_web(client, route, &link.short, &[link.target()], *since);
    }
}

/// Sends an edit until it is acknowledged; returns false if it never is.
fn send(client: &mut Client<Links>, link: &EditedLink) -> bool {
    let (mut route, once) = (client.any_route(None), client.fresh());
    if client.common.replaces {
        return client.put(EDIT, route, &link.short, &link.target());
    }
    for _ in 0..TRIES {
        if patch(client, route, link, &once) {
            return true;
        }
        client.pause(200);
        route = client.any_route(Some(route));
    }
    false
}

fn patch(client: &Client<Links>, route: Route, link: &EditedLink, once: &str) -> bool {
    let (path, key) = (format!("/api/links/{}", link.short), format!("Bearer {}", link.key));
    let body = json!({ "target": link.target() });
    let headers = [("Authorization", key.as_str()), ("Idempotency-Key", once)];
    let send = |http: &Http, at| http.send_with("PATCH", at, &path, &headers, Some(&body));
    client.write(EDIT, route, 200, send).is_some()
}

/// Reads the link from every web process until it shows the edit. An older version is an error if the
/// request was sent more than a second after the acknowledgement.
fn check_all_webs(client: &Client<Links>, short: &str, wanted: &[String]) {
    let acknowledged = Instant::now();
    for route in client.common.webs() {
        while !client.common.ledger.is_struck(route.member) {
            if check_web(client, route, short, wanted, acknowledged) {
                break;
            }
            thread::sleep(POLL);
        }
    }
}

/// Reads the link from one web process; returns whether the check is finished.
fn check_web(
    client: &Client<Links>,
    route: Route,
    short: &str,
    wanted: &[String],
    since: Instant,
) -> bool {
    let asked = Instant::now();
    let answer = client.common.http.send("GET", route.address, &format!("/{short}"));
    let status = answer.as_ref().map(|answer| answer.status);
    if let Some(wrong) = status.filter(|status| *status != 307 && *status < 500) {
        client.record(EDIT, route, asked, RequestOutcome::Wrong(wrong.to_string()));
    }
    if answer.is_some_and(|answer| answer.leads_to(wanted)) {
        return true;
    }
    let is_late = asked > since + SEEN;
    if is_late && status == Some(307) {
        client.common.ledger.count(|tally| tally.late_edits += 1);
    }
    is_late
}
