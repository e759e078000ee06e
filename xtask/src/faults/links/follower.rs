//! Two followers on each route. One follows the newest links, because a link must exist once acknowledged;
//! the other, during a fault, the links that it followed before. They are separate so that a refused new
//! link does not delay the known ones.

use std::{sync::atomic::Ordering, time::Instant};

use super::{
    expected::{Expected, Links},
    kinds::KNOWN,
};
use crate::faults::workload::{Client, RequestKind, RequestOutcome, Route};

/// Maximum number of known links.
const KNOWN_MAX: usize = 50;

/// Follows the newest links; a follower of `KNOWN` links follows those again during a fault.
pub(super) fn work(mut client: Client<Links>, route: Route, kind: RequestKind) {
    let mut known: Vec<Expected> = Vec::new();
    for turn in 0_usize.. {
        if client.is_to_stop() {
            return;
        }
        let has_failed = client.common.has_failed.load(Ordering::Acquire);
        if has_failed && !known.is_empty() {
            follow(&client, kind, route, &known[turn % known.len()]);
        } else if let Some(link) = client.app.0.newest(turn * 7 % 20)
            && follow(&client, kind, route, &link)
            && kind.name == KNOWN.name
            && known.len() < KNOWN_MAX
        {
            known.push(link);
        }
        client.pause(80);
    }
}

/// Follows a link; returns whether it redirects to its target.
fn follow(client: &Client<Links>, work: RequestKind, route: Route, link: &Expected) -> bool {
    let began = Instant::now();
    let answer = client.common.http.send("GET", route.address, &format!("/{}", link.short));
    let mut fate = RequestOutcome::of_answer(answer.as_ref(), |answer| {
        // The editor checks whether an edit is visible.
        answer.leads_to(&link.targets) || answer.status == 307 && link.is_edited
    });
    if matches!(&fate, RequestOutcome::Wrong(status) if status == "307") {
        fate = RequestOutcome::Wrong("wrong target".to_owned());
    }
    let led = matches!(fate, RequestOutcome::Good);
    client.record(work, route, began, fate);
    led
}
