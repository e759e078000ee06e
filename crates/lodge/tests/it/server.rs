//! Runs the real binary on its own data folder: starts, requests, stops, kills and restarts.

use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::{Connection, types::FromSql};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{HttpConnection, Request, Response};

/// The longest time that a test waits for a condition.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// A data folder with its settings, for any number of starts.
#[derive(Clone)]
pub(crate) struct Lodge {
    folder: Arc<TempDir>,
    settings: Vec<(String, String)>,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// Exit code, -1 after a signal.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// A process that is killed when it is dropped.
pub(crate) struct Process(pub(crate) Child);

/// A running server.
pub(crate) struct Server {
    process: Process,
    /// The public listener.
    pub(crate) address: SocketAddr,
    /// The listener for metrics and health.
    pub(crate) ops: SocketAddr,
    /// The accounts tier's listener for the web tier, if any.
    pub(crate) wire: Option<SocketAddr>,
    log: Arc<Mutex<Vec<String>>>,
    /// The installation that it serves.
    pub(crate) lodge: Lodge,
}

impl Lodge {
    /// An installation that has never been started.
    pub(crate) fn new() -> Self {
        Self { folder: Arc::new(tempfile::tempdir().unwrap()), settings: Vec::new() }
    }

    /// Adds a setting, named by its environment variable.
    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.settings.retain(|(name, _)| name != variable);
        self.settings.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// Returns the data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns the path of a file next to the data folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file next to the data folder. Returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.file(name);
        std::fs::write(&file, content).unwrap();
        file
    }

    /// Starts the server and waits until it logs that it is ready.
    pub(crate) fn start(&self) -> Server {
        self.start_at(([127, 0, 0, 1], 0).into())
    }

    /// Starts the server. Returns it with the installation.
    pub(crate) fn started(self) -> (Self, Server) {
        let server = self.start();
        (self, server)
    }

    /// Starts the server on this public address.
    pub(crate) fn start_at(&self, address: SocketAddr) -> Server {
        let address = address.to_string();
        let mut process = self
            .command(&["serve", "--listen", &address, "--ops-listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .map(Process)
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = follow(process.0.stderr.take().unwrap(), Arc::clone(&log));
        let [address, ops, wire] = wait_until_ready(&lines);
        // A process without the web role has no public listener.
        let (address, ops) = (address.or(ops).unwrap(), ops.unwrap());
        Server { process, address, ops, wire, log, lodge: self.clone() }
    }

    /// Runs a command on the data folder to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_within(DEADLINE, arguments)
    }

    /// Runs a command to its end, with another deadline.
    pub(crate) fn run_within(&self, deadline: Duration, arguments: &[&str]) -> CommandOutput {
        ended(self.command(arguments).stdout(Stdio::piped()), deadline)
    }

    /// Runs a command to its end, with a file as its standard input.
    pub(crate) fn run_with_input(&self, input: &Path, arguments: &[&str]) -> CommandOutput {
        let input = std::fs::File::open(input).unwrap();
        ended(self.command(arguments).stdin(input).stdout(Stdio::piped()), DEADLINE)
    }

    /// Runs a command whose standard output is a closed pipe.
    pub(crate) fn run_unread(&self, arguments: &[&str]) -> CommandOutput {
        let (reader, unread) = std::io::pipe().unwrap();
        drop(reader);
        ended(self.command(arguments).stdout(unread), DEADLINE)
    }

    /// Runs `lodge admin …`, which must succeed. Returns its output.
    pub(crate) fn admin(&self, arguments: &[&str]) -> String {
        let ran = self.run(&[&["admin"], arguments].concat());
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        ran.out
    }

    /// Runs `lodge admin …`, which must print a list. Returns its rows, without the header.
    pub(crate) fn admin_list(&self, arguments: &[&str]) -> Vec<Vec<String>> {
        let cells = |line: &str| -> Vec<String> {
            let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
            cells.map(str::to_owned).collect()
        };
        let listed = self.admin(arguments);
        let mut lines = listed.lines();
        let titles = cells(lines.next().unwrap());
        assert!(titles.iter().all(|title| title.to_uppercase() == *title), "no header: {listed}");
        let rows: Vec<Vec<String>> = lines.map(cells).collect();
        assert!(rows.iter().all(|row| row.len() == titles.len()), "{listed}");
        rows
    }

    /// Creates an API key. Returns its token.
    pub(crate) fn key(&self, name: &str) -> String {
        self.admin(&["key", "create", name]).trim().to_owned()
    }

    /// Creates a gate. Returns its key.
    pub(crate) fn gate(&self, name: &str, more: &[&str]) -> String {
        let key = self.admin(&[&["gate", "create", name], more].concat()).trim().to_owned();
        assert!(key.starts_with("lodge_gate_") && key.len() == 54, "{key}");
        key
    }

    /// Opens the database directly, next to the server.
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.data().join("lodge.db")).unwrap()
    }

    /// Returns the single value of a database query.
    pub(crate) fn query<T: FromSql>(&self, sql: &str) -> T {
        self.database().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodge"));
        // Settings and a lodge.toml of the developer's environment must not affect the tests.
        command
            .env_clear()
            .current_dir(self.folder.path())
            .env("LODGE_LOG_FORMAT", "json")
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .args(arguments)
            .stdin(Stdio::null());
        // `lodge load` and `lodge breached-passwords` have no data folder, and `lodge move` takes its own.
        if !matches!(arguments.first(), Some(&"load" | &"move" | &"breached-passwords")) {
            command.arg("--data").arg(self.data());
        }
        command
    }
}

/// Runs a command to its end; captures its standard output if it is piped.
fn ended(command: &mut Command, deadline: Duration) -> CommandOutput {
    let mut process = Process(command.stderr(Stdio::piped()).spawn().unwrap());
    let out = process.0.stdout.take().map(read);
    let err = read(process.0.stderr.take().unwrap());
    let code = process.wait(deadline).code().unwrap_or(-1);
    let out = out.map(|out| out.join().unwrap()).unwrap_or_default();
    CommandOutput { code, out, err: err.join().unwrap() }
}

impl CommandOutput {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Asserts the exit code, and that standard output contains each text.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for text in texts {
            assert!(self.out.contains(text), "no {text:?} in {self:?}");
        }
    }

    /// Asserts exit code 1, and that standard error contains `why`.
    #[track_caller]
    pub(crate) fn fails(&self, why: &str) {
        assert!(self.code == 1 && self.err.contains(why), "no {why:?} in {self:?}");
    }

    /// Asserts exit code 0, and that standard output contains `text`.
    #[track_caller]
    pub(crate) fn prints(&self, text: &str) {
        assert!(self.code == 0 && self.out.contains(text), "no {text:?} in {self:?}");
    }
}

/// Reads a process's output to its end.
fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    })
}

/// Stores the server's log, and passes on its lines.
fn follow(stderr: ChildStderr, log: Arc<Mutex<Vec<String>>>) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            log.lock().unwrap().push(line.clone());
            // The receiver is dropped once the server is ready.
            let _ = sender.send(line);
        }
    });
    lines
}

/// Returns the listeners: public, ops, and for the web tier.
fn wait_until_ready(lines: &Receiver<String>) -> [Option<SocketAddr>; 3] {
    let deadline = Instant::now() + DEADLINE;
    let mut said = Vec::new();
    while let Ok(line) = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        let address = |field: &str| {
            event[field].as_str()?.trim_start_matches("http://").parse::<SocketAddr>().ok()
        };
        if event["message"] == "ready" {
            return [address("address"), address("ops"), address("accounts")];
        }
        said.push(line);
    }
    panic!("the server is not ready; its log: {said:#?}");
}

impl Server {
    /// A request to the public listener.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Request {
        Request::new(self.address, method, path)
    }

    pub(crate) fn post(&self, path: &str) -> Request {
        self.ask("POST", path)
    }

    pub(crate) fn put(&self, path: &str) -> Request {
        self.ask("PUT", path)
    }

    pub(crate) fn patch(&self, path: &str) -> Request {
        self.ask("PATCH", path)
    }

    pub(crate) fn delete(&self, path: &str) -> Request {
        self.ask("DELETE", path)
    }

    /// Sends a `GET` to the public listener.
    pub(crate) fn get(&self, path: &str) -> Response {
        self.ask("GET", path).send()
    }

    /// Opens a connection and sends these raw bytes.
    pub(crate) fn send_raw(&self, bytes: &[u8]) -> HttpConnection {
        let mut wire = HttpConnection::connect(self.address).unwrap();
        wire.write(bytes).unwrap();
        wire
    }

    /// Asserts that a `GET` of each path has this status.
    #[track_caller]
    pub(crate) fn get_each(&self, status: u16, paths: &[&str]) {
        for path in paths {
            self.get(path).expect(status);
        }
    }

    /// A request as the browser of a signed-in member sends it.
    pub(crate) fn on_page(&self, token: &str, method: &str, path: &str) -> Request {
        self.ask(method, path).session(token).browser()
    }

    /// Sends a `GET` to the listener for metrics and health.
    pub(crate) fn ops(&self, path: &str) -> Response {
        Request::new(self.ops, "GET", path).send()
    }

    /// Creates a link by the JSON API. Returns the response.
    pub(crate) fn create(&self, link: &Value) -> Value {
        self.post("/api/links").json(link).expect(201).json()
    }

    /// A request for a link with its manage key.
    pub(crate) fn manage(&self, link: &Value, method: &str) -> Request {
        let path = format!("/api/links/{}", link["short"].as_str().unwrap());
        self.ask(method, &path).bearer(link["manage_key"].as_str().unwrap())
    }

    /// Returns a link's click statistics.
    pub(crate) fn clicks(&self, link: &Value, by: &str) -> Value {
        let path = format!("/api/links/{}/clicks?by={by}", link["short"].as_str().unwrap());
        self.ask("GET", &path).bearer(link["manage_key"].as_str().unwrap()).expect(200).json()
    }

    /// Records a ride of a skier in a resort, season and day, at a minute of the day and by a lift.
    pub(crate) fn ride(&self, [resort, season, day, skier]: [u32; 4], time: u32, lift: u32) {
        let path = format!("/skiers/{resort}/seasons/{season}/days/{day}/skiers/{skier}");
        self.post(&path).json(json!({ "time": time, "liftID": lift })).expect(201);
    }

    /// Returns the number of links in the database, in any state.
    pub(crate) fn links_stored(&self) -> usize {
        self.lodge.query("SELECT count(*) FROM links")
    }

    /// Returns the sum of all series of a metric whose line starts with `series`.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        let text = self.ops("/metrics").text();
        let values = text
            .lines()
            .filter(|line| line.starts_with(series))
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        values.sum()
    }

    /// Returns the resident memory in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Returns the peak resident memory in bytes.
    pub(crate) fn memory_peak_bytes(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, field: &str) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
    }

    /// Returns the log so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    /// Sends a signal. After `STOP` it waits until the process has stopped: before that a thread may still
    /// answer.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.process.0.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        if signal == Signal::STOP {
            let (_, status) = waitpid(Some(id), WaitOptions::UNTRACED).unwrap().unwrap();
            assert!(status.stopped(), "{status:?}");
        }
    }

    /// Kills the server with `kill -9`.
    pub(crate) fn kill(mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
    }

    /// Stops the server with `kill -TERM`. Returns the exit code.
    pub(crate) fn stop(self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Kills the server with `kill -9`, and starts it again.
    pub(crate) fn restart_after_kill(self) -> Self {
        let lodge = self.lodge.clone();
        self.kill();
        lodge.start()
    }

    /// Stops the server, which must exit with 0, and starts it again.
    pub(crate) fn restart(self) -> Self {
        let lodge = self.lodge.clone();
        assert_eq!(self.stop(), Some(0));
        lodge.start()
    }

    /// Waits until the process ends. Returns the exit code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.process.wait(DEADLINE).code()
    }
}

impl Process {
    /// Waits until the process ends.
    pub(crate) fn wait(&mut self, deadline: Duration) -> ExitStatus {
        eventually_within(deadline, "the process ends", || self.0.try_wait().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the server's log:\n{}", self.log());
        }
    }
}

/// Waits until `found` returns a value.
pub(crate) fn eventually<T>(what: &str, found: impl FnMut() -> Option<T>) -> T {
    eventually_within(DEADLINE, what, found)
}

/// Waits until `found` returns a value, with another deadline.
pub(crate) fn eventually_within<T>(
    deadline: Duration,
    what: &str,
    mut found: impl FnMut() -> Option<T>,
) -> T {
    let deadline = Instant::now() + deadline;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// Waits until `holds` returns true.
pub(crate) fn eventually_true(what: &str, mut assert_fields: impl FnMut() -> bool) {
    eventually(what, || assert_fields().then_some(()));
}

/// Returns a path as text.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
