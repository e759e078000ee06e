//! Makes links, one after the other, on one route.

use std::time::Instant;

use super::{Client, Expected, Fate, MAKE, Route, fate_of};

pub(super) fn work(mut client: Client, route: Route) {
    while !client.is_to_stop() {
        let short = client.fresh();
        let target = format!("https://example.org/{short}");
        let (put, began) = (format!("/?short={short}&long={target}"), Instant::now());
        let answer = client.common.http.send("PUT", route.address, &put);
        let fate = fate_of(answer.as_ref(), 201);
        if matches!(fate, Fate::Good) {
            let link = Expected { short, targets: vec![target], is_edited: false };
            client.common.ledger.expect(link);
        }
        client.note(MAKE, route, began, fate);
        client.pause(150);
    }
}
