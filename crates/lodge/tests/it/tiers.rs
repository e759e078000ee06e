//! The accounts tier: accounts in a separate process.

use std::{
    net::{Ipv4Addr, SocketAddr},
    thread,
    time::Duration,
};

use futures_util::future::{join, join_all};
use lodge_domain::{
    Error,
    accounts::{Backend, Call, Reply, Username},
};
use lodge_testbed::Authority;
use lodge_wire::{Pool, PoolOptions, SharedKey, raw};
use serde_json::json;
use tempfile::TempDir;
use tokio::{io::AsyncReadExt, net::TcpStream, runtime::Runtime, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{DEADLINE, Lodge, PASSWORD, Server, eventually_true, text};

/// An accounts-tier installation and a web-tier installation.
pub(crate) struct Tiers {
    pub(crate) accounts: Lodge,
    pub(crate) web: Lodge,
    settings: Vec<(&'static str, String)>,
}

impl Tiers {
    pub(crate) fn new() -> Self {
        let accounts = Lodge::new();
        let key = accounts.write("key", [7; 32]);
        let settings = vec![
            ("LODGE_APPS", "links,accounts".to_owned()),
            ("LODGE_ACCOUNTS_KEY_FILE", text(&key).to_owned()),
            ("LODGE_ACCOUNTS_PICTURES", text(&accounts.file("pictures")).to_owned()),
        ];
        let accounts = with(accounts, &settings).with("LODGE_ROLES", "accounts");
        Self {
            accounts: accounts.with("LODGE_ACCOUNTS_LISTEN", "127.0.0.1:0"),
            web: Lodge::new(),
            settings,
        }
    }

    /// Adds a setting to the web tier.
    pub(crate) fn with(mut self, variable: &'static str, value: &str) -> Self {
        self.settings.push((variable, value.to_owned()));
        self
    }

    /// Starts the accounts process and a web process.
    pub(crate) fn start(mut self) -> (Self, Server, Server) {
        let accounts = self.accounts.start();
        // Restarts use the same address.
        let address = accounts.wire.unwrap().to_string();
        self.accounts = self.accounts.with("LODGE_ACCOUNTS_LISTEN", &address);
        self.settings.push(("LODGE_ACCOUNTS_SERVERS", address));
        self.web = self.another_web();
        let web = self.web.start();
        (self, accounts, web)
    }

    /// Adds these settings to both tiers.
    pub(crate) fn and(mut self, settings: &[(&'static str, String)]) -> Self {
        self.accounts = with(self.accounts, settings);
        self.settings.extend_from_slice(settings);
        self
    }

    /// Returns another web-tier installation.
    pub(crate) fn another_web(&self) -> Lodge {
        with(Lodge::new(), &self.settings).with("LODGE_ROLES", "web")
    }
}

pub(crate) fn with(lodge: Lodge, settings: &[(&str, String)]) -> Lodge {
    settings.iter().fold(lodge, |lodge, (name, value)| lodge.with(name, value))
}

#[test]
fn the_web_tier_serves_accounts_without_their_database() {
    let (tiers, accounts, web) = Tiers::new().start();
    let token = web.member("ada");
    assert!(web.is_signed_in(&token));
    let link = json!({ "target": "example.org", "short": "gg" });
    web.post("/api/links").bearer(&token).json(&link).expect(201);
    tiers.accounts.admin(&["user", "ban", "ada"]);
    eventually_true("the ban reaches the web tier", || !web.is_signed_in(&token));
    assert_eq!(web.sign_in("ada", PASSWORD).status, 403);
    assert_eq!(web.sign_in("ada", "a guess").status, 401);
    let count = |lodge: &Lodge| -> u32 { lodge.query("SELECT count(*) FROM accounts") };
    assert_eq!((count(&tiers.accounts), count(&tiers.web)), (1, 0));
    assert_eq!(accounts.get("/health/live").status, 200, "it has only the ops listener");
}

#[test]
fn pages_are_served_without_the_caller_while_accounts_are_unavailable() {
    let (_tiers, accounts, web) = Tiers::new().start();
    let token = web.member("ada");
    web.create(&json!({ "target": "example.org", "short": "gg" }));
    web.on_page(&token, "GET", "/gg+").expect(200).says("<bdi>ada</bdi>");
    accounts.kill();
    eventually_true("the caller is unknown", || {
        let page = web.on_page(&token, "GET", "/gg+").expect(200).text();
        !page.contains("ada</bdi>") && !page.contains("Sign in")
    });
}

#[test]
fn a_killed_accounts_process_loses_no_account_and_answers_503_meanwhile() {
    let (tiers, accounts, web) = Tiers::new().start();
    let mut acknowledged = Vec::new();
    let mut accounts = Some(accounts);
    for round in 0..3 {
        let writers: Vec<_> = thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|writer| {
                    let web = &web;
                    scope.spawn(move || sign_up_until_it_fails(web, &format!("u{round}-{writer}")))
                })
                .collect();
            eventually_true("the first accounts exist", || {
                web.get(&format!("/api/users/u{round}-0-1")).status == 200
            });
            accounts.take().unwrap().kill();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        acknowledged.extend(writers.into_iter().flatten());
        web.get("/api/users/stranger").expect_retry_after(503);
        assert_eq!(web.get("/no-such-link").status, 404, "links are unaffected");
        accounts = Some(tiers.accounts.start());
        eventually_true("the web tier is back", || web.get("/api/users/stranger").status == 404);
    }
    assert!(acknowledged.len() > 20);
    for name in acknowledged {
        assert_eq!(web.get(&format!("/api/users/{name}")).status, 200, "{name}");
    }
}

/// Signs up accounts until one fails. Returns the acknowledged names.
fn sign_up_until_it_fails(web: &Server, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for number in 0.. {
        let name = format!("{prefix}-{number}");
        let account = json!({ "username": name, "password": PASSWORD });
        match web.post("/api/accounts").json(&account).send().status {
            201 => names.push(name),
            503 => break,
            status => panic!("{status}"),
        }
    }
    names
}

/// Creates a certificate authority, with certificates for servers and clients on loopback.
pub(crate) fn authority() -> (TempDir, Authority) {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::at(folder.path());
    authority.make([Ipv4Addr::LOCALHOST.into()]).unwrap();
    (folder, authority)
}

/// Returns the settings for mutual TLS with certificates of this authority.
pub(crate) fn tls(authority: &Authority) -> [(&'static str, String); 4] {
    let file = |path: std::path::PathBuf| text(&path).to_owned();
    [
        ("LODGE_ACCOUNTS_TLS", "true".to_owned()),
        ("LODGE_ACCOUNTS_CA_FILE", file(authority.root())),
        ("LODGE_ACCOUNTS_CERTIFICATE_FILE", file(authority.certificate())),
        ("LODGE_ACCOUNTS_CERTIFICATE_KEY_FILE", file(authority.key())),
    ]
}

#[test]
fn mutual_tls_replaces_the_shared_key() {
    let (_folder, authority) = authority();
    let mut tiers = Tiers::new().and(&tls(&authority));
    tiers.settings.retain(|(name, _)| *name != "LODGE_ACCOUNTS_KEY_FILE");
    tiers.accounts = tiers.accounts.with("LODGE_ACCOUNTS_KEY_FILE", "");
    let (_tiers, _accounts, web) = tiers.start();
    web.make_account("ada");
    assert!(web.is_signed_in(&web.token("ada")));
}

#[test]
fn both_tiers_log_why_a_connection_was_refused() {
    let ((_folder, ours), (_other_folder, other)) = (authority(), authority());
    let (tiers, accounts, web) = Tiers::new().and(&tls(&ours)).start();
    web.make_account("ada");
    let plain = tiers.another_web().with("LODGE_ACCOUNTS_TLS", "false");
    let plain = tls(&ours)[1..].iter().fold(plain, |lodge, (name, _)| lodge.with(name, "")).start();
    plain.get("/api/users/ada").expect_retry_after(503);
    eventually_true("web logs why", || plain.log().contains("the server speaks TLS only"));
    eventually_true("accounts logs why", || accounts.log().contains("does not speak TLS"));
    let shown = tls(&other);
    let stranger = with(tiers.another_web(), &shown[2..]).start();
    assert_eq!(stranger.get("/api/users/ada").status, 503);
    eventually_true("web logs why", || stranger.log().contains("cannot be reached"));
    eventually_true("accounts logs why", || accounts.log().contains("TLS handshake failed"));
    assert_eq!(web.get("/api/users/ada").status, 200);
}

/// Connections opened, and the limit of an accounts process.
const CONNECTIONS: usize = 2_000;
const CONNECTIONS_MAX: usize = 500;
/// The limit of pending handshakes.
const PENDING_HANDSHAKES_MAX: usize = 128;

#[test]
fn two_thousand_connections_do_not_disturb_five_hundred_authenticated_ones() {
    let (_tiers, accounts, web) = Tiers::new().start();
    web.make_account("ada");
    drop(web);
    let address = accounts.wire.unwrap();
    Runtime::new().unwrap().block_on(async {
        let key = SharedKey::new([7; 32]).unwrap();
        let options = PoolOptions::new(vec![address.to_string()], key);
        let pool = Pool::start(PoolOptions { connections: CONNECTIONS_MAX, ..options });
        let all_stand = async {
            while pool.connected() < CONNECTIONS_MAX {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(DEADLINE, all_stand).await.unwrap();
        let others = CONNECTIONS_MAX..CONNECTIONS;
        let answered = CancellationToken::new();
        let flood = others.map(|_| tokio::spawn(keeps_coming(address, answered.clone())));
        let flood = tokio::spawn(join_all(flood.collect::<Vec<_>>()));
        for _ in 0..3 {
            ask_on_all(&pool).await;
        }
        answered.cancel();
        let politely: usize = flood.await.unwrap().into_iter().map(Result::unwrap).sum();
        // Connections within the limit of pending handshakes get a reason; others may just be closed.
        assert!(politely >= PENDING_HANDSHAKES_MAX, "{politely}");
        assert_eq!(pool.connected(), CONNECTIONS_MAX);
    });
}

/// Makes as many concurrent calls as there are connections, and checks each reply.
async fn ask_on_all(pool: &Pool) {
    let user = |name| pool.call(Call::User(Username::parse(name).unwrap()));
    let asked = (0..CONNECTIONS_MAX / 2).map(|_| join(user("ada"), user("stranger")));
    for (known, unknown) in join_all(asked).await {
        assert!(matches!(known, Ok(Reply::Account(_))), "{known:?}");
        assert!(matches!(unknown, Err(Error::NotFound(_))), "{unknown:?}");
    }
}

/// Connects again and again until cancelled. Returns how often it was refused with a reason.
async fn keeps_coming(address: SocketAddr, until: CancellationToken) -> usize {
    let mut politely = 0;
    loop {
        politely += usize::from(refused(address).await);
        if until.is_cancelled() {
            return politely;
        }
    }
}

/// Returns whether a connection is refused with a reason before it is closed.
async fn refused(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    let mut said = Vec::new();
    let closed = timeout(DEADLINE, stream.read_to_end(&mut said)).await.expect("it closes");
    let greeting = said.get(4..).map(serde_json::from_slice::<raw::ServerHello>);
    closed.is_ok()
        && greeting.is_some_and(|read| read.is_ok_and(|greeting| greeting.refused.is_some()))
}

#[test]
fn a_tier_reports_which_settings_are_missing() {
    let without = |name| (name, String::new());
    let tls = ("LODGE_ACCOUNTS_TLS", "true".to_owned());
    let ca = ("LODGE_ACCOUNTS_CA_FILE", "ca.pem".to_owned());
    let certificate = ("LODGE_ACCOUNTS_CERTIFICATE_FILE", "a.pem".to_owned());
    let asks = ("LODGE_ACCOUNTS_SERVERS", "127.0.0.1:1".to_owned());
    let no_port = ("LODGE_ACCOUNTS_SERVERS", "127.0.0.1:1,localhost".to_owned());
    let key = ("LODGE_ACCOUNTS_KEY_FILE", "key".to_owned());
    for (role, settings, said) in [
        ("web", vec![asks.clone()], "accounts.pictures"),
        ("web", vec![without("LODGE_ACCOUNTS_KEY_FILE")], "accounts.servers"),
        ("web", vec![no_port], "must be a host and a port"),
        ("accounts", vec![asks], "accounts.servers"),
        ("accounts", vec![without("LODGE_ACCOUNTS_KEY_FILE")], "accounts.key_file"),
        ("accounts", vec![tls.clone()], "accounts.key_file"),
        ("accounts", vec![tls.clone(), key], "accounts.certificate_file"),
        ("accounts", vec![tls, certificate.clone()], "set together"),
        ("accounts", vec![ca], "accounts.tls"),
        ("accounts", vec![certificate], "accounts.tls"),
    ] {
        let lodge = Lodge::new().with("LODGE_APPS", "accounts").with("LODGE_ROLES", role);
        let ran = with(lodge, &settings).run(&["serve"]);
        assert!(ran.code == 78 && ran.err.contains(said), "{ran:?}");
    }
}

#[test]
fn the_start_log_says_where_accounts_are() {
    let says = |server: &Server, accounts: &str| {
        let log = server.log();
        assert!(log.contains(&format!("\"accounts\":\"{accounts}\"")), "{accounts}: {log}");
    };
    says(&Lodge::new().start(), "here");
    says(&Lodge::new().with("LODGE_APPS", "links").start(), "none");
    let (_tiers, accounts, web) = Tiers::new().start();
    let address = accounts.wire.unwrap().to_string();
    says(&accounts, &address);
    says(&web, &address);
}
