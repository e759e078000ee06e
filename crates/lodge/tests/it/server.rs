//! The real binary on a data folder of its own: started, asked, stopped, killed, started again.

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

use crate::client::{Answer, Ask, Wire};

/// How long anything that is waited for may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// A data folder and its settings, over any number of starts.
#[derive(Clone)]
pub(crate) struct Lodge {
    folder: Arc<TempDir>,
    settings: Vec<(String, String)>,
}

/// What a command that ended left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit code.
    pub(crate) code: i32,
    /// Its standard output.
    pub(crate) out: String,
    /// Its standard error.
    pub(crate) err: String,
}

/// A process that is killed when it is dropped.
pub(crate) struct Process(pub(crate) Child);

/// A server that runs.
pub(crate) struct Server {
    process: Process,
    /// Its public listener.
    pub(crate) address: SocketAddr,
    /// Its listener for metrics and health.
    pub(crate) ops: SocketAddr,
    /// Its listener for the web tier, if it has one.
    pub(crate) wire: Option<SocketAddr>,
    log: Arc<Mutex<Vec<String>>>,
    /// The installation that it serves.
    pub(crate) lodge: Lodge,
}

impl Lodge {
    /// An installation that nobody has started yet.
    pub(crate) fn new() -> Self {
        Self { folder: Arc::new(tempfile::tempdir().unwrap()), settings: Vec::new() }
    }

    /// The same with a setting more, named as an environment variable.
    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.settings.retain(|(name, _)| name != variable);
        self.settings.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// Its data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A place for a file beside the data folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file beside the data folder; its place.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.file(name);
        std::fs::write(&file, content).unwrap();
        file
    }

    /// Starts the server and waits until it says that it is ready.
    pub(crate) fn start(&self) -> Server {
        self.start_at(([127, 0, 0, 1], 0).into())
    }

    /// The installation, and the server that was started on it.
    pub(crate) fn started(self) -> (Self, Server) {
        let server = self.start();
        (self, server)
    }

    /// The same, on an address of its own choice.
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
        // A process that does not answer the public has no public listener.
        let (address, ops) = (address.or(ops).unwrap(), ops.unwrap());
        Server { process, address, ops, wire, log, lodge: self.clone() }
    }

    /// Runs a command on the data folder to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_within(DEADLINE, arguments)
    }

    /// The same, with what may take another time than other commands.
    pub(crate) fn run_within(&self, deadline: Duration, arguments: &[&str]) -> Ran {
        ended(self.command(arguments).stdout(Stdio::piped()), deadline)
    }

    /// Runs a command whose standard output nobody reads.
    pub(crate) fn run_unread(&self, arguments: &[&str]) -> Ran {
        let (reader, unread) = std::io::pipe().unwrap();
        drop(reader);
        ended(self.command(arguments).stdout(unread), DEADLINE)
    }

    /// Runs `lodge admin …`, which must succeed; what it printed.
    pub(crate) fn admin(&self, arguments: &[&str]) -> String {
        let ran = self.run(&[&["admin"], arguments].concat());
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        ran.out
    }

    /// Makes an API key; its token.
    pub(crate) fn key(&self, name: &str) -> String {
        self.admin(&["key", "create", name]).trim().to_owned()
    }

    /// Makes a gate; its key.
    pub(crate) fn gate(&self, name: &str, more: &[&str]) -> String {
        let key = self.admin(&[&["gate", "create", name], more].concat()).trim().to_owned();
        assert!(key.starts_with("lodge_gate_") && key.len() == 54, "{key}");
        key
    }

    /// The database, opened beside the server to look at it.
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.data().join("lodge.db")).unwrap()
    }

    /// The one value that a query of the database finds.
    pub(crate) fn query<T: FromSql>(&self, sql: &str) -> T {
        self.database().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodge"));
        // A setting or a lodge.toml of whoever runs the tests is none of theirs.
        command
            .env_clear()
            .current_dir(self.folder.path())
            .env("LODGE_LOG_FORMAT", "json")
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .args(arguments)
            .stdin(Stdio::null());
        // `lodge load` knows no data folder, and `lodge move` names its own.
        if !matches!(arguments.first(), Some(&"load" | &"move")) {
            command.arg("--data").arg(self.data());
        }
        command
    }
}

/// Runs a command to its end; its standard output is kept if it is piped.
fn ended(command: &mut Command, deadline: Duration) -> Ran {
    let mut process = Process(command.stderr(Stdio::piped()).spawn().unwrap());
    let out = process.0.stdout.take().map(read);
    let err = read(process.0.stderr.take().unwrap());
    let code = process.wait(deadline).code().unwrap_or(-1);
    let out = out.map(|out| out.join().unwrap()).unwrap_or_default();
    Ran { code, out, err: err.join().unwrap() }
}

impl Ran {
    /// The same, which must have this exit code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// It must have this exit code, and have printed each of these texts.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for text in texts {
            assert!(self.out.contains(text), "no {text:?} in {self:?}");
        }
    }

    /// It must have failed, and said why.
    #[track_caller]
    pub(crate) fn fails(&self, why: &str) {
        assert!(self.code == 1 && self.err.contains(why), "no {why:?} in {self:?}");
    }

    /// It must have done what it was to do, and printed this.
    #[track_caller]
    pub(crate) fn prints(&self, text: &str) {
        assert!(self.code == 0 && self.out.contains(text), "no {text:?} in {self:?}");
    }
}

/// Reads all that a process prints, however it ends.
fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    })
}

/// Keeps the server's log, and hands on its lines.
fn follow(stderr: ChildStderr, log: Arc<Mutex<Vec<String>>>) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            log.lock().unwrap().push(line.clone());
            // Nobody listens any more once it is ready.
            let _ = sender.send(line);
        }
    });
    lines
}

/// Its listeners: the public one, that for operators, and that for the web tier.
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
    panic!("the server is not ready; it said {said:#?}");
}

impl Server {
    /// A request to the public listener.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask {
        Ask::new(self.address, method, path)
    }

    /// A `POST` to be.
    pub(crate) fn post(&self, path: &str) -> Ask {
        self.ask("POST", path)
    }

    /// A `PUT` to be.
    pub(crate) fn put(&self, path: &str) -> Ask {
        self.ask("PUT", path)
    }

    /// A `PATCH` to be.
    pub(crate) fn patch(&self, path: &str) -> Ask {
        self.ask("PATCH", path)
    }

    /// A `DELETE` to be.
    pub(crate) fn delete(&self, path: &str) -> Ask {
        self.ask("DELETE", path)
    }

    /// `GET` from the public listener, sent at once.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).send()
    }

    /// A connection on which these bytes were sent as they are.
    pub(crate) fn send_raw(&self, bytes: &[u8]) -> Wire {
        let mut wire = Wire::connect(self.address).unwrap();
        wire.write(bytes).unwrap();
        wire
    }

    /// `GET` of each path must have this status.
    #[track_caller]
    pub(crate) fn get_each(&self, status: u16, paths: &[&str]) {
        for path in paths {
            self.get(path).expect(status);
        }
    }

    /// What the browser of somebody who is signed in asks for.
    pub(crate) fn on_page(&self, token: &str, method: &str, path: &str) -> Ask {
        self.ask(method, path).session(token).browser()
    }

    /// `GET` from the listener for metrics and health.
    pub(crate) fn ops(&self, path: &str) -> Answer {
        Ask::new(self.ops, "GET", path).send()
    }

    /// Creates a link through the JSON API; what came back.
    pub(crate) fn create(&self, link: &Value) -> Value {
        self.post("/api/links").json(link).expect(201).json()
    }

    /// A request about a link by the holder of its manage key.
    pub(crate) fn manage(&self, link: &Value, method: &str) -> Ask {
        let path = format!("/api/links/{}", link["short"].as_str().unwrap());
        self.ask(method, &path).bearer(link["manage_key"].as_str().unwrap())
    }

    /// How often a link was followed, as its maker is told.
    pub(crate) fn clicks(&self, link: &Value, by: &str) -> Value {
        let path = format!("/api/links/{}/clicks?by={by}", link["short"].as_str().unwrap());
        self.ask("GET", &path).bearer(link["manage_key"].as_str().unwrap()).expect(200).json()
    }

    /// Lets a skier ride: at a resort, in a season, on a day; at a minute of it, by a lift.
    pub(crate) fn ride(&self, [resort, season, day, skier]: [u32; 4], time: u32, lift: u32) {
        let path = format!("/skiers/{resort}/seasons/{season}/days/{day}/skiers/{skier}");
        self.post(&path).json(json!({ "time": time, "liftID": lift })).expect(201);
    }

    /// Links in the database, whatever has become of them.
    pub(crate) fn links_stored(&self) -> usize {
        self.lodge.query("SELECT count(*) FROM links")
    }

    /// What a metric says; all of its series together.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        let text = self.ops("/metrics").text();
        let values = text
            .lines()
            .filter(|line| line.starts_with(series))
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        values.sum()
    }

    /// Resident memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The most resident memory that it ever had, in bytes.
    pub(crate) fn memory_peak_bytes(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, field: &str) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
    }

    /// What it logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    /// Sends a signal. After a `STOP` it has stopped: until then a thread may still answer.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.process.0.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        if signal == Signal::STOP {
            let (_, status) = waitpid(Some(id), WaitOptions::UNTRACED).unwrap().unwrap();
            assert!(status.stopped(), "{status:?}");
        }
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
    }

    /// `kill -TERM`; the exit code.
    pub(crate) fn stop(self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Kills it with `kill -9`; the server that is started in its place.
    pub(crate) fn restart_after_kill(self) -> Self {
        let lodge = self.lodge.clone();
        self.kill();
        lodge.start()
    }

    /// Stops it, which it must do well; the server that is started in its place.
    pub(crate) fn restart(self) -> Self {
        let lodge = self.lodge.clone();
        assert_eq!(self.stop(), Some(0));
        lodge.start()
    }

    /// Waits for its end; the exit code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.process.wait(DEADLINE).code()
    }
}

impl Process {
    /// Waits for its end.
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

/// Waits until `found` finds something.
pub(crate) fn eventually<T>(what: &str, found: impl FnMut() -> Option<T>) -> T {
    eventually_within(DEADLINE, what, found)
}

/// The same, with another deadline.
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

/// Waits until `holds`.
pub(crate) fn eventually_true(what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || holds().then_some(()));
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
