//! Processes that outlive the program that started them.

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpStream},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, setpriority_process};

/// A process, identified by its id and its start time: ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tracked {
    pid: u32,
    /// The start time in clock ticks since boot.
    started: u64,
}

impl Tracked {
    /// Starts a program in a process group of its own and writes its id and start time to the file `record`.
    pub(crate) fn start(command: &mut Command, log: &Path, record: &Path) -> Result<Self> {
        let output = File::options().create(true).append(true).open(log)?;
        let error_output = output.try_clone()?;
        command.stdin(Stdio::null()).stdout(output).stderr(error_output).process_group(0);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        let pid = child.id();
        let (_, started) =
            state_and_start(pid).with_context(|| format!("{program} exited at once"))?;
        // Reaps the process, so that it does not stay a zombie while this program runs.
        thread::spawn(move || child.wait());
        fs::write(record, format!("{pid} {started}"))?;
        Ok(Self { pid, started })
    }

    /// Returns the process in a record, if it is alive.
    pub(crate) fn find(record: &Path) -> Option<Self> {
        let text = fs::read_to_string(record).ok()?;
        let (pid, started) = text.split_once(' ')?;
        let tracked = Self { pid: pid.parse().ok()?, started: started.parse().ok()? };
        tracked.is_alive().then_some(tracked)
    }

    pub(crate) fn pid(self) -> u32 {
        self.pid
    }

    pub(crate) fn is_alive(self) -> bool {
        state_and_start(self.pid)
            .is_some_and(|(state, started)| started == self.started && state != 'Z')
    }

    /// Sets the niceness of every thread of the process, if permitted: 0 is the default, 19 the lowest priority.
    pub(crate) fn set_niceness(self, niceness: i32) {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten();
        let ids = threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok());
        for thread in ids.filter_map(Pid::from_raw) {
            let _ = setpriority_process(Some(thread), niceness);
        }
    }

    /// Sends a signal if the process is alive.
    pub(crate) fn signal(self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.is_alive()) {
            kill_process(pid, signal).with_context(|| format!("process {}", self.pid))?;
        }
        Ok(())
    }

    /// Waits until the process has ended.
    pub(crate) fn wait_gone(self, patience: Duration) -> Result<()> {
        wait_until(&format!("the end of process {}", self.pid), patience, || !self.is_alive())
    }
}

/// Returns a process's state letter and start time (fields 3 and 22 of `/proc/PID/stat`).
fn state_and_start(pid: u32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.nth(18)?.parse().ok()?))
}

/// Runs a program to its end; fails if the program fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let (out, err) = (output.stdout.trim_ascii(), output.stderr.trim_ascii());
        bail!("{name}: {}\n{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    }
    Ok(())
}

/// Polls a condition until it holds; fails if that takes longer than `patience`.
pub fn wait_until(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) -> Result<()> {
    let deadline = Instant::now() + patience;
    while !holds() {
        if Instant::now() > deadline {
            bail!("{what} took more than {} s", patience.as_secs());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Whether a process accepts connections at an address.
pub(crate) fn listens(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok()
}
