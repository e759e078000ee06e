//! Creates links one after the other on one route.

use super::{
    expected::{Expected, Links},
    kinds::MAKE,
};
use crate::faults::workload::{Client, Route};

pub(super) fn work(mut client: Client<Links>, route: Route) {
    while !client.is_to_stop() {
        let short = client.fresh();
        let target = format!("https://example.org/{short}");
        if client.put(MAKE, route, &short, &target) {
            let link = Expected { short, targets: vec![target], is_edited: false };
            client.app.0.push(link);
        }
        client.pause(150);
    }
}
