//! MariaDB servers.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use crate::{
    Authority,
    files::{copy, remove, write_secret},
    galera::Node,
    process::{listens, run},
};

/// The user as which Lodge connects.
pub const USER: &str = "lodge";

/// The privileges of Lodge's user.
pub(crate) const PRIVILEGES: &str = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX";

/// The user of tests that do what Lodge may not.
pub const ADMIN: &str = "lodge_admin";

/// A MariaDB server with its files in one folder.
#[derive(Debug, Clone)]
pub struct Mariadb {
    folder: PathBuf,
    address: SocketAddr,
    galera: Option<Node>,
}

impl Mariadb {
    /// Refers to the server with its files in `folder`.
    pub fn new(folder: impl Into<PathBuf>, address: SocketAddr) -> Self {
        Self { folder: folder.into(), address, galera: None }
    }

    /// Makes the server a node of a Galera cluster.
    #[must_use]
    pub(crate) fn in_galera(self, node: Node) -> Self {
        Self { galera: Some(node), ..self }
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Creates the server's files, if absent, from a fresh installation, which is created once and cached in `cache`,
    /// and writes its configuration. At each start the server creates the users [`USER`] and [`ADMIN`], if absent, with `password`; [`USER`] may use databases whose
    /// names begin with `lodge`. Fails if the installation fails.
    pub fn prepare(&self, cache: &Path, password: &str, tls: Option<&Authority>) -> Result<()> {
        if !self.data().exists() {
            self.install(cache)?;
        }
        let certificates = tls.map_or_else(String::new, |tls| {
            format!(
                "ssl_cert = {}\nssl_key = {}\nssl_ca = {}\n",
                tls.certificate().display(),
                tls.key().display(),
                tls.root().display()
            )
        });
        let (data, folder) = (self.data(), self.folder.display());
        let replication = match &self.galera {
            None => format!("log_bin = {folder}/binlog\nsync_binlog = 1\nserver_id = 1\n"),
            Some(node) => node.settings(&format!("{ADMIN}:{password}")),
        };
        // The length of socket paths is limited: this one is relative to the data folder.
        let text = format!(
            "[mariadbd]\ndatadir = {}\nsocket = socket\npid_file = pid\n\
             bind_address = {}\nport = {}\nskip_name_resolve\ninit_file = {folder}/init.sql\n\
             innodb_flush_log_at_trx_commit = 1\n\
             innodb_buffer_pool_size = 64M\ninnodb_log_file_size = 16M\nperformance_schema = OFF\n\
             max_connections = 500\n{certificates}{replication}",
            data.display(),
            self.address.ip(),
            self.address.port(),
        );
        write_secret(&self.folder.join("my.cnf"), &text)?;
        // A node creates its own users and database: a replicated REVOKE would reach the others while clients use them.
        let local = if self.galera.is_some() { "SET SESSION wsrep_on = OFF;\n" } else { "" };
        let init = format!(
            "{local}CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{password}';\n\
             REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{USER}'@'%';\n\
             GRANT {PRIVILEGES} ON `lodge%`.* TO '{USER}'@'%';\n\
             CREATE DATABASE IF NOT EXISTS lodge;\n\
             CREATE USER IF NOT EXISTS '{ADMIN}'@'%' IDENTIFIED BY '{password}';\n\
             GRANT ALL ON *.* TO '{ADMIN}'@'%';\n"
        );
        write_secret(&self.folder.join("init.sql"), &init)
    }

    /// Creates the data folder when it is complete, in case this is interrupted.
    fn install(&self, cache: &Path) -> Result<()> {
        let (template, incomplete) = (template(cache)?, self.folder.join("incomplete"));
        fs::create_dir_all(&self.folder)?;
        remove(&incomplete)?;
        copy(&template, &incomplete)?;
        if let Some(node) = &self.galera {
            node.prepare(&incomplete)?;
        }
        Ok(fs::rename(incomplete, self.data())?)
    }

    /// Returns the command that starts the server. Blocks while a node of a Galera cluster reads its position.
    pub fn command(&self) -> Command {
        let mut command = self.plain_command();
        let node = self.galera.as_ref();
        command.args(node.and_then(|_| Node::position(&self.data(), self.plain_command())));
        command
    }

    fn plain_command(&self) -> Command {
        let mut command = Command::new("/usr/sbin/mariadbd");
        command.arg(format!("--defaults-file={}", self.folder.join("my.cnf").display()));
        if rustix::process::geteuid().is_root() {
            command.arg("--user=root");
        }
        command
    }

    /// Has a node of a Galera cluster without a majority serve clients. Fails if it is down.
    pub(crate) fn bootstrap(&self, password: &str) -> Result<()> {
        let statement = "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'";
        run(&mut self.client(statement, password))
    }

    /// Creates a database, whose name begins with `lodge`. Fails if it exists or the server is down.
    pub fn create_database(&self, name: &str, password: &str) -> Result<()> {
        run(&mut self.client(&format!("CREATE DATABASE {name}"), password))
    }

    /// Returns the size of a database's files, in bytes. Fails if they cannot be read.
    pub(crate) fn bytes_of(&self, database: &str) -> Result<u64> {
        let files = fs::read_dir(self.data().join(database))?;
        files.map(|file| Ok(file?.metadata()?.len())).sum()
    }

    /// Returns the command that runs a statement as [`ADMIN`].
    pub(crate) fn client(&self, statement: &str, password: &str) -> Command {
        let mut client = Command::new("mariadb");
        client
            .args(["--no-defaults", "--batch", "--skip-column-names", "--connect-timeout=1"])
            .args(["--host", &self.address.ip().to_string(), "--user", ADMIN])
            .args(["--port", &self.address.port().to_string()])
            .args(["--execute", statement])
            .env("MYSQL_PWD", password);
        client
    }

    /// Whether a node of a Galera cluster is part of it and has all of its data.
    pub(crate) fn is_synced(&self, password: &str) -> bool {
        let state = "SHOW GLOBAL STATUS LIKE 'wsrep_local_state_comment'";
        let output = self.client(state, password).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("Synced"))
    }

    /// Whether it accepts connections.
    pub fn is_ready(&self) -> bool {
        listens(self.address)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }
}

/// Returns the folder of a server that was installed and never started; installs it if absent.
fn template(cache: &Path) -> Result<PathBuf> {
    let template = cache.join("mariadb");
    if template.exists() {
        return Ok(template);
    }
    // Installed under a unique name first: several processes may install at once.
    let own = cache.join(format!("mariadb-{}", std::process::id()));
    fs::create_dir_all(&own)?;
    let mut install = Command::new("mariadb-install-db");
    install
        .args(["--no-defaults", "--auth-root-authentication-method=socket", "--skip-test-db"])
        .arg(format!("--datadir={}", own.display()));
    if rustix::process::geteuid().is_root() {
        install.arg("--user=root");
    }
    run(&mut install)?;
    if fs::rename(&own, &template).is_err() {
        fs::remove_dir_all(&own)?;
    }
    Ok(template)
}
