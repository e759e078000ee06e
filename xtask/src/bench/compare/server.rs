//! One of the two binaries, serving.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{
    figures::Sample,
    workloads::{Run, Workload},
};
use crate::{
    bench::{
        links::{number, reported_by},
        servers::{self, Scratch},
        wrk,
    },
    process::{self, Running},
};

/// The data folder in the scratch.
const DATA: &str = "data";
/// The file of tokens in the scratch.
const TOKENS: &str = "tokens";

/// Which of the two.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Old,
    New,
}

impl Side {
    /// Where it listens: for clients, and for operators.
    fn addresses(self) -> [&'static str; 2] {
        match self {
            Self::Old => ["127.0.0.1:18060", "127.0.0.1:18061"],
            Self::New => ["127.0.0.1:18062", "127.0.0.1:18063"],
        }
    }
}

/// A binary that is not yet serving.
#[derive(Clone, Copy)]
pub(super) struct Binary<'a> {
    pub(super) side: Side,
    pub(super) lodge: &'a Path,
    /// The binary that generates the load, the same for both.
    pub(super) generator: &'a Path,
}

/// A binary that serves a data folder of its own.
pub(super) struct Server<'a> {
    // Ends before its folder goes.
    running: Running,
    pub(super) scratch: Scratch,
    binary: Binary<'a>,
}

impl<'a> Binary<'a> {
    /// Serves a new folder, or the one that was seeded in the scratch.
    pub(super) fn serve(self, scratch: Scratch, settings: &[(&str, String)]) -> Result<Server<'a>> {
        let data = scratch.path(DATA);
        let running = servers::serve(self.lodge, self.side.addresses(), &data, settings)?;
        Ok(Server { running, scratch, binary: self })
    }

    /// Makes accounts in the folder, each signed in.
    pub(super) fn seed(self, scratch: &Scratch, accounts: &str) -> Result<()> {
        let [data, tokens] = [DATA, TOKENS].map(|name| scratch.path(name).display().to_string());
        let to = ["--data", &data, "--tokens", &tokens];
        let seed = ["load", "accounts-seed", "--users", accounts, "--sessions", accounts];
        process::output(&self.lodge.display().to_string(), &[&seed[..], &to].concat()).map(drop)
    }
}

impl Server<'_> {
    /// Imports links `r0`, `r1`, ….
    pub(super) fn import(&self, links: u32) -> Result<()> {
        servers::import_with(self.binary.lodge, &self.scratch, DATA, "r", links)
    }

    /// The file of the accounts' tokens.
    pub(super) fn tokens(&self) -> String {
        self.scratch.path(TOKENS).display().to_string()
    }

    /// Runs a workload once.
    pub(super) fn measure(&self, workload: &Workload, run: Run) -> Result<Sample> {
        let before = servers::cpu_us(self.running.pid())?;
        let answered = (workload.run)(self, run)?;
        let cpu_us = servers::cpu_us(self.running.pid())? - before;
        ensure!(answered.requests > 0.0, "nothing was answered");
        Ok(Sample { per_second: answered.per_second, cpu_us: cpu_us / answered.requests })
    }

    /// Runs `wrk -t2 -c100`.
    pub(super) fn wrk(&self, run: Run, script: Option<&Path>, path: &str) -> Result<wrk::Run> {
        let url = format!("http://{}{path}", self.clients());
        let done = wrk::run(2, 100, run.seconds, script, &url)?;
        ensure!(done.errors == 0.0, "errors at {url}: {done:?}");
        Ok(done)
    }

    /// Runs `lodge load`; its report.
    pub(super) fn load(&self, arguments: &[&str]) -> Result<Value> {
        let to = ["--url", &format!("http://{}", self.clients())];
        reported_by(self.binary.generator, &self.scratch, &[arguments, &to].concat())
    }

    fn clients(&self) -> &'static str {
        self.binary.side.addresses()[0]
    }
}

/// Fails unless a report's figures of this place are without errors.
pub(super) fn without_errors(report: &Value, figures: &str) -> Result<()> {
    let errors = number(report, &format!("{figures}/errors"))?;
    let all = || report.pointer(figures).context("there are no figures").map(Value::to_string);
    ensure!(errors == 0.0, "errors: {}", all()?);
    Ok(())
}
