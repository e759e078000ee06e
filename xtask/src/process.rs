//! Running other programs.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Runs a program in the workspace's folder and fails with it.
pub(crate) fn run(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let began = Instant::now();
    println!("\n── {program} {}", arguments.join(" "));
    let status = command(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root())
        .status();
    let status = status.with_context(|| format!("{program} cannot be run"))?;
    if !status.success() {
        bail!("{program} {} failed", arguments.join(" "));
    }
    println!("── done in {} s", began.elapsed().as_secs());
    Ok(())
}

/// Runs a program and returns what it printed.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let output =
        command(program).args(arguments).current_dir(root()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{program} cannot be run"))?;
    if !output.status.success() {
        bail!(
            "{program} {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stdout)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last commit that changed anything but documents, with a plus if the work tree differs from it.
pub(crate) fn commit() -> Result<String> {
    let of_code =
        |git: &[&str]| output("git", &[git, &["--", ".", ":!docs", ":!*.md"][..]].concat());
    let commit = of_code(&["log", "-1", "--abbrev=10", "--format=%h"])?;
    let changes = of_code(&["status", "--porcelain"])?;
    let mark = if changes.is_empty() { "" } else { "+" };
    Ok(format!("{}{mark}", commit.trim()))
}

/// A program without what cargo tells this one of its own package: where a build script watches that, a
/// cargo that is run from here would build again what one that is run by hand has built.
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
pub(crate) struct Running(Child);

impl Running {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = format!("{command:?}");
        Ok(Self(command.spawn().with_context(|| format!("{name} cannot be started"))?))
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Asks it to end, and waits at most `patience`.
    pub(crate) fn terminate(mut self, patience: Duration) -> Result<()> {
        self.ask_to_end(patience)
    }

    fn ask_to_end(&mut self, patience: Duration) -> Result<()> {
        output("kill", &["-TERM", &self.pid().to_string()])?;
        let deadline = Instant::now() + patience;
        while self.0.try_wait()?.is_none() {
            if Instant::now() > deadline {
                bail!("process {} did not end in {patience:?}", self.pid());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Asked first: a master that is killed leaves its workers behind, and they keep its port.
        if matches!(self.0.try_wait(), Ok(None))
            && self.ask_to_end(Duration::from_secs(15)).is_err()
        {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}
