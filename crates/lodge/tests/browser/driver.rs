//! A browser's driver, which starts the browser and steers it.

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

/// Starts the driver, and when the tests are gone, however they went, kills the group that this
/// shell, the driver and its browsers are in.
const KEEPER: &str = r#""$0" --port=0 & exec >&- 2>&-; read -r _; kill -s KILL 0"#;

/// What Firefox says before a script's error, the address of a page's script included.
const ERROR: &str = "JavaScript error: http";

/// How often a driver is started for one browser.
const STARTS_MAX: usize = 3;

/// How long what was killed may still write to the profile.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// A driver with the browser that it starts. Both are gone when it is dropped.
pub(crate) struct Driver {
    keeper: Child,
    /// Where the driver listens.
    pub(crate) url: String,
    /// Errors of pages' scripts that the browser itself said, as only Firefox does.
    pub(crate) errors: Arc<Mutex<Vec<String>>>,
    /// The browser's own folder, empty at first.
    pub(crate) profile: TempDir,
}

impl Driver {
    /// Starts one on a port that is free.
    pub(crate) fn start(engine: Engine) -> Self {
        // A driver looks for a port that is free, and ends where somebody else had it sooner.
        let started = (0..STARTS_MAX).find_map(|_| Self::try_start(engine));
        started.unwrap_or_else(|| panic!("{} says no port", engine.driver()))
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

/// Reads what the driver and its browser say to the end: one that cannot write ends.
fn follow(engine: Engine, output: PipeReader, errors: Arc<Mutex<Vec<String>>>) -> Receiver<u16> {
    let (port, ports): (Sender<u16>, _) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(found) = engine.port(&line) {
                // Nobody waits for a second one.
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

/// Where a program is that these tests cannot do without.
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
