//! Lodge's web processes.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::Command,
    time::Duration,
};

use crate::{layout::Layout, member::Member};

/// How one is started.
pub(crate) fn server(layout: &Layout, member: Member, lodge: &Path) -> Command {
    let mut command = Command::new(lodge);
    command.arg("serve");
    command.arg("--listen").arg(layout.address(member).to_string());
    command.arg("--ops-listen").arg(ops(layout, member).to_string());
    command.arg("--data").arg(layout.folder(member));
    command
}

/// Whether it says that it is ready.
pub(crate) fn is_ready(layout: &Layout, member: Member) -> bool {
    let ask = || -> std::io::Result<String> {
        let patience = Duration::from_millis(500);
        let mut stream = TcpStream::connect_timeout(&ops(layout, member), patience)?;
        stream.set_read_timeout(Some(patience))?;
        stream.write_all(b"GET /health/ready HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
}

fn ops(layout: &Layout, member: Member) -> SocketAddr {
    SocketAddr::new(layout.ip(member), 9090)
}
