//! The measured Lodge: starting, load and requests.

use std::{
    fmt::Write as _,
    fs,
    net::{Ipv4Addr, SocketAddr},
    ops::Deref,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::{NamedTempFile, TempDir};

use super::{prometheus, wrk};
use crate::{
    http::{Answer, Http},
    process::{self, Running, printed},
};

/// Timeout of starting (on a cluster it may have to create tables first), and of stopping.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Timeout of a load.
const LOAD_MAX: Duration = Duration::from_hours(1);

/// A temporary folder, removed on drop.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    /// Creates a folder.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Builds the measured binary.
pub(crate) fn build() -> Result<()> {
    process::run("cargo", &["build", "--profile", "dist", "--locked", "--package", "lodge"], &[])
}

/// The measured binary.
pub(crate) fn binary() -> PathBuf {
    process::root().join("target/dist/lodge")
}

/// A Lodge with its program, folder, addresses and settings.
#[derive(Clone)]
pub(crate) struct Lodge {
    program: PathBuf,
    generator: PathBuf,
    folder: PathBuf,
    data: PathBuf,
    address: SocketAddr,
    ops: SocketAddr,
    settings: Vec<(String, String)>,
    has_log: bool,
    http: Http,
}

impl Lodge {
    /// The built Lodge with default settings. Its commands run in `folder`; its data folder is `data` there.
    pub(crate) fn new(folder: &Scratch) -> Self {
        Self::of(&binary(), folder.path(""))
    }

    /// A Lodge with another program.
    pub(crate) fn of(program: &Path, folder: PathBuf) -> Self {
        Self {
            program: program.to_owned(),
            generator: program.to_owned(),
            folder,
            data: "data".into(),
            address: local(18_080),
            ops: local(18_090),
            settings: Vec::new(),
            has_log: false,
            http: Http::new(),
        }
    }

    /// The same with another program that generates its load.
    pub(crate) fn loaded_by(self, generator: &Path) -> Self {
        Self { generator: generator.to_owned(), ..self }
    }

    /// The same with another data folder.
    pub(crate) fn data(self, data: impl Into<PathBuf>) -> Self {
        Self { data: data.into(), ..self }
    }

    /// The same at other addresses: the public one, and that of metrics and health.
    pub(crate) fn at(self, address: SocketAddr, ops: SocketAddr) -> Self {
        Self { address, ops, ..self }
    }

    /// The same with one more setting, by the name of its environment variable.
    #[expect(clippy::needless_pass_by_value, reason = "callers pass literals and numbers")]
    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// The same with more settings.
    pub(crate) fn with_all(mut self, settings: Vec<(&str, String)>) -> Self {
        self.settings.extend(settings.into_iter().map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// The same, with its warnings on stderr.
    pub(crate) fn with_log(self) -> Self {
        Self { has_log: true, ..self }.with("LODGE_LOG_FILTER", "warn")
    }

    /// Starts the server, and waits until it is ready.
    pub(crate) fn start(self) -> Result<Server> {
        let mut command = self.command(&self.program);
        command.args(["serve", "--listen", &self.address.to_string()]);
        command.args(["--ops-listen", &self.ops.to_string(), "--data"]).arg(&self.data);
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.stderr(if self.has_log { Stdio::inherit() } else { Stdio::null() });
        let mut server = Server { process: Running::start(&mut command)?, lodge: self };
        let ready = |lodge: &Lodge| {
            let answer = lodge.http.send("GET", lodge.ops, "/health/ready");
            answer.is_some_and(|answer| answer.status == 200)
        };
        server.wait_until("it is ready", ready)?;
        Ok(server)
    }

    /// Creates accounts in the data folder, and sessions of some, whose tokens are in the file `tokens`.
    /// Returns the output of the command.
    pub(crate) fn seed(&self, users: u64, sessions: u64) -> Result<String> {
        let words = format!("accounts-seed --users {users} --sessions {sessions} --tokens tokens");
        let mut command = self.command(&self.program);
        command.arg("load").args(words.split_whitespace()).arg("--data").arg(&self.data);
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        printed(&mut command)
    }

    /// Runs `lodge admin` on the data folder.
    pub(crate) fn admin(&self, words: &str) -> Result<()> {
        let mut command = self.command(&self.program);
        command.args(["admin", "--data"]).arg(&self.data).args(words.split_whitespace());
        printed(&mut command).map(drop)
    }

    /// Imports `count` links `PREFIX0`, `PREFIX1`, … into the running server.
    pub(crate) fn import(&self, prefix: &str, count: u32) -> Result<()> {
        let mut text = String::from("keyword,url\n");
        for number in 0..count {
            writeln!(text, "{prefix}{number},https://example.org/some/path/{number}")?;
        }
        self.write("links.csv", &text)?;
        self.admin("import links.csv --from yourls")
    }

    /// Runs `lodge load` to its end; returns its report. File names are relative to the folder.
    pub(crate) fn load(&self, words: &str) -> Result<Report> {
        self.load_within(LOAD_MAX, words)
    }

    /// The same with a timeout of `patience`.
    pub(crate) fn load_within(&self, patience: Duration, words: &str) -> Result<Report> {
        let json = NamedTempFile::new_in(&self.folder)?;
        let text = NamedTempFile::new_in(&self.folder)?;
        let mut command = self.generate(words);
        command.arg("--json").arg(json.path()).stdout(text.reopen()?);
        let said = || fs::read_to_string(&text).unwrap_or_default();
        Running::start(&mut command)?.wait_for_success(patience).with_context(said)?;
        Ok(Report(serde_json::from_str(&fs::read_to_string(&json)?)?))
    }

    /// Starts a load that runs until the result is dropped.
    pub(crate) fn start_load(&self, words: &str) -> Result<Running> {
        Running::start(self.generate(words).args(["--duration", "1h"]).stdout(Stdio::null()))
    }

    fn generate(&self, words: &str) -> Command {
        let mut command = self.command(&self.generator);
        command.arg("load").args(words.split_whitespace()).args(["--url", &self.url("")]);
        command
    }

    /// Runs `wrk -t2 -c100`, with a script if there is one; fails on an error.
    pub(crate) fn wrk(&self, seconds: u32, script: Option<&str>, path: &str) -> Result<wrk::Run> {
        if let Some(script) = script {
            self.write(wrk::SCRIPT, script)?;
        }
        let script = script.map(|_| self.folder.join(wrk::SCRIPT));
        let run = wrk::run(2, 100, seconds, script.as_deref(), &self.url(path))?;
        ensure!(run.errors == 0.0, "errors at {path}: {run:?}");
        Ok(run)
    }

    /// The path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Writes a file in the folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.folder.join(name);
        fs::write(&file, text)?;
        Ok(file)
    }

    /// Reads a file in the folder.
    pub(crate) fn read(&self, name: &str) -> Result<String> {
        Ok(fs::read_to_string(self.folder.join(name))?)
    }

    /// The public address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends a GET.
    pub(crate) fn get(&self, path: &str) -> Result<Answer> {
        let answer = self.http.send("GET", self.address, path);
        answer.with_context(|| format!("no answer to {path}"))
    }

    /// Its metrics in Prometheus's text format.
    pub(crate) fn metrics(&self) -> Result<String> {
        Ok(self.http.send("GET", self.ops, "/metrics").context("no metrics")?.body)
    }

    /// The sum of a metric over its labels; `None` if no line begins with `line_start`.
    pub(crate) fn metric(&self, line_start: &str) -> Result<Option<f64>> {
        Ok(prometheus::sum(&self.metrics()?, line_start))
    }

    /// A counter, which must exist.
    pub(crate) fn counter(&self, line_start: &str) -> Result<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it counts")]
        let whole = |value: f64| value as u64;
        self.metric(line_start)?.map(whole).with_context(|| format!("no metric {line_start}"))
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }
}

/// A running Lodge, which is stopped on drop.
pub(crate) struct Server {
    process: Running,
    lodge: Lodge,
}

impl Deref for Server {
    type Target = Lodge;

    fn deref(&self) -> &Lodge {
        &self.lodge
    }
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Fails if the process has ended.
    pub(crate) fn must_run(&mut self) -> Result<()> {
        let address = self.lodge.address;
        ensure!(!self.process.has_ended()?, "the Lodge at {address} has ended; is its port free?");
        Ok(())
    }

    /// Waits until `holds`, and fails with `what` after a timeout.
    pub(crate) fn wait_until(&mut self, what: &str, holds: impl Fn(&Lodge) -> bool) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while !holds(&self.lodge) {
            self.must_run()?;
            ensure!(Instant::now() < deadline, "{what}: not within {START_TIMEOUT:?}");
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Stops it with SIGTERM, and fails unless it exits with 0.
    pub(crate) fn terminate(self) -> Result<Lodge> {
        self.process.terminate(START_TIMEOUT)?;
        Ok(self.lodge)
    }
}

/// The report of a load generator.
pub(crate) struct Report(pub(crate) Value);

impl Report {
    /// The figure at a JSON pointer.
    pub(crate) fn number(&self, pointer: &str) -> Result<f64> {
        let number = self.0.pointer(pointer).and_then(Value::as_f64);
        number.with_context(|| format!("the report has no {pointer}"))
    }

    /// The figures at several JSON pointers.
    pub(crate) fn numbers<const N: usize>(&self, pointers: [&str; N]) -> Result<[f64; N]> {
        let mut numbers = [0.0; N];
        for (number, pointer) in numbers.iter_mut().zip(pointers) {
            *number = self.number(pointer)?;
        }
        Ok(numbers)
    }

    /// Fails if the figures at `place` count errors.
    pub(crate) fn without_errors(self, place: &str) -> Result<Self> {
        let errors = self.number(&format!("{place}/errors"))?;
        ensure!(errors == 0.0, "errors: {:?}", self.0.pointer(place));
        Ok(self)
    }
}

/// A port on this machine.
pub(crate) fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
