//! Running other programs.

use std::{
    ffi::OsStr,
    iter,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// How long a program may take to end on SIGTERM before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Runs a program in the workspace's folder and fails with it.
pub(crate) fn run(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    run_in(&root(), program, arguments, environment)
}

/// Runs a program in a folder and fails with it.
pub(crate) fn run_in(
    folder: &Path,
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<()> {
    let began = Instant::now();
    println!("\n── {program} {}", arguments.join(" "));
    let status = command(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(folder)
        .status();
    let status = status.with_context(|| format!("{program} cannot be run"))?;
    ensure!(status.success(), "{program} {} failed", arguments.join(" "));
    println!("── done in {} s", began.elapsed().as_secs());
    Ok(())
}

/// Runs a program in the workspace's folder and returns what it printed.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String> {
    output_with(program, arguments, &[])
}

/// The same, with further environment variables.
pub(crate) fn output_with(
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<String> {
    let environment = environment.iter().copied();
    printed(command(program).args(arguments).envs(environment).current_dir(root()))
}

/// Runs a command and returns what it printed.
pub(crate) fn printed(command: &mut Command) -> Result<String> {
    let name = line(command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{name} cannot be run"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{name} failed: {text}");
    Ok(text)
}

/// The command line of a command.
fn line(command: &Command) -> String {
    let words = iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// The last commit that changed a file other than Markdown, with a plus if such a file in the work tree
/// differs from it. So the pages that long commands write do not change it.
pub(crate) fn commit() -> Result<String> {
    let of_code = |git: &[&str]| output("git", &[git, &["--", ".", ":!*.md"][..]].concat());
    let commit = of_code(&["log", "-1", "--abbrev=10", "--format=%h"])?;
    let changes = of_code(&["status", "--porcelain"])?;
    let mark = if changes.is_empty() { "" } else { "+" };
    Ok(format!("{}{mark}", commit.trim()))
}

/// A command without the variables that cargo sets for this package: build scripts watch them, so a cargo
/// started from here would rebuild what a cargo started by hand has built.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    let of_package = |name: &String| {
        ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start))
    };
    let inherited = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in inherited.filter(of_package) {
        command.env_remove(name);
    }
    command
}

/// A program that runs until this is dropped.
pub(crate) struct Running {
    child: Child,
    name: String,
}

impl Running {
    /// Starts a program.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = line(command);
        let child = command.spawn().with_context(|| format!("{name} cannot be started"))?;
        Ok(Self { child, name })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Waits at most `patience` until it ends, and fails unless it exits with 0.
    pub(crate) fn wait_for_success(mut self, patience: Duration) -> Result<()> {
        let status = self.end(patience)?;
        ensure!(status.success(), "{} failed: {status}", self.name);
        Ok(())
    }

    /// Sends SIGTERM, waits at most `patience`, and fails unless it exits with 0.
    pub(crate) fn terminate(mut self, patience: Duration) -> Result<()> {
        self.ask_to_end()?;
        self.wait_for_success(patience)
    }

    fn ask_to_end(&mut self) -> Result<()> {
        if !self.has_ended()? {
            kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        }
        Ok(())
    }

    fn end(&mut self, patience: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "{} did not end in {patience:?}", self.name);
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SIGTERM first: the workers of a killed nginx master survive and keep its port.
        if self.ask_to_end().and_then(|()| self.end(STOP_TIMEOUT)).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
