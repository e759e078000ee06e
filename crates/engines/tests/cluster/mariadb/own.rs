//! A MariaDB server for one test: with TLS, or to be killed.

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process::Child,
    thread,
    time::{Duration, Instant},
};

use lodge_engines::{
    Tls,
    mariadb::{MariaDb, Options},
};
use lodge_testbed::{Authority, Mariadb, mariadb::USER};
use mysql::prelude::Queryable as _;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::admin;
use crate::testbed::cache;

const PASSWORD: &str = "wz9-right-password";
const DATABASE: &str = "lodge";

/// A server with one empty database.
pub(super) struct OwnServer {
    server: Mariadb,
    process: Option<Child>,
    pub(super) authority: Authority,
    folder: TempDir,
}

impl OwnServer {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::at(folder.path().join("tls"));
        authority.make([Ipv4Addr::LOCALHOST.into()]).unwrap();
        let server = Mariadb::new(folder.path().join("server"), free_address());
        server.prepare(&cache(), PASSWORD, Some(&authority)).unwrap();
        let mut own = Self { server, process: None, authority, folder };
        own.start_again();
        let create = format!("CREATE DATABASE {DATABASE}");
        admin(&own.options(None), "").query_drop(create).unwrap();
        own
    }

    pub(super) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Suspends the server until it is killed.
    pub(super) fn pause(&self) {
        let pid = self.process.as_ref().and_then(|process| i32::try_from(process.id()).ok());
        kill_process(pid.and_then(Pid::from_raw).unwrap(), Signal::STOP).unwrap();
    }

    pub(super) fn start_again(&mut self) {
        let log = File::create(self.folder.path().join("log")).unwrap();
        self.process = Some(self.server.command().stderr(log).spawn().unwrap());
        let deadline = Instant::now() + Duration::from_mins(1);
        while !self.server.is_ready() {
            assert!(Instant::now() < deadline, "the server does not start");
            thread::yield_now();
        }
    }

    pub(super) fn options(&self, tls: Option<Tls>) -> Options {
        let nodes = vec![self.server.address().to_string()];
        let options = Options::new(nodes, DATABASE, USER, PASSWORD.into());
        Options { tls, writers: 2, readers: 2, scanners: 1, ..options }
    }

    pub(super) async fn connect(&self) -> MariaDb {
        MariaDb::connect(self.options(None)).await.unwrap()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}
