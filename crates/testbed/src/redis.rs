//! Redis, one master and two replicas at first, each with a Sentinel beside it.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use crate::{
    layout::Layout,
    member::{Kind, Member},
};

/// What the sentinels call the master.
pub(crate) const MASTER_NAME: &str = "lodge";

const FIRST_MASTER: Member = Member { kind: Kind::Redis, number: 1 };

/// Writes a server's configuration. The server rewrites it later, when the sentinels tell it to.
pub(crate) fn prepare_server(layout: &Layout, member: Member) -> Result<()> {
    let (folder, ip) = (layout.folder(member), layout.ip(member));
    let password = layout.secret(Kind::Redis)?;
    let replica_of = if member == FIRST_MASTER {
        String::new()
    } else {
        format!("replicaof {} 6379\n", layout.ip(FIRST_MASTER))
    };
    let text = format!(
        "bind {ip}\nport 6379\nprotected-mode no\ndir {}\n\
         requirepass {password}\nmasterauth {password}\n\
         appendonly yes\nappendfsync everysec\n\
         maxmemory 256mb\nmaxmemory-policy volatile-lru\n\
         replica-announce-ip {ip}\nreplica-announce-port 6379\n\
         min-replicas-to-write 1\nmin-replicas-max-lag 5\n\
         repl-timeout 10\nrepl-ping-replica-period 1\nrepl-diskless-sync-delay 0\nrepl-backlog-size 16mb\n{replica_of}",
        folder.display()
    );
    fs::write(folder.join("redis.conf"), text)?;
    Ok(())
}

/// Writes a sentinel's configuration, which it rewrites as it learns.
pub(crate) fn prepare_sentinel(layout: &Layout, member: Member) -> Result<()> {
    let (folder, ip) = (layout.folder(member), layout.ip(member));
    let password = layout.secret(Kind::Redis)?;
    let text = format!(
        "bind {ip}\nport 26379\nprotected-mode no\ndir {}\n\
         requirepass {password}\nsentinel sentinel-pass {password}\n\
         sentinel announce-ip {ip}\nsentinel announce-port 26379\n\
         sentinel monitor {MASTER_NAME} {} 6379 2\n\
         sentinel auth-pass {MASTER_NAME} {password}\n\
         sentinel down-after-milliseconds {MASTER_NAME} 700\n\
         sentinel failover-timeout {MASTER_NAME} 10000\n\
         sentinel parallel-syncs {MASTER_NAME} 1\n",
        folder.display(),
        layout.ip(FIRST_MASTER)
    );
    fs::write(folder.join("sentinel.conf"), text)?;
    Ok(())
}

/// How a server is started. One that was the master must not come back as one while another is: the
/// sentinels take ten seconds to notice, and until then it would serve what is out of date.
pub(crate) fn server(layout: &Layout, member: Member) -> Command {
    let mut command = plain_server(layout, member);
    if let Some(master) = master(layout).filter(|master| *master != layout.address(member)) {
        command.args(["--replicaof", &master.ip().to_string(), &master.port().to_string()]);
    }
    command
}

/// How a server is started by whoever asks nobody: as what it was.
pub(crate) fn plain_server(layout: &Layout, member: Member) -> Command {
    let mut command = Command::new("redis-server");
    command.arg(layout.folder(member).join("redis.conf"));
    command
}

/// How a sentinel is started.
pub(crate) fn sentinel(layout: &Layout, member: Member) -> Command {
    let mut command = Command::new("redis-server");
    command.arg(layout.folder(member).join("sentinel.conf")).arg("--sentinel");
    command
}

/// Whether a server or sentinel answers.
pub(crate) fn is_ready(layout: &Layout, member: Member) -> bool {
    ask(layout, layout.address(member), "PING").is_ok_and(|answer| answer.contains("+PONG"))
}

/// The master, as the first sentinel that answers says.
pub(crate) fn master(layout: &Layout) -> Option<SocketAddr> {
    let question = format!("SENTINEL get-master-addr-by-name {MASTER_NAME}");
    let mut answers = layout
        .addresses(Kind::Sentinel)
        .into_iter()
        .filter_map(|sentinel| ask(layout, sentinel, &question).ok());
    answers.find_map(|answer| {
        let mut words = answer.lines().filter(|line| !line.starts_with(['*', '$', '+', '-']));
        let (ip, port) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(SocketAddr::new(ip, port))
    })
}

/// Whether every sentinel knows both replicas and both other sentinels: before that no failover works.
pub(crate) fn can_fail_over(layout: &Layout) -> bool {
    layout.addresses(Kind::Sentinel).into_iter().all(|sentinel| {
        ask(layout, sentinel, &format!("SENTINEL master {MASTER_NAME}")).is_ok_and(|answer| {
            let lines: Vec<&str> = answer.lines().collect();
            let is = |name: &str, value: &str| {
                lines.windows(3).any(|three| three[0] == name && three[2] == value)
            };
            is("num-slaves", "2") && is("num-other-sentinels", "2")
        })
    })
}

/// Whether the master has both replicas, and every sentinel sees so and is prepared to act.
pub(crate) fn is_settled(layout: &Layout) -> bool {
    let Some(master) = master(layout) else { return false };
    let says = |address, question: &str, wanted: &[&str]| {
        ask(layout, address, question)
            .is_ok_and(|answer| wanted.iter().all(|wanted| answer.contains(wanted)))
    };
    let replicas = ["role:master", "connected_slaves:2"];
    let is_online = ask(layout, master, "INFO replication")
        .is_ok_and(|answer| answer.matches("state=online").count() == 2);
    is_online
        && says(master, "INFO replication", &replicas)
        && can_fail_over(layout)
        && layout.addresses(Kind::Sentinel).into_iter().all(|sentinel| {
            // One that was stopped for a while trusts its clock for nothing for half a minute.
            let watches = ["sentinel_tilt:0", "status=ok", &format!("address={master}")];
            says(sentinel, "INFO sentinel", &watches)
        })
}

/// Empties the master, and so its replicas.
pub(crate) fn flush(layout: &Layout) -> Result<()> {
    let master = master(layout).context("no sentinel knows a master")?;
    let answer = ask(layout, master, "FLUSHALL")?;
    ensure!(answer.lines().filter(|line| *line == "+OK").count() == 2, "FLUSHALL: {answer}");
    Ok(())
}

/// Sends one inline command (the Redis protocol's own form for people) and returns the raw answer.
fn ask(layout: &Layout, address: SocketAddr, command: &str) -> Result<String> {
    let password = layout.secret(Kind::Redis)?;
    let patience = Duration::from_millis(500);
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    write!(stream, "AUTH {password}\r\n{command}\r\n")?;
    // It answers what it got, and then closes; a sentinel knows no QUIT.
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("no answer")?;
    Ok(answer)
}
