//! Redis: initially one master and two replicas, each with a Sentinel beside it.

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

/// The user of Lodge, and the commands that it may run.
pub(crate) const USER: &str = "lodge";
pub(crate) const COMMANDS: &str = "+get +mget +set +del +unlink +exists +pexpire +persist +hget +hmget +hset +hdel \
                                   +zadd +zrem +zrange +zremrangebyscore +publish +subscribe +multi +exec +eval \
                                   +evalsha +script|load +wait +role +info";

/// The sentinels' name for the master.
pub(crate) const MASTER_NAME: &str = "lodge";

const FIRST_MASTER: Member = Member { kind: Kind::Redis, number: 1 };

/// Writes a server's configuration. The sentinels make the server rewrite it later.
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
         user {USER} on >{password} ~lodge* &lodge* {COMMANDS}\n\
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

/// Writes a sentinel's configuration, which the sentinel rewrites.
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

/// Returns the command that starts a server. A former master must start as a replica of the current one: the sentinels
/// take ten seconds to demote it, and until then it would serve stale data.
pub(crate) fn server(layout: &Layout, member: Member) -> Command {
    let mut command = plain_server(layout, member);
    if let Some(master) = master(layout).filter(|master| *master != layout.address(member)) {
        command.args(["--replicaof", &master.ip().to_string(), &master.port().to_string()]);
    }
    command
}

/// Returns the command that starts a server in its former role.
pub(crate) fn plain_server(layout: &Layout, member: Member) -> Command {
    let mut command = Command::new("redis-server");
    command.arg(layout.folder(member).join("redis.conf"));
    command
}

/// Returns the command that starts a sentinel.
pub(crate) fn sentinel(layout: &Layout, member: Member) -> Command {
    let mut command = Command::new("redis-server");
    command.arg(layout.folder(member).join("sentinel.conf")).arg("--sentinel");
    command
}

/// Whether a server or sentinel answers.
pub(crate) fn is_ready(layout: &Layout, member: Member) -> bool {
    ask(layout, layout.address(member), "PING").is_ok_and(|answer| answer.contains("+PONG"))
}

/// Returns the master, as reported by the first sentinel that answers.
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

/// Whether every sentinel knows both replicas and both other sentinels, which a failover needs.
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

/// Whether the master has both replicas, and every sentinel reports them and can fail over.
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
            // A suspended sentinel enters tilt mode and does not act for half a minute.
            let watches = ["sentinel_tilt:0", "status=ok", &format!("address={master}")];
            says(sentinel, "INFO sentinel", &watches)
        })
}

/// Flushes the master, and so its replicas.
pub(crate) fn flush(layout: &Layout) -> Result<()> {
    let master = master(layout).context("no sentinel knows a master")?;
    let answer = ask(layout, master, "FLUSHALL")?;
    ensure!(answer.lines().filter(|line| *line == "+OK").count() == 2, "FLUSHALL: {answer}");
    Ok(())
}

/// Sends an inline command (the text form of the Redis protocol) and returns the raw answer.
fn ask(layout: &Layout, address: SocketAddr, command: &str) -> Result<String> {
    let password = layout.secret(Kind::Redis)?;
    let patience = Duration::from_millis(500);
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    write!(stream, "AUTH {password}\r\n{command}\r\n")?;
    // After the end of input the server answers and closes; a sentinel has no QUIT.
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("no answer")?;
    Ok(answer)
}
