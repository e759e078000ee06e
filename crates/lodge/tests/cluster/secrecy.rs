//! Secrets in the configuration never appear in output.

use lodge_testbed::Kind;

use crate::{
    testbed::{cluster, fresh},
    write_behind::writing_behind,
};

#[test]
fn no_password_appears_in_logs_responses_or_check_output() {
    let cluster = cluster();
    let secrets = [Kind::Redis, Kind::Rabbitmq].map(|kind| cluster.layout().secret(kind).unwrap());
    // Its own keyspace and queue: a process that creates a queue and ends at once leaves the pending writes unknown.
    let lodge = writing_behind(&cluster, "web,worker")
        .with("LODGE_CASSANDRA_KEYSPACE", "lodge_secrecy")
        .with("LODGE_LOG_FILTER", "trace");
    let server = lodge.start();
    server.put(&format!("/?short={}&long=example.org", fresh("secret"))).expect(201);
    let metrics = server.ops("/metrics").text();
    let log = server.log();
    assert_eq!(server.stop(), Some(0));
    let check = lodge.run(&["check"]).expect(0);
    let refused = lodge
        .with("LODGE_RABBITMQ_USERNAME", "stranger")
        .with("LODGE_REDIS_USERNAME", "stranger")
        .run(&["check"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(log.contains("TRACE"), "the log has all levels: {log}");
    for secret in &secrets {
        for (what, text) in [
            ("log", &log),
            ("metrics", &metrics),
            ("check", &check.out),
            ("check", &check.err),
            ("refused", &refused.out),
            ("refused", &refused.err),
        ] {
            assert!(!text.contains(secret), "{what} contains a password");
        }
    }
}
