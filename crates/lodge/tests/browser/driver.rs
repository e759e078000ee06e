//! A WebDriver process, which starts and controls a browser.

use std::{
    env, fs,
    io::{BufRead, BufReader, PipeReader, pipe},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::{engine::Engine, server::DEADLINE};

/// A shell script that starts the driver. When the test process ends for any reason, its standard input closes, and
/// it kills the process group of itself, the driver and the browsers.
const KEEPER: &str = r#""$0" --port=0 & exec >&- 2>&-; read -r _; kill -s KILL 0"#;

/// The start of Firefox's log lines about errors in scripts of pages.
const ERROR: &str = "JavaScript error: http";

/// The maximum number of attempts to start a driver.
const STARTS_MAX: usize = 3;

/// The time during which killed processes may still write to the profile.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// A driver and its browser. Dropping it kills both.
pub(crate) struct Driver {
    keeper: Child,
    /// The base URL of the driver.
    pub(crate) url: String,
    /// Script errors that the browser printed; only Firefox prints them.
    pub(crate) errors: Arc<Mutex<Vec<String>>>,
    /// The browser's profile folder, empty at first.
    pub(crate) profile: TempDir,
}

impl Driver {
    /// Starts a driver on a free port.
    pub(crate) fn start(engine: Engine) -> Self {
        // A driver picks a free port, and exits if another process binds the port first.
        let started = (0..STARTS_MAX).find_map(|_| Self::try_start(engine));
        started.unwrap_or_else(|| panic!("{} did not report a port", engine.driver()))
    }

    fn try_start(engine: Engine) -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        let (output, said) = pipe().unwrap();
        let keeper = Command::new("sh")
            .args(["-c", KEEPER])
            .arg(installed(engine.driver()))
            .env("HOME", profile.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .spawn()
            .unwrap();
        let errors = Arc::default();
        let port = follow(engine, output, Arc::clone(&errors));
        let mut driver = Self { keeper, url: String::new(), errors, profile };
        let port = port.recv_timeout(DEADLINE).ok()?;
        driver.url = format!("http://127.0.0.1:{port}");
        Some(driver)
    }
}

/// Reads the output of the driver and its browser to the end; a closed pipe would end them.
fn follow(engine: Engine, output: PipeReader, errors: Arc<Mutex<Vec<String>>>) -> Receiver<u16> {
    let (port, ports): (Sender<u16>, _) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(found) = engine.port(&line) {
                // The receiver takes only the first port.
                let _ = port.send(found);
            } else if line.contains(ERROR) {
                errors.lock().push(line);
            }
        }
    });
    ports
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

/// Returns the path of a required program; panics if it is not installed.
pub(crate) fn installed(program: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .unwrap_or_else(|| {
            panic!(
                "{program} is not installed; cargo xtask test installs Chromium and its driver, and \
                 cargo xtask nightly Firefox and its driver"
            )
        })
}
