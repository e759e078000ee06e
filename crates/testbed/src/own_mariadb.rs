//! A MariaDB server for one test or benchmark: to be killed, to be suspended, or to run out of disk space.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    Authority, Mariadb,
    files::write_secret,
    mariadb::USER,
    process::{run, wait_until},
};

/// Its only database, which every server creates; it is empty at first.
const DATABASE: &str = "lodge";

/// The password of its users.
const PASSWORD: &str = "wz9-right-password";

/// The longest start of the server.
const START: Duration = Duration::from_mins(1);

/// The longest stop of the server, which may have gigabytes to write.
const STOP: Duration = Duration::from_mins(3);

/// Starts a server on a tmpfs in a mount namespace of its own. The arguments are the size of the tmpfs, the folder of
/// the server, and the command.
const ON_SMALL_DISK: &str = "mount -t tmpfs -o size=$1 tmpfs /mnt && cp -a \"$2/.\" /mnt && \
                             mount --bind /mnt \"$2\" && shift 2 && exec \"$@\"";

/// The size of the small disk in bytes: the server's own files need about a third.
const SMALL_DISK: usize = 256 << 20;

/// The bytes of one write to the small disk.
const PAGE: usize = 4096;

/// A server on a port of 127.0.0.1, which ends when this is dropped.
pub struct OwnMariadb {
    server: Mariadb,
    process: Option<Child>,
    folder: PathBuf,
    on_small_disk: bool,
}

impl OwnMariadb {
    /// Starts a server with its files in `folder`, which may have been used before, from an installation that is kept in
    /// `cache`.
    pub fn start(folder: &Path, cache: &Path) -> Result<Self> {
        Self::start_on(folder, cache, false)
    }

    /// Starts a server on a small disk, for [`Self::fill_disk`]. Fails without the right to mount, which root has.
    pub fn start_on_small_disk(folder: &Path, cache: &Path) -> Result<Self> {
        Self::start_on(folder, cache, true)
    }

    fn start_on(folder: &Path, cache: &Path, on_small_disk: bool) -> Result<Self> {
        let folder = folder.canonicalize()?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let server = Mariadb::new(folder.join("server"), address);
        let mut own = Self { server, process: None, folder, on_small_disk };
        own.authority().make([Ipv4Addr::LOCALHOST.into()])?;
        own.server.prepare(cache, PASSWORD, Some(&own.authority()))?;
        write_secret(&own.password_file(), PASSWORD)?;
        own.start_again()?;
        Ok(own)
    }

    /// Starts it after [`Self::kill`]; on a small disk, without its data. Fails if it does not start in time.
    pub fn start_again(&mut self) -> Result<()> {
        let command = self.server.command();
        let mut command = if self.on_small_disk { self.with_small_disk(&command) } else { command };
        let log = self.folder.join("log");
        let mut process =
            command.stderr(File::create(&log)?).spawn().context("cannot start MariaDB")?;
        let mut has_ended = || !matches!(process.try_wait(), Ok(None));
        let started =
            wait_until("the start of MariaDB", START, || has_ended() || self.server.is_ready());
        let ended = has_ended();
        self.process = Some(process);
        started?;
        ensure!(!ended, "MariaDB ended: {}", fs::read_to_string(&log)?);
        Ok(())
    }

    fn with_small_disk(&self, server: &Command) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", ON_SMALL_DISK, "sh"]).arg(SMALL_DISK.to_string());
        command.arg(self.folder.join("server")).arg(server.get_program()).args(server.get_args());
        command
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            process.kill()?;
            process.wait()?;
        }
        Ok(())
    }

    /// Stops it, so that it has written everything to its files. Fails if it does not end in time.
    pub fn stop(mut self) -> Result<()> {
        self.signal(Signal::TERM)?;
        let process = self.process.as_mut().context("MariaDB does not run")?;
        wait_until("the end of MariaDB", STOP, || !matches!(process.try_wait(), Ok(None)))?;
        ensure!(process.wait()?.success(), "MariaDB did not end cleanly");
        Ok(())
    }

    /// Sets a global variable until the next start.
    pub fn set(&self, variable: &str, value: u64) -> Result<()> {
        run(&mut self.server.client(&format!("SET GLOBAL {variable} = {value}"), PASSWORD))
    }

    /// Returns the size of the database's files, in bytes.
    pub fn bytes(&self) -> Result<u64> {
        self.server.bytes_of(DATABASE)
    }

    /// Suspends it: it accepts connections and never answers.
    pub fn suspend(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Ends [`Self::suspend`].
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.pid()?)?).context("not a process")?;
        Ok(kill_process(pid, signal)?)
    }

    fn pid(&self) -> Result<u32> {
        Ok(self.process.as_ref().context("MariaDB does not run")?.id())
    }

    /// Ends all connections of [`USER`] with KILL.
    pub fn kill_connections(&self) -> Result<()> {
        run(&mut self.server.client(&format!("KILL USER {USER}"), PASSWORD))
    }

    /// Returns the number of connections of [`USER`].
    pub fn connections(&self) -> Result<usize> {
        let counted =
            format!("SELECT id FROM information_schema.processlist WHERE user = '{USER}'");
        let output = self.server.client(&counted, PASSWORD).output()?;
        ensure!(output.status.success(), "cannot count the connections");
        Ok(String::from_utf8_lossy(&output.stdout).lines().count())
    }

    /// Fills the small disk. Fails if the server is on the disk of the machine.
    pub fn fill_disk(&self) -> Result<()> {
        ensure!(self.on_small_disk, "the server is not on a small disk");
        let mut file = File::create(self.filler()?)?;
        for _ in 0..SMALL_DISK / PAGE {
            match file.write_all(&[0; PAGE]) {
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                written => written?,
            }
        }
        bail!("the small disk is larger than it should be")
    }

    /// Ends [`Self::fill_disk`].
    pub fn free_disk(&self) -> Result<()> {
        Ok(fs::remove_file(self.filler()?)?)
    }

    /// Returns the path of a file on the small disk, as seen from outside.
    fn filler(&self) -> Result<PathBuf> {
        let folder = self.folder.join("server");
        let folder = folder.strip_prefix("/").context("not an absolute path")?;
        Ok(Path::new("/proc")
            .join(self.pid()?.to_string())
            .join("root")
            .join(folder)
            .join("filler"))
    }

    /// Returns its address, as `host:port`.
    pub fn address(&self) -> String {
        self.server.address().to_string()
    }

    /// Returns the name of its database.
    pub fn database(&self) -> &'static str {
        DATABASE
    }

    /// Returns the password of its users.
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// Returns a file with the password.
    pub fn password_file(&self) -> PathBuf {
        self.folder.join("password")
    }

    /// Returns the authority of its certificate.
    pub fn authority(&self) -> Authority {
        Authority::at(self.folder.join("tls"))
    }
}

impl Drop for OwnMariadb {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
