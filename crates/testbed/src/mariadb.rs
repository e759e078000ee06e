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
    files::copy,
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
}

impl Mariadb {
    /// Refers to the server with its files in `folder`.
    pub fn new(folder: impl Into<PathBuf>, address: SocketAddr) -> Self {
        Self { folder: folder.into(), address }
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Creates the server's files from a fresh installation, which is created once and cached in `cache`. At each start
    /// the server creates the users [`USER`] and [`ADMIN`], if absent, with `password`; [`USER`] may use databases whose
    /// names begin with `lodge`. Fails if the installation fails.
    pub fn prepare(&self, cache: &Path, password: &str, tls: Option<&Authority>) -> Result<()> {
        let template = template(cache)?;
        fs::create_dir_all(&self.folder)?;
        copy(&template, &self.data())?;
        let certificates = tls.map_or_else(String::new, |tls| {
            format!(
                "ssl_cert = {}\nssl_key = {}\nssl_ca = {}\n",
                tls.certificate().display(),
                tls.key().display(),
                tls.root().display()
            )
        });
        let (data, folder) = (self.data(), self.folder.display());
        // The length of socket paths is limited: this one is relative to the data folder.
        let text = format!(
            "[mariadbd]\ndatadir = {}\nsocket = socket\npid_file = pid\n\
             bind_address = {}\nport = {}\nskip_name_resolve\ninit_file = {folder}/init.sql\n\
             innodb_flush_log_at_trx_commit = 1\nlog_bin = {folder}/binlog\nsync_binlog = 1\nserver_id = 1\n\
             innodb_buffer_pool_size = 64M\ninnodb_log_file_size = 16M\nperformance_schema = OFF\n\
             max_connections = 500\n{certificates}",
            data.display(),
            self.address.ip(),
            self.address.port(),
        );
        fs::write(self.folder.join("my.cnf"), text)?;
        let init = format!(
            "CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{password}';\n\
             REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{USER}'@'%';\n\
             GRANT {PRIVILEGES} ON `lodge%`.* TO '{USER}'@'%';\n\
             CREATE USER IF NOT EXISTS '{ADMIN}'@'%' IDENTIFIED BY '{password}';\n\
             GRANT ALL ON *.* TO '{ADMIN}'@'%';\n"
        );
        Ok(fs::write(self.folder.join("init.sql"), init)?)
    }

    /// Returns the command that starts the server.
    pub fn command(&self) -> Command {
        let mut command = Command::new("/usr/sbin/mariadbd");
        command.arg(format!("--defaults-file={}", self.folder.join("my.cnf").display()));
        if rustix::process::geteuid().is_root() {
            command.arg("--user=root");
        }
        command
    }

    /// Creates a database, whose name begins with `lodge`. Fails if it exists or the server is down.
    pub fn create_database(&self, name: &str, password: &str) -> Result<()> {
        let mut client = Command::new("mariadb");
        client
            .arg("--no-defaults")
            .args(["--host", &self.address.ip().to_string(), "--user", ADMIN])
            .args(["--port", &self.address.port().to_string()])
            .args(["--execute", &format!("CREATE DATABASE {name}")])
            .env("MYSQL_PWD", password);
        run(&mut client)
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
