//! The two tiers and the load on them: processes of this binary, in a folder that goes with them.

use std::{
    env, fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use lodge_domain::{OsRandom, Random as _};
use lodge_load::prometheus::Histograms;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{
    ExperimentOptions,
    points::{People, Point},
};

/// How long the tiers may take until they answer, and to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often it is looked whether they do.
const LOOK: Duration = Duration::from_millis(20);

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// Connections that sign in.
const SIGN_IN_CONNECTIONS: u32 = 4;

/// The files with what came of the reads, and of the sign-ins beside them.
const READS: &str = "reads.json";
const SIGN_INS: &str = "sign-ins.json";

/// Where and with what to run.
pub(super) struct Bench {
    program: PathBuf,
    /// For what the processes need and leave.
    folder: PathBuf,
    data: PathBuf,
    tokens: PathBuf,
    users: u64,
    duration: Duration,
    sign_ins: u32,
    public: SocketAddr,
    public_ops: SocketAddr,
    wire: SocketAddr,
    wire_ops: SocketAddr,
}

/// What one run came to.
pub(super) struct Run {
    /// The load generator's report.
    pub(super) report: Value,
    /// What went through each section meanwhile.
    pub(super) sections: Histograms,
}

impl Bench {
    pub(super) fn new(options: &ExperimentOptions) -> Result<Self> {
        let folder = env::temp_dir().join(format!("lodge-load-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let mut key = [0; 32];
        OsRandom.fill(&mut key);
        fs::write(folder.join("key"), key)?;
        let at = |offset| SocketAddr::from(([127, 0, 0, 1], options.port + offset));
        Ok(Self {
            program: env::current_exe()?,
            folder,
            data: fs::canonicalize(&options.data)?,
            tokens: fs::canonicalize(&options.tokens)
                .with_context(|| format!("--tokens {}", options.tokens.display()))?,
            users: options.users,
            duration: options.duration,
            sign_ins: options.sign_ins,
            public: at(0),
            public_ops: at(1),
            wire: at(2),
            wire_ops: at(3),
        })
    }

    /// Starts both tiers, puts the load on them, and ends them.
    pub(super) fn run(&self, point: &Point, number: u32) -> Result<Run> {
        let mut accounts = self.accounts(point)?;
        let mut web = self.web(point)?;
        self.wait_until_ready(point, [&mut accounts, &mut web])?;
        let before = self.scrape()?;
        let sign_ins = (self.sign_ins > 0).then(|| self.sign_in(number)).transpose()?;
        let report = self.read(point, number)?;
        if let Some(sign_ins) = sign_ins {
            let report = self.report_of(sign_ins, SIGN_INS)?;
            let all = &report["total"]["all"];
            ensure!(all["errors"] == 0, "sign-ins failed; are there as many --users? {all}");
        }
        let sections = self.scrape()?.since(&before);
        web.terminate()?;
        accounts.terminate()?;
        Ok(Run { report, sections })
    }

    fn serve(&self, role: &str, data: &Path, ops: SocketAddr) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--apps", "accounts", "--role", role, "--ops-listen", &ops.to_string()])
            .arg("--data")
            .arg(data)
            .env("LODGE_LOG_FILTER", "warn")
            .env("LODGE_ACCOUNTS_KEY_FILE", self.folder.join("key"));
        command
    }

    fn accounts(&self, point: &Point) -> Result<Running> {
        let mut command = self.serve("accounts", &self.data, self.wire_ops);
        command
            .env("LODGE_ACCOUNTS_LISTEN", self.wire.to_string())
            .env("LODGE_ACCOUNTS_CONNECTIONS_MAX", (2 * point.pool + 16).to_string());
        Running::start(&mut command)
    }

    fn web(&self, point: &Point) -> Result<Running> {
        let mut command = self.serve("web", &self.folder.join("web"), self.public_ops);
        command
            .args(["--listen", &self.public.to_string()])
            .env("LODGE_ACCOUNTS_SERVERS", self.wire.to_string())
            .env("LODGE_ACCOUNTS_PICTURES", self.folder.join("pictures"))
            .env("LODGE_ACCOUNTS_CONNECTIONS", point.pool.to_string())
            .env("LODGE_ACCOUNTS_SESSION_CACHE_S", point.cache_s.to_string());
        Running::start(&mut command)
    }

    /// Until the web tier answers with what only the other one can know, by all its connections.
    fn wait_until_ready(&self, point: &Point, mut tiers: [&mut Running; 2]) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let connections = format!("\nlodge_wire_connections {}\n", point.pool);
        while !(get(self.public, "/api/users/nobody").is_ok_and(|answer| answer.contains(" 404 "))
            && get(self.wire_ops, "/metrics").is_ok_and(|metrics| metrics.contains(&connections)))
        {
            for tier in &mut tiers {
                ensure!(tier.0.try_wait()?.is_none(), "a tier has ended; are its ports free?");
            }
            ensure!(Instant::now() < deadline, "the two tiers do not answer");
            thread::sleep(LOOK);
        }
        Ok(())
    }

    fn scrape(&self) -> Result<Histograms> {
        let mut sections = Histograms::default();
        for ops in [self.public_ops, self.wire_ops] {
            sections.add(&get(ops, "/metrics")?);
        }
        Ok(sections)
    }

    /// The load generator, whose report goes to the file of that name.
    fn load(&self, kind: &str, number: u32, report: &str) -> Command {
        let mut command = Command::new(&self.program);
        let duration = format!("{}ms", self.duration.as_millis());
        command
            .args(["load", kind, "--url", &format!("http://{}", self.public)])
            .args(["--duration", &duration, "--seed", &number.to_string()])
            .arg("--json")
            .arg(self.folder.join(report))
            .stdout(Stdio::null());
        command
    }

    fn sign_in(&self, number: u32) -> Result<Running> {
        let mut command = self.load("accounts-sign-in", number, SIGN_INS);
        command.args(["--rate", &self.sign_ins.to_string(), "--users", &self.users.to_string()]);
        command.args(["--connections", &SIGN_IN_CONNECTIONS.to_string()]);
        Running::start(&mut command)
    }

    fn read(&self, point: &Point, number: u32) -> Result<Value> {
        let mut command = self.load("accounts-get", number, READS);
        command.arg("--tokens").arg(&self.tokens);
        command.args(["--connections", &point.workers.to_string()]);
        command.args(["--rate", &point.rate.to_string()]);
        match point.people {
            People::SignedIn => {}
            People::First(count) => {
                command.args(["--sessions", &count.to_string()]);
            }
            People::Everybody(users) => {
                command.args(["--zipf", "1", "--users", &users.to_string()]);
            }
        }
        self.report_of(Running::start(&mut command)?, READS)
    }

    /// Waits for a load generator, and reads its report.
    fn report_of(&self, load: Running, report: &str) -> Result<Value> {
        ensure!(load.end(self.duration + PATIENCE)?.success(), "no request succeeded");
        Ok(serde_json::from_str(&fs::read_to_string(self.folder.join(report))?)?)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// A process that ends with this.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Self> {
        let child = command.stdin(Stdio::null()).spawn();
        Ok(Self(child.context("this program cannot be started again")?))
    }

    /// Waits until it ends by itself.
    fn end(mut self, patience: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "a process does not end");
            thread::sleep(LOOK);
        }
    }

    /// Asks it to end, and waits.
    fn terminate(self) -> Result<()> {
        kill_process(Pid::from_child(&self.0), Signal::TERM)?;
        let status = self.end(PATIENCE)?;
        ensure!(status.success(), "a tier did not end well: {status}");
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }
}

/// One GET; the answer with its head.
fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
