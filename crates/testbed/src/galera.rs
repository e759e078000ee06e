//! A Galera cluster: MariaDB servers of which each has all data and accepts writes.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
    path::Path,
    process::Command,
};

/// The timeouts with which a killed node stops writes for less than three seconds; by default it is twice as long.
const TIMEOUTS: &str = "evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.3S;evs.suspect_timeout=PT1.5S;\
                        evs.inactive_timeout=PT3S;evs.install_timeout=PT3S;gmcast.peer_timeout=PT1S";

/// The id of the cluster's history.
const HISTORY: &str = "6c6f6467-6500-11ee-8000-000000000000";

/// The file in which a node saves its position in the history.
const STATE: &str = "grastate.dat";

/// The file in which a node saves the other nodes.
const VIEW: &str = "gvwstate.dat";

/// What the recovery of a node that was killed prints before its position.
const POSITION: &str = "Recovered position: ";

/// A node of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    number: u8,
    cluster: Vec<IpAddr>,
    copies_at: SocketAddr,
}

impl Node {
    /// Describes a node, from 1 on, of the cluster at these addresses. At `copies_at` it receives a copy of all data, or
    /// the news that it needs none; the port is taken on all addresses of the machine.
    pub(crate) fn new(number: u8, cluster: Vec<IpAddr>, copies_at: SocketAddr) -> Self {
        Self { number, cluster, copies_at }
    }

    /// Returns its settings; `copier` is the user who copies its data to other nodes, with a colon and the password.
    pub(crate) fn settings(&self, copier: &str) -> String {
        let own = self.copies_at.ip();
        let nodes: Vec<String> = self.cluster.iter().map(ToString::to_string).collect();
        format!(
            "binlog_format = ROW\ninnodb_autoinc_lock_mode = 2\nwsrep_on = ON\n\
             wsrep_provider = /usr/lib/galera/libgalera_smm.so\nwsrep_cluster_name = lodge\n\
             wsrep_cluster_address = gcomm://{}\nwsrep_node_name = {own}\nwsrep_node_address = {own}\n\
             wsrep_sst_method = mariabackup\nwsrep_sst_auth = {copier}\n\
             wsrep_sst_receive_address = {}\n\
             wsrep_provider_options = \"gmcast.listen_addr=tcp://{own}:4567;ist.recv_addr={own}:4568;\
             gcache.size=64M;gcache.recover=yes;{TIMEOUTS}\"\n",
            nodes.join(","),
            self.copies_at,
        )
    }

    /// Makes a fresh installation a node. All begin with the same files, so at the same position, as the members of one
    /// cluster that was killed: they form it when they have found each other, without a copy, in any order.
    pub(crate) fn prepare(&self, data: &Path) -> io::Result<()> {
        let member = |number: usize| format!("{}{number}", &HISTORY[..HISTORY.len() - 1]);
        let members: Vec<String> = (1..=self.cluster.len())
            .map(|number| format!("member: {} 0", member(number)))
            .collect();
        let view = format!(
            "my_uuid: {}\n#vwbeg\nview_id: 3 {} 1\nbootstrap: 0\n{}\n#vwend\n",
            member(self.number.into()),
            member(1),
            members.join("\n"),
        );
        fs::write(data.join(VIEW), view)?;
        fs::write(data.join(STATE), fresh())
    }

    /// Returns the argument with which a node that is down starts where it was; `None` if its position is unknown, so
    /// that it receives a copy.
    pub(crate) fn position(data: &Path, server: Command) -> Option<String> {
        let is_fresh = fs::read_to_string(data.join(STATE)).is_ok_and(|state| state == fresh());
        let position = if is_fresh { Some(format!("{HISTORY}:0")) } else { recovered(server) };
        position.map(|position| format!("--wsrep-start-position={position}"))
    }
}

/// Returns the saved state of a fresh installation.
fn fresh() -> String {
    format!("version: 2.1\nuuid: {HISTORY}\nseqno: 0\nsafe_to_bootstrap: 0\n")
}

/// Returns the position that a stopped node has reached, if it has one.
fn recovered(mut server: Command) -> Option<String> {
    let output = server.args(["--wsrep-recover", "--skip-networking"]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let position = text.lines().rev().find_map(|line| line.split_once(POSITION))?.1;
    (!position.ends_with(":-1")).then(|| position.trim().to_owned())
}
