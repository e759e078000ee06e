//! HAProxy in front of the web processes.

use std::{fs, process::Command};

use anyhow::Result;

use crate::{
    layout::Layout,
    member::{Kind, Member},
};

/// Writes the configuration: a dead process is taken out in half a second, a hung one in two. Its GETs are retried on
/// another process; its writes are aborted, because their outcome is unknown.
pub(crate) fn prepare(layout: &Layout, member: Member) -> Result<()> {
    let servers = |options: fn(Member) -> String| -> String {
        let line = |web| format!("  server {web} {} {}\n", layout.address(web), options(web));
        Member::of(Kind::Web).map(line).collect()
    };
    let reads =
        servers(|_| "check port 9090 observe layer4 error-limit 1 on-error mark-down".to_owned());
    let writes = servers(|web| format!("track reads/{web} on-marked-down shutdown-sessions"));
    let text = format!(
        "global\n  maxconn 4000\n\
         defaults\n  mode http\n  timeout connect 500ms\n  timeout client 30s\n  timeout server 30s\n\
         \x20 retries 2\n  option redispatch 1\n  option forwardfor\n  balance leastconn\n\
         \x20 default-server inter 500ms fastinter 200ms downinter 500ms fall 2 rise 2\n\
         frontend public\n  bind {}\n  use_backend reads if METH_GET\n  default_backend writes\n\
         backend reads\n  option httpchk GET /health/ready\n  timeout server 2s\n\
         \x20 retry-on conn-failure empty-response response-timeout 503\n{reads}\
         backend writes\n{writes}",
        layout.address(member)
    );
    Ok(fs::write(layout.folder(member).join("haproxy.cfg"), text)?)
}

/// Returns the command that starts HAProxy.
pub(crate) fn server(layout: &Layout, member: Member) -> Command {
    let mut command = Command::new("/usr/sbin/haproxy");
    command.arg("-db").arg("-f").arg(layout.folder(member).join("haproxy.cfg"));
    command
}
