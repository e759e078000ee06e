//! The two tiers and the load on them: processes of one binary, in a folder that goes with them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    options::ExperimentOptions,
    points::{People, Point},
};
use crate::{
    bench::{
        prometheus::Histograms,
        servers::{Scratch, get},
    },
    process::Running,
};

/// How long the tiers may take until they answer, and to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often it is looked whether they do.
const LOOK: Duration = Duration::from_millis(20);

/// Connections that sign in.
const SIGN_IN_CONNECTIONS: u32 = 4;

/// Where and with what to run.
pub(super) struct Bench {
    program: PathBuf,
    /// For what the processes need and leave.
    folder: Scratch,
    data: PathBuf,
    tokens: PathBuf,
    users: u64,
    duration: Duration,
    sign_ins: u32,
    public: String,
    public_ops: String,
    wire: String,
    wire_ops: String,
}

/// What one run came to.
pub(super) struct Run {
    /// The load generator's report.
    pub(super) report: Value,
    /// What went through each section meanwhile.
    pub(super) sections: Histograms,
}

impl Bench {
    pub(super) fn new(options: &ExperimentOptions, program: PathBuf) -> Result<Self> {
        let folder = Scratch::new()?;
        fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o700))?;
        fs::write(folder.path("key"), rand::random::<[u8; 32]>())?;
        let at = |offset| format!("127.0.0.1:{}", options.port + offset);
        Ok(Self {
            program,
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
        let accounts = self.accounts(point)?;
        let web = self.web(point)?;
        self.wait_until_ready(point)?;
        let before = self.scrape()?;
        let report = thread::scope(|scope| {
            let sign_ins = (self.sign_ins > 0).then(|| scope.spawn(|| self.sign_in(number)));
            let report = self.read(point, number);
            match sign_ins.map(thread::ScopedJoinHandle::join) {
                Some(Ok(signed_in)) => signed_in.and(report),
                Some(Err(_)) => anyhow::bail!("the sign-ins panicked"),
                None => report,
            }
        })?;
        let sections = self.scrape()?.since(&before);
        web.terminate(PATIENCE)?;
        accounts.terminate(PATIENCE)?;
        Ok(Run { report, sections })
    }

    fn serve(&self, role: &str, data: &Path, ops: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--apps", "accounts", "--role", role, "--ops-listen", ops])
            .arg("--data")
            .arg(data)
            .stdin(Stdio::null())
            .env("LODGE_LOG_FILTER", "warn")
            .env("LODGE_ACCOUNTS_KEY_FILE", self.folder.path("key"));
        command
    }

    fn accounts(&self, point: &Point) -> Result<Running> {
        let mut command = self.serve("accounts", &self.data, &self.wire_ops);
        command
            .env("LODGE_ACCOUNTS_LISTEN", &self.wire)
            .env("LODGE_ACCOUNTS_CONNECTIONS_MAX", (2 * point.pool + 16).to_string());
        Running::start(&mut command)
    }

    fn web(&self, point: &Point) -> Result<Running> {
        let mut command = self.serve("web", &self.folder.path("web"), &self.public_ops);
        command
            .args(["--listen", &self.public])
            .env("LODGE_ACCOUNTS_SERVERS", &self.wire)
            .env("LODGE_ACCOUNTS_PICTURES", self.folder.path("pictures"))
            .env("LODGE_ACCOUNTS_CONNECTIONS", point.pool.to_string())
            .env("LODGE_ACCOUNTS_SESSION_CACHE_S", point.cache_s.to_string());
        Running::start(&mut command)
    }

    /// Until the web tier answers with what only the other one can know, by all its connections.
    fn wait_until_ready(&self, point: &Point) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let connections = format!("\nlodge_wire_connections {}\n", point.pool);
        while !(get(&self.public, "/api/users/nobody").is_ok_and(|answer| answer.contains(" 404 "))
            && get(&self.wire_ops, "/metrics").is_ok_and(|metrics| metrics.contains(&connections)))
        {
            ensure!(
                Instant::now() < deadline,
                "the two tiers do not answer; are their ports free?"
            );
            thread::sleep(LOOK);
        }
        Ok(())
    }

    fn scrape(&self) -> Result<Histograms> {
        let mut sections = Histograms::default();
        for ops in [&self.public_ops, &self.wire_ops] {
            sections.add(&get(ops, "/metrics")?);
        }
        Ok(sections)
    }

    /// Runs the load generator to its end; its report.
    fn load(&self, kind: &str, number: u32, options: &[&str]) -> Result<Value> {
        let report = self.folder.path(&format!("{kind}.json"));
        let duration = format!("{}ms", self.duration.as_millis());
        let status = Command::new(&self.program)
            .args(["load", kind, "--url", &format!("http://{}", self.public)])
            .args(["--duration", &duration, "--seed", &number.to_string()])
            .args(options)
            .arg("--json")
            .arg(&report)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .context("the load generator cannot be started")?;
        ensure!(status.success(), "no request succeeded");
        Ok(serde_json::from_str(&fs::read_to_string(report)?)?)
    }

    fn sign_in(&self, number: u32) -> Result<()> {
        let (rate, users) = (self.sign_ins.to_string(), self.users.to_string());
        let connections = SIGN_IN_CONNECTIONS.to_string();
        let options = ["--rate", &rate, "--users", &users, "--connections", &connections];
        let report = self.load("accounts-sign-in", number, &options)?;
        let all = &report["total"]["all"];
        ensure!(all["errors"] == 0, "sign-ins failed; are there as many --users? {all}");
        Ok(())
    }

    fn read(&self, point: &Point, number: u32) -> Result<Value> {
        let tokens = self.tokens.display().to_string();
        let (workers, rate) = (point.workers.to_string(), point.rate.to_string());
        let mut options = vec!["--tokens", &tokens, "--connections", &workers, "--rate", &rate];
        let count;
        match point.people {
            People::SignedIn => {}
            People::First(first) => {
                count = first.to_string();
                options.extend(["--sessions", &count]);
            }
            People::Everybody(users) => {
                count = users.to_string();
                options.extend(["--zipf", "1", "--users", &count]);
            }
        }
        self.load("accounts-get", number, &options)
    }
}
