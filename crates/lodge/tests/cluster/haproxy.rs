//! Clients behind a real HAProxy on another host, in both of its ways to name them. Needs no cluster.

use std::{
    collections::BTreeSet,
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
};

use serde_json::json;

use crate::{
    client::{HttpConnection, Request, between},
    namespace::Namespace,
    server::{Lodge, Process, Server, eventually_true},
};

/// Where the balancer runs.
enum Host {
    /// This machine, on an address of its own.
    Local,
    /// Another one.
    Remote(Namespace),
}

impl Host {
    /// The address of the balancer.
    fn balancer(&self) -> String {
        match self {
            Self::Local => "127.0.0.9".to_owned(),
            Self::Remote(namespace) => namespace.host(),
        }
    }

    /// An address of this machine that the balancer reaches.
    fn here(&self, last: u8) -> String {
        match self {
            Self::Local => format!("127.0.0.{last}"),
            Self::Remote(namespace) => namespace.address(last),
        }
    }

    fn haproxy(&self) -> Command {
        let program = "/usr/sbin/haproxy";
        match self {
            Self::Local => Command::new(program),
            Self::Remote(namespace) => namespace.command(program),
        }
    }

    /// A free port of the balancer's address; in a namespace all are.
    fn free_port(&self) -> u16 {
        match self {
            Self::Local => {
                let free = TcpListener::bind((self.balancer(), 0)).unwrap();
                free.local_addr().unwrap().port()
            }
            Self::Remote(_) => 8080,
        }
    }
}

/// A server with HAProxy in front.
struct Balanced {
    server: Server,
    /// The address of the balancer.
    address: SocketAddr,
    _haproxy: Process,
    host: Host,
}

impl Balanced {
    /// Starts both. HAProxy gets these options for connections in general, and for those to the server.
    fn start(host: Host, lodge: Lodge, options: &str, to_server: &str) -> Self {
        let balancer = host.balancer();
        let lodge = lodge
            .with("LODGE_HTTP_TRUSTED_PROXIES", &balancer)
            .with("LODGE_APPS", "links,accounts");
        let server = lodge.start_at(SocketAddr::new(host.here(1).parse().unwrap(), 0));
        let address = SocketAddr::new(balancer.parse().unwrap(), host.free_port());
        let config = format!(
            "defaults\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n  timeout check 30s\n{options}\
             listen public\n  bind {address}\n  server lodge {} source {balancer} {to_server}\n",
            server.address
        );
        let config = lodge.write("haproxy.cfg", config);
        let haproxy = Process(host.haproxy().arg("-db").arg("-f").arg(config).spawn().unwrap());
        eventually_true("HAProxy listens", || TcpStream::connect(address).is_ok());
        Self { server, address, _haproxy: haproxy, host }
    }

    fn ask(&self, method: &str, path: &str) -> Request {
        Request::new(self.address, method, path)
    }

    /// Asserts that rates are limited per client: three links of each, whatever header the client sends.
    fn limits_rates_per_client(&self) {
        let create = self.ask("POST", "/api/links").json(json!({ "target": "example.org" }));
        let forged = |header: &str, value: &str| create.clone().header(header, value);
        let through = format!("198.51.100.2, {}", self.host.balancer());
        let requests = [
            create.clone(),
            forged("X-Forwarded-For", "198.51.100.1"),
            forged("X-Forwarded-For", &through),
            forged("Forwarded", "for=198.51.100.3"),
        ];
        for client in [self.host.here(2), self.host.here(3)] {
            let statuses = requests.each_ref().map(|request| request.send_from(&client).status);
            assert_eq!(statuses, [201, 201, 201, 429], "{client}");
        }
    }

    /// Asserts that security events name the client, by a hash, whatever header it sends.
    fn records_clients(&self) {
        let wrong = json!({ "username": "ada", "password": "a guess" });
        let sign_in = self.ask("POST", "/api/session").json(&wrong);
        let forged = sign_in.clone().header("X-Forwarded-For", "198.51.100.1");
        for request in [sign_in, forged] {
            assert_eq!(request.send_from(&self.host.here(2)).status, 401);
        }
        let elsewhere = self.ask("POST", "/links").header("Sec-Fetch-Site", "cross-site");
        assert_eq!(elsewhere.form("target=x").send_from(&self.host.here(3)).status, 403);
        let from = |kind: &str| -> BTreeSet<String> {
            let log = self.server.log();
            let lines = log.lines().filter(|line| line.contains(&format!("\"{kind}\"")));
            lines.map(|line| between(line, "\"from\":\"", "\"").unwrap().to_owned()).collect()
        };
        eventually_true("the last is logged", || !from("cross_site_refused").is_empty());
        let (failed, refused) = (from("sign_in_failed"), from("cross_site_refused"));
        assert!(failed.len() == 1 && refused.len() == 1, "{failed:?} {refused:?}");
        assert_ne!(failed, refused);
    }
}

/// The options of HAProxy, of its connections to the server, and of the server, for both ways.
const WAYS: [(&str, &str, &str); 2] = [
    ("  mode http\n  option forwardfor\n  http-reuse never\n", "", "false"),
    ("  mode tcp\n", "send-proxy-v2", "true"),
];

fn lodge() -> Lodge {
    Lodge::new().with("LODGE_LIMITS_CREATIONS_PER_MINUTE", "3")
}

#[test]
fn limits_count_the_clients_that_the_balancer_names_in_x_forwarded_for() {
    let lodge = lodge().with("LODGE_HTTP_CONNECTIONS_PER_ADDRESS_MAX", "1");
    let balanced = Balanced::start(
        Host::Local,
        lodge,
        "  mode http\n  option forwardfor\n  http-reuse never\n",
        "",
    );
    balanced.limits_rates_per_client();
    // The balancer opens more connections than one client may.
    let unknown = balanced.ask("GET", "/unknown");
    let mut open = [(); 3].map(|()| HttpConnection::connect_from("127.0.0.2", balanced.address));
    for wire in &mut open {
        assert_eq!(unknown.on(wire).unwrap().status, 404);
    }
}

#[test]
fn limits_count_the_clients_that_the_balancer_names_by_the_proxy_protocol() {
    let lodge = lodge()
        .with("LODGE_HTTP_PROXY_PROTOCOL", "true")
        .with("LODGE_HTTP_CONNECTIONS_PER_ADDRESS_MAX", "5");
    let balanced = Balanced::start(Host::Local, lodge, "  mode tcp\n", "send-proxy-v2");
    balanced.limits_rates_per_client();
    let unknown = balanced.ask("GET", "/unknown");
    let connect = |client: &str| HttpConnection::connect_from(client, balanced.address);
    // Clients whose connections have not just been closed.
    let mut open = [(); 5].map(|()| connect("127.0.0.4"));
    for wire in &mut open {
        assert_eq!(unknown.on(wire).unwrap().status, 404);
    }
    assert_eq!(connect("127.0.0.4").read().unwrap().expect_retry_after(503), 1);
    assert_eq!(unknown.send_from("127.0.0.5").status, 404);
}

#[test]
fn health_checks_of_the_balancer_succeed_with_the_proxy_protocol() {
    let lodge = lodge().with("LODGE_HTTP_PROXY_PROTOCOL", "true");
    let options = "  mode http\n  option httpchk GET /unknown\n  http-check expect status 404\n";
    let check = "send-proxy-v2 check inter 50ms fall 1 rise 1";
    let balanced = Balanced::start(Host::Local, lodge, options, check);
    let checks = || {
        let series = "lodge_http_requests_total{method=\"GET\",route=\"/{short}\",status=\"404\"}";
        balanced.server.metric(series)
    };
    eventually_true("the server is checked", || checks() > 4.5);
    assert!(balanced.server.metric("lodge_http_proxy_headers_failed_total ") < 0.5);
    assert_eq!(balanced.ask("GET", "/unknown").send_from("127.0.0.2").status, 404);
}

#[test]
fn limits_and_security_events_name_the_clients_of_a_balancer_on_another_host() {
    for (number, (options, to_server, proxy_protocol)) in (0..).zip(WAYS) {
        let lodge = lodge().with("LODGE_HTTP_PROXY_PROTOCOL", proxy_protocol);
        let host = Host::Remote(Namespace::create(number));
        let balanced = Balanced::start(host, lodge, options, to_server);
        balanced.limits_rates_per_client();
        balanced.records_clients();
    }
}
