//! Creates links one after the other on one route.

use super::{Client, Expected, MAKE, Route};

pub(super) fn work(mut client: Client, route: Route) {
    while !client.is_to_stop() {
        let short = client.fresh();
        let target = format!("https://example.org/{short}");
        if client.put(MAKE, route, &short, &target) {
            let link = Expected { short, targets: vec![target], is_edited: false };
            client.common.ledger.expect(link);
        }
        client.pause(150);
    }
}
