//! Signing in, and TLS: who has not the password, or does not trust the authority, gets nowhere.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
    time::Duration,
};

use lodge_domain::{Error, Result};
use lodge_engines::{
    rabbitmq,
    redis::{Login, Options, Redis, Tls},
};
use lodge_testbed::{Authority, Kind, Member};
use tempfile::TempDir;

use crate::{behind::rabbit_options, redis::within, testbed::layout};

const PASSWORD: &str = "wz9-right-password";

/// A Redis server and its sentinel, which speak nothing but TLS.
struct SafeRedis {
    sentinel: SocketAddr,
    authority: Authority,
    processes: Vec<Child>,
    _folder: TempDir,
}

impl SafeRedis {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::at(folder.path());
        authority.make([Ipv4Addr::LOCALHOST.into()]).unwrap();
        let (server, sentinel) = (free_address(), free_address());
        let common = |address: SocketAddr| {
            format!(
                "bind 127.0.0.1\nport 0\ntls-port {}\ntls-auth-clients no\ntls-replication yes\n\
                 tls-cert-file {}\ntls-key-file {}\ntls-ca-cert-file {}\n\
                 requirepass {PASSWORD}\ndir {}\n",
                address.port(),
                authority.certificate().display(),
                authority.key().display(),
                authority.root().display(),
                folder.path().display()
            )
        };
        let watch = format!(
            "sentinel monitor lodge 127.0.0.1 {} 1\nsentinel auth-pass lodge {PASSWORD}\n",
            server.port()
        );
        let start = |name: &str, text: String, flag: &[&str]| {
            let file = folder.path().join(name);
            fs::write(&file, text).unwrap();
            let mut command = Command::new("redis-server");
            command.arg(file).args(flag).stdout(Stdio::null()).spawn().unwrap()
        };
        let processes = vec![
            start("server.conf", common(server) + "save \"\"\n", &[]),
            start("sentinel.conf", common(sentinel) + &watch, &["--sentinel"]),
        ];
        Self { sentinel, authority, processes, _folder: folder }
    }

    fn options(&self) -> Options {
        let login = Login { username: String::new(), password: Some(PASSWORD.into()) };
        Options {
            sentinels: vec![self.sentinel.to_string()],
            masters: vec!["lodge".to_owned()],
            login: login.clone(),
            sentinel_login: login,
            tls: Some(Tls { authorities_pem: Some(fs::read(self.authority.root()).unwrap()) }),
            deadline: Duration::from_millis(500),
            writers: 0,
            prefix: "tls:".to_owned(),
        }
    }
}

impl Drop for SafeRedis {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

/// The certificate of an authority that nobody knows.
fn strangers_root() -> String {
    let folder = tempfile::tempdir().unwrap();
    let stranger = Authority::at(folder.path());
    stranger.make([Ipv4Addr::LOCALHOST.into()]).unwrap();
    fs::read_to_string(stranger.root()).unwrap()
}

/// That it could not be used, and that the password is not told on the way.
fn refused<T: std::fmt::Debug>(probed: &Result<T>, what: &str) {
    let Err(Error::Unavailable { cause, .. }) = probed else { panic!("{what}: {probed:?}") };
    for told in [format!("{cause}"), format!("{cause:?}")] {
        assert!(!told.contains("password-of") && !told.contains(PASSWORD), "{what}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_is_reached_over_tls_with_the_password_alone() {
    let redis = SafeRedis::start();
    let right = redis.options();
    within(Duration::from_secs(10), async || Redis::probe(right.clone()).await.is_ok()).await;
    let wrong = Login { password: Some("wrong-password-of-mine".into()), ..right.login.clone() };
    let stranger = Tls { authorities_pem: Some(strangers_root().into_bytes()) };
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
async fn rabbitmq_is_reached_over_tls_with_the_password_alone() {
    let layout = layout(&[Kind::Rabbitmq]);
    let plain = rabbit_options("tls");
    let nodes: Vec<String> =
        Member::of(Kind::Rabbitmq).map(|member| layout.tls_address(member).to_string()).collect();
    let root = fs::read_to_string(layout.authority().root()).unwrap();
    let tls = |authorities_pem| Some(rabbitmq::Tls { authorities_pem: Some(authorities_pem) });
    let right = rabbitmq::Options { nodes, tls: tls(root), ..plain.clone() };
    rabbitmq::probe(&right).await.unwrap();
    let wrong = || "wrong-password-of-mine".into();
    for (what, options) in [
        ("a wrong password", rabbitmq::Options { password: wrong(), ..right.clone() }),
        ("a wrong password, plain", rabbitmq::Options { password: wrong(), ..plain.clone() }),
        ("no TLS", rabbitmq::Options { tls: None, ..right.clone() }),
        ("another authority", rabbitmq::Options { tls: tls(strangers_root()), ..right.clone() }),
    ] {
        refused(&rabbitmq::probe(&options).await, what);
    }
    let password = layout.secret(Kind::Rabbitmq).unwrap();
    assert!(!format!("{right:?}").contains(&password));
}
