//! The two tiers and their load generators: processes of one binary, in a temporary folder.

use std::{
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use anyhow::{Context as _, Result};

use super::{
    options::ExperimentOptions,
    points::{Point, RequestAccounts},
    stores::Stores,
};
use crate::bench::{
    lodge::{Lodge, Report, Scratch, local},
    prometheus::Histograms,
    tiers::Tiers,
};

/// How much longer than the load a load generator may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// The binary and folders of the runs.
pub(super) struct Bench<'a> {
    options: &'a ExperimentOptions,
    program: PathBuf,
    stores: &'a Stores,
    /// The working folder of the processes, with the sessions' tokens in the file `tokens`.
    folder: Scratch,
    patience: Duration,
}

/// The results of one run.
pub(super) struct Run {
    /// The load generator's report.
    pub(super) report: Report,
    /// The histograms of the sections during the run.
    pub(super) sections: Histograms,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        options: &'a ExperimentOptions,
        program: PathBuf,
        stores: &'a Stores,
    ) -> Result<Self> {
        let folder = Scratch::new()?;
        symlink(&stores.tokens, folder.path("tokens"))?;
        let program = fs::canonicalize(program)?;
        Ok(Self { options, program, stores, folder, patience: PATIENCE })
    }

    /// Starts both tiers, runs the load, and stops them.
    pub(super) fn run(&self, point: &Point, number: u32) -> Result<Run> {
        let tiers = self.start(point)?;
        let before = scrape(&tiers)?;
        let report = thread::scope(|scope| {
            let sign_in = || self.sign_in(tiers.web(), number);
            let sign_ins = (self.options.sign_ins > 0).then(|| scope.spawn(sign_in));
            let report = self.read(tiers.web(), point, number);
            let signed_in = sign_ins.map(ScopedJoinHandle::join).transpose();
            signed_in.ok().context("the sign-ins panicked")?.transpose()?;
            report
        })?;
        let sections = scrape(&tiers)?.since(&before);
        tiers.terminate()?;
        Ok(Run { report, sections })
    }

    /// Starts both tiers, and waits until they have all their connections.
    fn start(&self, point: &Point) -> Result<Tiers> {
        let port = self.options.port;
        let lodge = |data: PathBuf, ports: u16| {
            let lodge = Lodge::of(&self.program, self.folder.path("")).data(data);
            let (address, ops) = (local(port + ports), local(port + ports + 1));
            lodge.at(address, ops).with("LODGE_APPS", "accounts").with_log()
        };
        let web = lodge(self.folder.path("web"), 0)
            .with("LODGE_ACCOUNTS_CONNECTIONS", point.pool)
            .with("LODGE_ACCOUNTS_SESSION_CACHE_S", point.cache_s);
        let accounts = lodge(self.stores.data.clone(), 2)
            .with_all(self.stores.settings())
            .with("LODGE_ACCOUNTS_SESSION_CACHE_S", point.cache_s)
            .with("LODGE_ACCOUNTS_CONNECTIONS_MAX", 2 * point.pool + 16);
        let mut tiers = Tiers::start(accounts, vec![web])?;
        let connections = format!("\nlodge_wire_connections {}\n", point.pool);
        tiers.accounts.wait_until("the tiers have their connections", |accounts| {
            accounts.metrics().is_ok_and(|metrics| metrics.contains(&connections))
        })?;
        Ok(tiers)
    }

    /// Runs the load generator to its end; returns its report.
    fn load(&self, web: &Lodge, number: u32, load: &str) -> Result<Report> {
        let duration = self.options.duration;
        let load = format!("{load} --seed {number} --duration {}ms", duration.as_millis());
        web.load_within(duration + self.patience, &load)
    }

    fn sign_in(&self, web: &Lodge, number: u32) -> Result<()> {
        let ExperimentOptions { sign_ins, users, .. } = self.options;
        let load = format!("accounts-sign-in --rate {sign_ins} --users {users} --connections 4");
        let report = self.load(web, number, &load)?.without_errors("/total/all");
        report
            .context("sign-ins failed; does the folder have as many accounts as --users?")
            .map(drop)
    }

    fn read(&self, web: &Lodge, point: &Point, number: u32) -> Result<Report> {
        let Point { workers, rate, people, .. } = point;
        let people = match people {
            RequestAccounts::SignedIn => String::new(),
            RequestAccounts::First(first) => format!("--sessions {first}"),
            RequestAccounts::AllAccounts(users) => format!("--zipf 1 --users {users}"),
        };
        let load = format!("accounts-get --tokens tokens --connections {workers} --rate {rate}");
        self.load(web, number, &format!("{load} {people}"))
    }
}

/// The histograms of the sections of both tiers.
fn scrape(tiers: &Tiers) -> Result<Histograms> {
    let mut sections = Histograms::default();
    for tier in [tiers.web(), &tiers.accounts] {
        sections.add(&tier.metrics()?);
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt as _, time::Instant};

    use super::{
        super::{options::Part, points, tests},
        *,
    };

    /// Runs with `script` in place of the binary, which is `$LODGE` there.
    fn run(script: &str, patience: Duration) -> Result<Run> {
        let folder = Scratch::new()?;
        let options = tests::realistic(&folder);
        let lodge = options.lodge.clone().context("no binary")?;
        let program = folder.path("lodge");
        fs::write(&program, format!("#!/bin/sh\nLODGE={}\n{script}\n", lodge.display()))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700))?;
        let stores = Stores::open(&options, &program)?;
        let bench = Bench { patience, ..Bench::new(&options, program, &stores)? };
        bench.run(&points::of(Part::Realistic, options.users)[0], 1)
    }

    /// The error of a run that fails, which must come before the timeout.
    fn failure(script: &str, patience: Duration) -> String {
        let began = Instant::now();
        let error = run(script, patience).map(drop).unwrap_err();
        assert!(began.elapsed() < PATIENCE, "it waited too long: {error:#}");
        format!("{error:#}")
    }

    #[test]
    fn a_tier_that_ends_early_is_reported_at_once() {
        let said = failure(r#"[ "$1" = serve ] && exit 3; exec "$LODGE" "$@""#, PATIENCE);
        assert!(said.contains("has ended"), "{said}");
    }

    #[test]
    fn a_tier_that_exits_with_an_error_fails_its_run() {
        let badly = r#"[ "$1" = serve ] || exec "$LODGE" "$@"
            "$LODGE" "$@" & trap 'kill $!; wait $!; exit 3' TERM; wait"#;
        let said = failure(badly, PATIENCE);
        assert!(said.contains("failed: exit status: 3"), "{said}");
    }

    #[test]
    fn a_load_generator_that_does_not_end_fails_its_run() {
        let hangs = r#"[ "$1" = serve ] || exec sleep 300; exec "$LODGE" "$@""#;
        let said = failure(hangs, Duration::from_secs(1));
        assert!(said.contains("did not end in 1.5s"), "{said}");
    }
}
