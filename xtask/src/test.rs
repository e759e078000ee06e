//! `cargo xtask test`: the checks that must pass before a change lands.

use anyhow::Result;
use clap::Args;
use lodge_testbed::{Cluster, is_nightly};

use crate::{
    check, cluster, docs, faults, imports, process,
    system::{self, FOR_CLUSTERS, FOR_TESTS},
};

/// Options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only these parts, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = [LINTS, RUSTDOC, ALONE, FAULTS, CLUSTER])]
    only: Vec<String>,
}

/// Format, lengths of files, words, links of docs, imports.
const LINTS: &str = "lints";
/// rustdoc without warnings. It compiles every dependency once more, so only `cargo xtask nightly` runs it.
const RUSTDOC: &str = "rustdoc";
/// Clippy, and tests on one machine.
const ALONE: &str = "alone";
/// Some rows of `cargo xtask faults`, which rotate by commit.
const FAULTS: &str = "faults";
/// Tests on a cluster.
const CLUSTER: &str = "cluster";

/// All crates with tests.
const TESTED: [&str; 3] = ["--workspace", "--exclude", "lodge-fuzz"];

/// Compiles the workspace by Clippy's driver, as `cargo clippy -- -D warnings` does: a run of Clippy for itself
/// would compile every dependency and every crate a second time.
const CLIPPY: [(&str, &str); 2] =
    [("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"), ("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__")];

/// The profile of tests, which shares the dependencies of the release.
const PROFILE: [&str; 2] = ["--profile", "bench"];

/// Concurrent tests: many wait for a deadline or for a process to start.
const THREADS: (&str, &str) = ("RUST_TEST_THREADS", "4");

/// Cases of a property test at nightly depth; proptest's default is 256.
const CASES_AT_NIGHT: (&str, &str) = ("PROPTEST_CASES", "4096");

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
    let alone = if options.wants(ALONE) { alone() } else { Ok(()) };
    if options.wants(FAULTS) || options.wants(CLUSTER) {
        system::provide(FOR_CLUSTERS)?;
        cluster::with_own(&cluster::built_lodge()?, |cluster| on_cluster(options, cluster))?;
    }
    alone
}

fn lints() -> Result<()> {
    check::file_lengths()?;
    check::words()?;
    docs::run()?;
    imports::run()?;
    process::run("cargo", &["fmt", "--all", "--check"], &[])
}

/// Runs rustdoc and denies warnings, such as links to what does not exist.
fn rustdoc() -> Result<()> {
    let doc = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    process::run("cargo", &doc, &[("RUSTDOCFLAGS", "-D warnings")])
}

/// Runs Clippy and the tests on one machine.
fn alone() -> Result<()> {
    system::provide(FOR_TESTS)?;
    if is_nightly() {
        system::provide_firefox()?;
    }
    let no_run = ["test", "--all-targets", "--no-run"];
    process::run("cargo", &[&no_run, &PROFILE[..], &TESTED[..]].concat(), &CLIPPY)?;
    // The fuzz targets have no tests.
    process::run("cargo", &[&["build", "--workspace", "--bins"], &PROFILE[..]].concat(), &CLIPPY)?;
    tests(&["--lib", "--bins", "--test", "it", "--test", "browser"], &[THREADS])
}

/// The faults come first: a restarted node would have to read the hundreds of tables that the tests leave.
fn on_cluster(options: &Options, cluster: &Cluster) -> Result<()> {
    let faults = if options.wants(FAULTS) { faults::run_in_test(cluster) } else { Ok(()) };
    let block = cluster.layout().block().to_string();
    let tests = || tests(&["--test", "cluster"], &[("TESTBED_BLOCK", block.as_str())]);
    let tests = if options.wants(CLUSTER) { tests() } else { Ok(()) };
    faults.and(tests)
}

/// Runs the tests of these targets, also when some fail; at nightly depth also the ignored ones.
fn tests(targets: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let mut arguments = [&["test", "--no-fail-fast"], &PROFILE[..], &TESTED[..], targets].concat();
    let mut environment = [environment, &CLIPPY].concat();
    if is_nightly() {
        arguments.extend(["--", "--include-ignored"]);
        environment.push(CASES_AT_NIGHT);
    }
    process::run("cargo", &arguments, &environment)
}
