//! A network namespace, which stands for another host. Needs root.

use std::process::{self, Command};

/// A namespace that is joined to this machine by a virtual cable; removed when it is dropped.
pub(crate) struct Namespace {
    name: String,
    /// The first three parts of the addresses on the cable, of a network that is reserved for tests (RFC 2544).
    network: String,
}

impl Namespace {
    /// The last part of its address.
    const HOST: u8 = 9;

    /// Creates a namespace, and gives this machine the addresses 1 to 5 of its network.
    pub(crate) fn create(number: u8) -> Self {
        let id = process::id();
        let namespace = Self {
            name: format!("lodge-{id}-{number}"),
            network: format!("198.{}.{}", 18 + number % 2, id % 256),
        };
        let name = namespace.name.as_str();
        let (here, there) = (format!("ldg{id}h{number}"), format!("ldg{id}n{number}"));
        ip(&["netns", "add", name]);
        ip(&["link", "add", &here, "type", "veth", "peer", "name", &there, "netns", name]);
        for last in 1..=5 {
            ip(&["address", "add", &format!("{}/24", namespace.address(last)), "dev", &here]);
        }
        ip(&["link", "set", &here, "up"]);
        let host = format!("{}/24", namespace.host());
        ip(&["-n", name, "address", "add", &host, "dev", &there]);
        ip(&["-n", name, "link", "set", &there, "up"]);
        namespace
    }

    /// Returns an address of this machine on the cable.
    pub(crate) fn address(&self, last: u8) -> String {
        format!("{}.{last}", self.network)
    }

    /// Returns the address of the namespace.
    pub(crate) fn host(&self) -> String {
        self.address(Self::HOST)
    }

    /// Returns a command that runs a program inside.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // With it goes the cable.
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

fn ip(arguments: &[&str]) {
    let done = Command::new("ip").args(arguments).output().unwrap();
    let why = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "ip {}, which needs root: {why}", arguments.join(" "));
}
