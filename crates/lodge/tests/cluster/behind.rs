//! Writes that are acknowledged before they are stored.

use lodge_testbed::Cluster;

use crate::{
    client::Ask,
    server::{Lodge, Server, eventually_true},
    testbed::{cluster, fresh},
};

/// Processes of the tests' own, on the cluster's engines, which write behind.
pub(crate) fn writing_behind(cluster: &Cluster, role: &str) -> Lodge {
    let layout = cluster.layout();
    let own =
        [("LODGE_CASSANDRA_KEYSPACE", "lodge_behind".to_owned()), ("LODGE_ROLES", role.to_owned())];
    let settings = layout.settings().into_iter().chain(layout.settings_behind()).chain(own);
    settings.fold(Lodge::new(), |lodge, (name, value)| lodge.with(name, &value))
}

/// How many links a process has stored for others.
fn drained(server: &Server) -> f64 {
    server.metric("lodge_links_drained_total")
}

#[test]
fn a_put_is_followed_at_every_process_before_and_after_it_is_stored() {
    let cluster = cluster();
    let (maker, other) = (writing_behind(&cluster, "web"), writing_behind(&cluster, "web"));
    let (maker, other) = (maker.start(), other.start());
    let shorts: Vec<String> = (0..50).map(|_| fresh("behind")).collect();
    for short in &shorts {
        let put = format!("/?short={short}&long=example.org/{short}");
        assert_eq!(Ask::new(maker.address, "PUT", &put).send().status, 201);
        let target = format!("https://example.org/{short}");
        for server in [&other, &maker] {
            let answer = Ask::new(server.address, "GET", &format!("/{short}")).send();
            assert_eq!(answer.leads(), (307, Some(target.as_str())));
        }
        let again = Ask::new(other.address, "PUT", &put).send();
        assert_eq!(again.status, 200, "it is so already");
    }
    let worker = writing_behind(&cluster, "worker");
    let worker = worker.start();
    eventually_true("the queue is drained", || drained(&worker) >= 50.0);
    for short in &shorts {
        let answer = Ask::new(other.address, "GET", &format!("/{short}")).send();
        assert_eq!(answer.status, 307, "{short}");
    }
}
