//! `cargo xtask test`: the checks that must pass before a change lands.

use std::{panic::resume_unwind, thread};

use anyhow::Result;
use clap::Args;
use lodge_testbed::{Cluster, is_nightly};

use crate::{
    asvs, check, cluster, docs, faults, imports, process,
    system::{self, FOR_CLUSTERS, FOR_TESTS},
    test_binaries::{self, TestBinary},
};

/// Options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only these parts, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = [LINTS, RUSTDOC, ALONE, FAULTS, CLUSTER])]
    only: Vec<String>,
}

/// Format, lengths of files, words, links of docs, the ASVS table, imports.
const LINTS: &str = "lints";
/// rustdoc without warnings. It compiles every dependency once more, so only `cargo xtask nightly` runs it.
const RUSTDOC: &str = "rustdoc";
/// Clippy, and tests on one machine.
const ALONE: &str = "alone";
/// Some rows of `cargo xtask faults`, which rotate by commit.
const FAULTS: &str = "faults";
/// Tests on a cluster.
const CLUSTER: &str = "cluster";

/// Concurrent tests: many wait for a deadline or for a process to start.
const THREADS: (&str, &str) = ("RUST_TEST_THREADS", "5");

/// Concurrent tests on a cluster. With seven on two cores, the servers answered six tests too late.
const THREADS_ON_CLUSTER: (&str, &str) = ("RUST_TEST_THREADS", "3");

impl Options {
    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

/// Runs every check, the quick ones first.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.wants(LINTS) {
        lints()?;
    }
    if options.only.iter().any(|only| only == RUSTDOC) {
        rustdoc()?;
    }
    let needs_cluster = options.wants(FAULTS) || options.wants(CLUSTER);
    if !needs_cluster && !options.wants(ALONE) {
        return Ok(());
    }
    let tests = test_binaries::build()?;
    let (alone, lodge) = thread::scope(|scope| {
        // The release is compiled with what time the tests leave.
        let lodge = needs_cluster.then(|| scope.spawn(cluster::built_lodge));
        let alone = if options.wants(ALONE) { alone(&tests) } else { Ok(()) };
        (alone, lodge.map(|lodge| lodge.join().unwrap_or_else(|panic| resume_unwind(panic))))
    });
    if let Some(lodge) = lodge {
        system::provide(FOR_CLUSTERS)?;
        cluster::with_own(&lodge?, |cluster| on_cluster(options, &tests, cluster))?;
    }
    alone
}

fn lints() -> Result<()> {
    check::file_lengths()?;
    check::words()?;
    docs::run()?;
    asvs::run()?;
    imports::run()?;
    process::run("cargo", &["fmt", "--all", "--check"], &[])
}

/// Runs rustdoc and denies warnings, such as links to what does not exist.
fn rustdoc() -> Result<()> {
    let doc = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    process::run("cargo", &doc, &[("RUSTDOCFLAGS", "-D warnings")])
}

/// Runs the tests on one machine.
fn alone(tests: &[TestBinary]) -> Result<()> {
    system::provide(FOR_TESTS)?;
    if is_nightly() {
        system::provide_firefox()?;
    }
    test_binaries::run(tests.iter().filter(|binary| binary.name != CLUSTER), &[THREADS])
}

/// The faults come first: a restarted node would have to read the hundreds of tables that the tests leave.
fn on_cluster(options: &Options, tests: &[TestBinary], cluster: &Cluster) -> Result<()> {
    let faults = if options.wants(FAULTS) { faults::run_in_test(cluster) } else { Ok(()) };
    let block = cluster.layout().block().to_string();
    let run = || {
        let environment = [THREADS_ON_CLUSTER, ("TESTBED_BLOCK", block.as_str())];
        test_binaries::run(tests.iter().filter(|binary| binary.name == CLUSTER), &environment)
    };
    let tests = if options.wants(CLUSTER) { run() } else { Ok(()) };
    faults.and(tests)
}
