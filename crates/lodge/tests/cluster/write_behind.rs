//! Write-behind: writes that are acknowledged before they are stored.

use lodge_testbed::Cluster;

use crate::{
    server::{Lodge, Server, eventually, eventually_true},
    testbed::{cluster, fresh, process_on},
};

/// Returns a process of this test with write-behind, on the cluster's engines.
pub(crate) fn writing_behind(cluster: &Cluster, role: &str) -> Lodge {
    let own =
        [("LODGE_CASSANDRA_KEYSPACE", "lodge_behind".to_owned()), ("LODGE_ROLES", role.to_owned())];
    let settings = cluster.layout().write_behind_settings().into_iter().chain(own);
    settings.fold(process_on(cluster), |lodge, (name, value)| lodge.with(name, &value))
}

/// Returns the number of links that a worker has drained.
fn drained(server: &Server) -> f64 {
    server.metric("lodge_links_drained_total")
}

#[test]
fn a_put_redirects_on_every_process_before_and_after_it_is_stored() {
    let cluster = cluster();
    let (maker, other) = (writing_behind(&cluster, "web"), writing_behind(&cluster, "web"));
    let (maker, other) = (maker.start(), other.start());
    let shorts: Vec<String> = (0..50).map(|_| fresh("behind")).collect();
    for server in [&maker, &other] {
        let sees = || server.get(&format!("/{}", fresh("unknown"))).status == 404;
        eventually_true("pending writes are readable", sees);
    }
    for short in &shorts {
        maker.put(&format!("/?short={short}&long=example.org/{short}")).expect(201);
        for server in [&other, &maker] {
            assert_eq!(target_of(server, short), Some(format!("https://example.org/{short}")));
        }
    }
    let worker = writing_behind(&cluster, "worker");
    let worker = worker.start();
    eventually_true("the queue is drained", || drained(&worker) >= 50.0);
    for short in &shorts {
        assert!(target_of(&other, short).is_some(), "{short}");
    }
}

/// Returns the target of a short. While pending writes in Redis are unreadable, the response is 503, never 404.
fn target_of(server: &Server, short: &str) -> Option<String> {
    let answer = eventually("a response other than 503", || {
        Some(server.get(&format!("/{short}"))).filter(|answer| answer.status != 503)
    });
    answer.expect(307).location().map(ToOwned::to_owned)
}
