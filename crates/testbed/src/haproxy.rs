//! HAProxy in front of the web processes.

use std::{fs, process::Command};

use anyhow::Result;

use crate::{
    layout::Layout,
    member::{Kind, Member},
};

/// Writes its configuration: a dead process is out in half a second, a hung one in two, and what it was
/// asked is asked elsewhere, unless it is a write, whose outcome nobody knows.
pub(crate) fn prepare(layout: &Layout, member: Member) -> Result<()> {
    let servers = Member::of(Kind::Web).map(|web| {
        let address = layout.address(web);
        format!(
            "  server {web} {address} check port 9090 observe layer4 error-limit 1 on-error mark-down\n"
        )
    });
    let text = format!(
        "global\n  maxconn 4000\n\
         defaults\n  mode http\n  timeout connect 500ms\n  timeout client 30s\n  timeout server 30s\n\
         \x20 retries 2\n  option redispatch 1\n  option forwardfor\n\
         \x20 retry-on conn-failure empty-response response-timeout 503\n\
         \x20 default-server inter 500ms fastinter 200ms downinter 500ms fall 2 rise 2\n\
         frontend public\n  bind {}\n  default_backend webs\n\
         backend webs\n  balance leastconn\n\
         \x20 option httpchk GET /health/ready\n\
         \x20 http-request disable-l7-retry unless METH_GET\n\
         \x20 http-request set-timeout server 2500ms if METH_GET\n{}",
        layout.address(member),
        servers.collect::<String>()
    );
    fs::write(layout.folder(member).join("haproxy.cfg"), text)?;
    Ok(())
}

/// How it is started.
pub(crate) fn server(layout: &Layout, member: Member) -> Command {
    let mut command = Command::new("/usr/sbin/haproxy");
    command.arg("-db").arg("-f").arg(layout.folder(member).join("haproxy.cfg"));
    command
}
