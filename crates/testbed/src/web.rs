//! Lodge's web processes.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::process::CommandExt as _,
    path::Path,
    process::Command,
    time::Duration,
};

use crate::{layout::Layout, member::Member};

/// How one is started.
pub(crate) fn server(layout: &Layout, member: Member, lodge: &Path) -> Command {
    let mut command = Command::new(lodge);
    if rustix::process::geteuid().is_root() {
        command.gid(layout.group(member));
    }
    command.arg("serve");
    command.arg("--listen").arg(layout.address(member).to_string());
    command.arg("--ops-listen").arg(layout.ops(member).to_string());
    command.arg("--data").arg(layout.folder(member));
    // Through the balancer everybody has one address.
    command.env("LODGE_LIMITS_CREATIONS_PER_MINUTE", "1000000");
    command.envs(layout.settings());
    command
}

/// Whether it says that it is ready.
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
