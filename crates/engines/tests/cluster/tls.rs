//! TLS and logins: connecting requires the password and a trusted certificate.

use std::{fs, net::Ipv4Addr, time::Duration};

use lodge_domain::{Error, Result};
use lodge_engines::{
    Tls, cassandra,
    cassandra::Cassandra,
    rabbitmq,
    redis::{Login, Options, Redis},
};
use lodge_testbed::{Authority, Kind, Member};

use crate::{
    behind::rabbit_options,
    cassandra::options,
    redis::within,
    redis_server::{OwnRedis, PASSWORD},
    testbed::layout,
};

/// The certificate of an authority that signed no server's certificate.
fn untrusted_root() -> String {
    let folder = tempfile::tempdir().unwrap();
    let stranger = Authority::at(folder.path());
    stranger.make([Ipv4Addr::LOCALHOST.into()]).unwrap();
    fs::read_to_string(stranger.root()).unwrap()
}

/// Asserts that the probe failed, and that the error does not contain the password.
fn refused<T: std::fmt::Debug>(probed: &Result<T>, what: &str) {
    let Err(Error::Unavailable { cause, .. }) = probed else { panic!("{what}: {probed:?}") };
    for told in [format!("{cause}"), format!("{cause:?}")] {
        assert!(!told.contains("password-of") && !told.contains(PASSWORD), "{what}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_is_reached_over_tls_only_with_the_password() {
    let redis = OwnRedis::start(&["lodge"], true);
    let right = redis.options("tls");
    within(Duration::from_secs(10), async || Redis::probe(right.clone()).await.is_ok()).await;
    let wrong = Login { password: Some("wrong-password-of-mine".into()), ..right.login.clone() };
    let stranger = Tls::trusting(Some(untrusted_root()));
    for (what, options) in [
        ("a wrong password", Options { login: wrong.clone(), ..right.clone() }),
        ("no password", Options { login: Login::default(), ..right.clone() }),
        ("a wrong password for the sentinel", Options { sentinel_login: wrong, ..right.clone() }),
        ("no TLS", Options { tls: None, ..right.clone() }),
        ("another authority", Options { tls: Some(stranger), ..right.clone() }),
    ] {
        refused(&Redis::probe(options).await, what);
    }
    assert!(!format!("{right:?}").contains(PASSWORD));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rabbitmq_is_reached_over_tls_only_with_the_password() {
    let layout = layout(&[Kind::Rabbitmq]);
    let plain = rabbit_options("tls");
    let nodes: Vec<String> =
        Member::of(Kind::Rabbitmq).map(|member| layout.tls_address(member).to_string()).collect();
    let root = fs::read_to_string(layout.authority().root()).unwrap();
    let tls = |authorities_pem| Some(Tls::trusting(Some(authorities_pem)));
    let right = rabbitmq::Options { nodes, tls: tls(root), ..plain.clone() };
    rabbitmq::probe(&right).await.unwrap();
    let wrong = || "wrong-password-of-mine".into();
    for (what, options) in [
        ("a wrong password", rabbitmq::Options { password: wrong(), ..right.clone() }),
        ("a wrong password, plain", rabbitmq::Options { password: wrong(), ..plain.clone() }),
        ("no TLS", rabbitmq::Options { tls: None, ..right.clone() }),
        ("another authority", rabbitmq::Options { tls: tls(untrusted_root()), ..right.clone() }),
    ] {
        refused(&rabbitmq::probe(&options).await, what);
    }
    let password = layout.secret(Kind::Rabbitmq).unwrap();
    assert!(!format!("{right:?}").contains(&password));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cassandra_is_reached_over_tls_only_with_its_authority_trusted() {
    let layout = layout(&[Kind::Cassandra]);
    let tls = |authorities_pem| Some(Tls::trusting(Some(authorities_pem)));
    let root = fs::read_to_string(layout.authority().root()).unwrap();
    let password = "password-of-mine".into();
    let login = Some(cassandra::Login { username: "lodge".to_owned(), password });
    let right = cassandra::Options { tls: tls(root), login, ..options("tls") };
    assert_eq!(Cassandra::probe(&right).await.unwrap(), 3);
    assert!(!format!("{right:?}").contains("password-of"));
    for authorities in [untrusted_root(), "-----BEGIN CERTIFICATE-----\nx".to_owned()] {
        let wrong = cassandra::Options { tls: tls(authorities), ..right.clone() };
        refused(&Cassandra::probe(&wrong).await, "another authority");
    }
}
