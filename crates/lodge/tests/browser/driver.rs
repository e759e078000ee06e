//! Chromium's driver, which starts the browser and steers it.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// What Chromium's driver says before the port that it took.
const STARTED: &str = "started successfully on port ";

/// Starts the driver, and when the tests are gone, however they went, kills the group that this
/// shell, the driver and its browsers are in.
const KEEPER: &str = r#""$0" --port=0 & exec >&-; read -r _; kill -s KILL 0"#;

/// How long what was killed may still write to the profile.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// A driver with the browser that it starts. Both are gone when it is dropped.
pub(crate) struct Driver {
    keeper: Child,
    /// Where the driver listens.
    pub(crate) url: String,
    /// Kept, because a driver that cannot write to it ends.
    _output: BufReader<ChildStdout>,
    /// The browser's own folder, empty at first.
    pub(crate) profile: TempDir,
}

impl Driver {
    /// Starts one on a port that is free.
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER])
            .arg(installed("chromedriver"))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(keeper.stdout.take().unwrap());
        let port =
            output.by_ref().lines().map_while(Result::ok).find_map(|line| {
                Some(line.split_once(STARTED)?.1.trim_end_matches('.').to_owned())
            });
        let url = port.map(|port| format!("http://127.0.0.1:{port}")).unwrap_or_default();
        let driver = Self { keeper, url, _output: output, profile };
        assert!(!driver.url.is_empty(), "chromedriver did not say on which port it listens");
        driver
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.keeper.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.keeper.wait();
        let deadline = Instant::now() + LAST_WRITES;
        let profile = self.profile.path();
        while profile.exists() && fs::remove_dir_all(profile).is_err() && Instant::now() < deadline
        {
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}

/// Where a program is that these tests cannot do without.
pub(crate) fn installed(program: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .unwrap_or_else(|| {
            panic!(
                "{program} is not installed; the browser tests need Chromium and its driver: \
                 apt-get install chromium chromium-driver, or let cargo xtask test do it"
            )
        })
}
