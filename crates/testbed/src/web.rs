//! Lodge's web processes.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use anyhow::{Context as _, Result};

use crate::{
    layout::Layout,
    member::{Kind, Member},
    process::wait_until,
};

/// Timeout for a witness to be ready.
const START: Duration = Duration::from_secs(30);

/// A Lodge process with the store but without caches and queues: a link that it serves is stored, and not only cached.
/// Dropping it kills the process.
#[derive(Debug)]
pub struct UncachedLodge {
    /// The address on which it listens.
    pub address: SocketAddr,
    process: Child,
}

impl UncachedLodge {
    /// Starts a witness with the command of a web process.
    pub(crate) fn start(layout: &Layout, member: Member, mut command: Command) -> Result<Self> {
        command.env("LODGE_LINKS_WRITES", "through");
        let caches = command.get_envs().filter_map(|(name, _)| name.to_str());
        let caches = caches.filter(|name| name.contains("REDIS") || name.contains("RABBITMQ"));
        for name in caches.map(ToOwned::to_owned).collect::<Vec<_>>() {
            command.env_remove(name);
        }
        fs::create_dir_all(layout.folder(member))?;
        let log = File::create(layout.log(&member.to_string()))?;
        command.stdout(log.try_clone()?).stderr(log);
        let process = command.spawn().context("cannot start a witness")?;
        let witness = Self { address: layout.address(member), process };
        wait_until("the witness", START, || is_ready(layout, member))?;
        Ok(witness)
    }

    /// A web process with a number that no cluster has.
    pub(crate) const MEMBER: Member = Member { kind: Kind::Web, number: Kind::Web.count() + 1 };
}

impl Drop for UncachedLodge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the command that starts a web process.
pub(crate) fn server(layout: &Layout, member: Member, lodge: &Path) -> Command {
    let mut command = Command::new(lodge);
    if rustix::process::geteuid().is_root() {
        command.gid(layout.group(member));
    }
    command.arg("serve");
    command.arg("--listen").arg(layout.address(member).to_string());
    command.arg("--ops-listen").arg(layout.ops(member).to_string());
    command.arg("--data").arg(layout.folder(member));
    // All requests have the same client address.
    for limited in ["CREATIONS", "SIGN_UPS", "ATTEMPTS", "PICTURES"] {
        command.env(format!("LODGE_LIMITS_{limited}_PER_MINUTE"), "1000000");
    }
    command.envs(layout.settings());
    command.envs(layout.web_settings());
    command
}

/// Whether a Lodge process reports that it is ready.
pub(crate) fn is_ready(layout: &Layout, member: Member) -> bool {
    is_well(layout.ops(member), "/health/ready")
}

/// Whether a GET is answered with 200.
pub(crate) fn is_well(address: SocketAddr, path: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let patience = Duration::from_secs(1);
        let mut stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    ask().is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
}
