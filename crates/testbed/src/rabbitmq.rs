//! RabbitMQ: three nodes in one cluster.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command, time::Duration};

use anyhow::{Result, bail};

use crate::{
    layout::Layout,
    member::{Kind, Member},
    process::{self, Tracked, wait_until},
};

/// Erlang's name server, which outlives the nodes that use it.
pub(crate) const EPMD: &str = "epmd";

/// The folder of the package's scripts; those on the `PATH` switch the user.
const SCRIPTS: &str = "/usr/lib/rabbitmq/bin";

const USER: &str = "lodge";

/// What the user may configure, and what it may read and write: the default exchange as well. Reading it means nothing,
/// but RabbitMQ 3.10 takes the two settings of its configuration for each other.
pub(crate) const CONFIGURE: &str = "^lodge";
pub(crate) const READ_AND_WRITE: &str = "^(lodge.*|amq[.]default)$";

/// Writes a node's configuration.
pub(crate) fn prepare(layout: &Layout, member: Member) -> Result<()> {
    let (folder, ip) = (layout.folder(member), layout.ip(member));
    let authority = layout.authority();
    let nodes = Member::of(Kind::Rabbitmq).map(|peer| {
        let number = peer.number;
        format!("cluster_formation.classic_config.nodes.{number} = {}\n", node(layout, peer))
    });
    let text = format!(
        "listeners.tcp.1 = {ip}:5672\nlisteners.ssl.1 = {}\n\
         ssl_options.cacertfile = {}\nssl_options.certfile = {}\nssl_options.keyfile = {}\n\
         ssl_options.verify = verify_none\nssl_options.fail_if_no_peer_cert = false\n\
         default_user = {USER}\ndefault_pass = {}\nloopback_users = none\n\
         default_user_tags.administrator = false\ndefault_permissions.configure = {CONFIGURE}\n\
         default_permissions.read = {READ_AND_WRITE}\ndefault_permissions.write = {READ_AND_WRITE}\n\
         cluster_formation.peer_discovery_backend = rabbit_peer_discovery_classic_config\n{}\
         cluster_partition_handling = pause_minority\nnet_ticktime = 5\n\
         vm_memory_high_watermark.absolute = 512MB\ndisk_free_limit.absolute = 50MB\n",
        layout.tls_address(member),
        authority.root().display(),
        authority.certificate().display(),
        authority.key().display(),
        layout.secret(Kind::Rabbitmq)?,
        nodes.collect::<String>()
    );
    fs::write(folder.join("rabbitmq.conf"), text)?;
    fs::write(folder.join("enabled_plugins"), "[].\n")?;
    let cookie = folder.join(".erlang.cookie");
    fs::write(&cookie, layout.secret(Kind::Rabbitmq)?)?;
    fs::set_permissions(cookie, fs::Permissions::from_mode(0o400))?;
    Ok(())
}

/// Starts the name server if it is down.
pub(crate) fn start_epmd(layout: &Layout) -> Result<()> {
    let record = layout.record(EPMD);
    if Tracked::find(&record).is_some() {
        return Ok(());
    }
    let addresses = Member::of(Kind::Rabbitmq).map(|member| layout.ip(member).to_string());
    let addresses: Vec<String> = addresses.collect();
    let port = layout.epmd_port().to_string();
    let mut command = Command::new("epmd");
    command.args(["-address", &addresses.join(","), "-port", &port]);
    Tracked::start(&mut command, &layout.log(EPMD), &record)?;
    let address = format!("{}:{port}", addresses[0]).parse()?;
    wait_until("epmd", Duration::from_secs(5), || process::listens(address))
}

/// Returns the command that starts a node.
pub(crate) fn server(layout: &Layout, member: Member) -> Command {
    let folder = layout.folder(member);
    let mut command = script(layout, member, "rabbitmq-server");
    let interface = layout.ip(member).to_string().replace('.', ",");
    let erlang = format!(
        "-kernel inet_dist_use_interface {{{interface}}} +S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none"
    );
    command
        .env("RABBITMQ_DIST_PORT", layout.local_port(member).to_string())
        .env("RABBITMQ_CONFIG_FILE", folder.join("rabbitmq.conf"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("enabled_plugins"))
        .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
        .env("RABBITMQ_LOG_BASE", folder.join("log"))
        .env("RABBITMQ_PID_FILE", folder.join("pid"))
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", erlang)
        // The script `exec`s the node instead of waiting for it: signals reach the node.
        .env("RUNNING_UNDER_SYSTEMD", "true");
    command
}

/// Returns the leader of a queue, as reported by the first node that answers.
pub(crate) fn leader(layout: &Layout, queue: &str) -> Result<Member> {
    for asked in Member::of(Kind::Rabbitmq) {
        let mut list = script(layout, asked, "rabbitmqctl");
        list.args(["--quiet", "--timeout", "20", "list_queues", "name", "leader"]);
        let listed = list.output()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let leads = |member: &Member| {
            let line = format!("{queue}\t{}", node(layout, *member));
            listed.lines().any(|listed| listed == line)
        };
        if let Some(leader) = Member::of(Kind::Rabbitmq).find(leads) {
            return Ok(leader);
        }
    }
    bail!("no RabbitMQ node reports a leader of the queue {queue}")
}

/// Returns the command of a script of the package with a node's environment.
fn script(layout: &Layout, member: Member, name: &str) -> Command {
    let mut command = Command::new(format!("{SCRIPTS}/{name}"));
    command
        .env("HOME", layout.folder(member))
        // Otherwise the package's own settings make the node listen on every interface.
        .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
        .env("RABBITMQ_USE_LONGNAME", "true")
        .env("RABBITMQ_NODENAME", node(layout, member))
        .env("ERL_EPMD_ADDRESS", layout.ip(member).to_string())
        .env("ERL_EPMD_PORT", layout.epmd_port().to_string());
    command
}

fn node(layout: &Layout, member: Member) -> String {
    format!("lodge{}@{}", member.number, layout.ip(member))
}
