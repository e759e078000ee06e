//! Follows links that were acknowledged, on one route: the newest, because what was just acknowledged
//! must be there; and, once something has failed, in turn with them those that it had followed before.

use std::{sync::atomic::Ordering, time::Instant};

use super::{Client, Expected, Fate, Route};

/// What its requests are counted as: links that the route has led to before the fault, and new ones.
pub(crate) const KNOWN: &str = "follow known";
pub(crate) const NEW: &str = "follow new";

/// Links that it remembers having followed.
const KNOWN_MAX: usize = 50;

pub(super) fn work(mut client: Client, route: Route) {
    let mut known: Vec<Expected> = Vec::new();
    for turn in 0_usize.. {
        if client.is_to_stop() {
            return;
        }
        let has_failed = client.common.has_failed.load(Ordering::Acquire);
        let (work, link) = if has_failed && turn % 2 == 0 && !known.is_empty() {
            (KNOWN, Some(known[turn / 2 % known.len()].clone()))
        } else {
            (NEW, client.common.ledger.newest(turn * 7 % 20))
        };
        if let Some(link) = link
            && follow(&client, work, route, &link)
            && !has_failed
            && known.len() < KNOWN_MAX
        {
            known.push(link);
        }
        client.pause(10);
    }
}

/// Follows a link; whether it led where it should.
fn follow(client: &Client, work: &'static str, route: Route, link: &Expected) -> bool {
    let began = Instant::now();
    let answer = client.common.http.send("GET", route.address, &format!("/{}", link.short));
    let fate = match &answer {
        Some(answer) if answer.leads_to(&link.targets) => Fate::Good,
        Some(answer) if answer.status == 307 => Fate::Wrong("wrong target".to_owned()),
        Some(answer) if answer.status < 500 => Fate::Wrong(answer.status.to_string()),
        Some(answer) => Fate::Unknown(answer.status.to_string()),
        None => Fate::Unknown("no answer".to_owned()),
    };
    let led = matches!(fate, Fate::Good);
    client.note(work, route, began, fate);
    led
}
