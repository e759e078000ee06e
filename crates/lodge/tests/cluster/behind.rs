//! Writes that are acknowledged before they are stored.

use lodge_testbed::{Cluster, Kind};

use crate::{
    client::Ask,
    server::{Lodge, Server, eventually_true},
    testbed::{cluster, fresh},
};

/// Processes of the tests' own, on the cluster's engines, which write behind.
pub(crate) fn writing_behind(cluster: &Cluster, role: &str) -> Lodge {
    let layout = cluster.layout();
    let list = |kind| {
        let addresses: Vec<String> =
            layout.addresses(kind).iter().map(ToString::to_string).collect();
        addresses.join(",")
    };
    let secret = |kind| layout.secret_file(kind).display().to_string();
    Lodge::new()
        .with("LODGE_LINKS_STORE", "cassandra")
        .with("LODGE_LINKS_MODE", "replace")
        .with("LODGE_LINKS_WRITES", "behind")
        .with("LODGE_CASSANDRA_NODES", &list(Kind::Cassandra))
        .with("LODGE_CASSANDRA_KEYSPACE", "lodge_behind")
        .with("LODGE_REDIS_SENTINELS", &list(Kind::Sentinel))
        .with("LODGE_REDIS_PASSWORD_FILE", &secret(Kind::Redis))
        .with("LODGE_REDIS_SENTINEL_PASSWORD_FILE", &secret(Kind::Redis))
        .with("LODGE_RABBITMQ_NODES", &list(Kind::Rabbitmq))
        .with("LODGE_RABBITMQ_PASSWORD_FILE", &secret(Kind::Rabbitmq))
        .with("LODGE_ROLES", role)
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
