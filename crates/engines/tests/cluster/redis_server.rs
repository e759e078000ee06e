//! Redis servers for one test: with TLS, with several masters, or to be killed or lag.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lodge_engines::{Tls, redis::Options};
use lodge_testbed::Authority;
use tempfile::TempDir;

use crate::redis::options;

/// The password of the servers and the sentinel.
pub(crate) const PASSWORD: &str = "wz9-right-password";

/// Masters, at first without replicas, and one sentinel that watches them.
pub(crate) struct OwnRedis {
    masters: Vec<String>,
    addresses: Vec<SocketAddr>,
    sentinel: SocketAddr,
    pub(crate) authority: Authority,
    tls: bool,
    servers: Vec<Child>,
    folder: TempDir,
}

impl OwnRedis {
    /// Starts a master of each name; with `tls` they accept only TLS.
    pub(crate) fn start(masters: &[&str], tls: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::at(folder.path());
        authority.make([Ipv4Addr::LOCALHOST.into()]).unwrap();
        let masters = masters.iter().map(|name| (*name).to_owned()).collect();
        let (sentinel, addresses, servers) = (free_address(), Vec::new(), Vec::new());
        let mut redis = Self { masters, addresses, sentinel, authority, tls, servers, folder };
        let mut watch = redis.common(sentinel);
        for name in redis.masters.clone() {
            let address = free_address();
            redis.addresses.push(address);
            let text = redis.common(address) + "save \"\"\nrepl-diskless-sync-delay 0\n";
            redis.launch(&name, &text, &[]);
            let port = address.port();
            let monitor = format!("sentinel monitor {name} 127.0.0.1 {port} 1\n");
            watch = [watch, monitor, format!("sentinel auth-pass {name} {PASSWORD}\n")].concat();
        }
        redis.launch("sentinel", &watch, &["--sentinel"]);
        redis
    }

    /// Kills the master at index `place`.
    pub(crate) fn kill(&mut self, place: usize) {
        self.servers[place].kill().unwrap();
        self.servers[place].wait().unwrap();
    }

    /// Adds a replica to the master at index `place`, waits until it is in sync, and makes the sentinel
    /// discover it.
    pub(crate) fn add_replica(&mut self, place: usize) -> Replica {
        assert!(!self.tls, "redis-cli connects without TLS");
        let (address, port) = (free_address(), self.addresses[place].port());
        let follow = format!("replicaof 127.0.0.1 {port}\nmasterauth {PASSWORD}\nsave \"\"\n");
        self.launch("replica", &(self.common(address) + &follow), &[]);
        let replica = Replica { address };
        let deadline = Instant::now() + Duration::from_secs(30);
        while !replica.ask(&["INFO", "replication"]).contains("master_link_status:up") {
            assert!(Instant::now() < deadline, "the replica does not follow");
            thread::yield_now();
        }
        let reset = ask(self.sentinel, &["SENTINEL", "RESET", &self.masters[place]]);
        assert_eq!(reset.trim(), "1", "masters that are reset");
        replica
    }

    /// Connection options with keys of this prefix.
    pub(crate) fn options(&self, prefix: &str) -> Options {
        let authorities_pem = Some(fs::read_to_string(self.authority.root()).unwrap());
        Options {
            masters: self.masters.clone(),
            tls: self.tls.then(|| Tls::trusting(authorities_pem)),
            deadline: Duration::from_millis(500),
            writers: 0,
            ..options(vec![self.sentinel.to_string()], PASSWORD, prefix)
        }
    }

    fn common(&self, address: SocketAddr) -> String {
        let port = address.port();
        let listen = if self.tls {
            format!(
                "port 0\ntls-port {port}\ntls-auth-clients no\ntls-replication yes\n\
                 tls-cert-file {}\ntls-key-file {}\ntls-ca-cert-file {}\n",
                self.authority.certificate().display(),
                self.authority.key().display(),
                self.authority.root().display(),
            )
        } else {
            format!("port {port}\n")
        };
        let folder = self.folder.path().display();
        format!("bind 127.0.0.1\n{listen}requirepass {PASSWORD}\ndir {folder}\n")
    }

    fn launch(&mut self, name: &str, text: &str, flags: &[&str]) {
        let file = Path::new(self.folder.path()).join(format!("{name}.conf"));
        fs::write(&file, text).unwrap();
        let mut command = Command::new("redis-server");
        let command = command.arg(file).args(flags).stdout(Stdio::null());
        self.servers.push(command.spawn().unwrap());
    }
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// A replica without TLS.
pub(crate) struct Replica {
    address: SocketAddr,
}

impl Replica {
    /// The number of reads that found their key.
    pub(crate) fn keys_found(&self) -> u64 {
        let stats = self.ask(&["INFO", "stats"]);
        let found = stats.lines().find_map(|line| line.strip_prefix("keyspace_hits:"));
        found.unwrap().trim().parse().unwrap()
    }

    /// Stops replication; the data stays.
    pub(crate) fn stop_following(&self) {
        assert_eq!(self.ask(&["REPLICAOF", "NO", "ONE"]).trim(), "OK");
    }

    fn ask(&self, command: &[&str]) -> String {
        ask(self.address, command)
    }
}

/// Runs a command on a server with `redis-cli`; returns its output.
fn ask(server: SocketAddr, command: &[&str]) -> String {
    let output = Command::new("redis-cli")
        .env("REDISCLI_AUTH", PASSWORD)
        .args(["-p", &server.port().to_string()])
        .args(command)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}
