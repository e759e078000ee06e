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
    #[arg(long, value_delimiter = ',', value_parser = [LINTS, ALONE, FAULTS, CLUSTER])]
    only: Vec<String>,
}

/// Format, lengths of files, words, links of docs, imports, Clippy, rustdoc.
const LINTS: &str = "lints";
/// Tests on one machine.
const ALONE: &str = "alone";
/// Some rows of `cargo xtask faults`, which rotate by commit.
const FAULTS: &str = "faults";
/// Tests on a cluster.
const CLUSTER: &str = "cluster";

/// All crates with tests. `cargo clippy` checks the fuzz targets, too.
const TESTED: [&str; 3] = ["--workspace", "--exclude", "lodge-fuzz"];

/// Concurrent tests: many wait for a deadline or for a process to start.
const THREADS: (&str, &str) = ("RUST_TEST_THREADS", "4");

/// Cases of a property test at nightly depth; proptest's default is 256.
const CASES_AT_NIGHT: (&str, &str) = ("PROPTEST_CASES", "4096");

impl Options {
    fn want(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

/// Runs every check, the quick ones first.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.want(LINTS) {
        lints()?;
    }
    let alone = if options.want(ALONE) { alone() } else { Ok(()) };
    if options.want(FAULTS) || options.want(CLUSTER) {
        system::provide(FOR_CLUSTERS)?;
        cluster::with_own(cluster::built_lodge()?, |cluster| on_cluster(options, cluster))?;
    }
    alone
}

fn lints() -> Result<()> {
    check::file_lengths()?;
    check::words()?;
    docs::run()?;
    imports::run()?;
    process::run("cargo", &["fmt", "--all", "--check"], &[])?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    process::run("cargo", &clippy, &[])?;
    let doc = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    process::run("cargo", &doc, &[("RUSTDOCFLAGS", "-D warnings")])
}

/// Runs the tests on one machine; meanwhile Lodge is built for the tests on a cluster.
fn alone() -> Result<()> {
    system::provide(FOR_TESTS)?;
    if is_nightly() {
        system::provide_firefox()?;
    }
    process::run("cargo", &[&["test", "--all-targets", "--no-run"], &TESTED[..]].concat(), &[])?;
    cluster::while_lodge_is_built(|| {
        let targets = ["--lib", "--bins", "--test", "it", "--test", "browser"];
        tests(&targets, &[THREADS])
    })
}

/// The faults come first: a restarted node would have to read the hundreds of tables that the tests leave.
fn on_cluster(options: &Options, cluster: &Cluster) -> Result<()> {
    let faults = if options.want(FAULTS) { faults::run_in_test(cluster) } else { Ok(()) };
    let block = cluster.layout().block().to_string();
    let tests = || tests(&["--test", "cluster"], &[("TESTBED_BLOCK", block.as_str())]);
    let tests = if options.want(CLUSTER) { tests() } else { Ok(()) };
    faults.and(tests)
}

/// Runs the tests of these targets, also when some fail; at nightly depth also the ignored ones.
fn tests(targets: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let mut arguments = [&["test", "--no-fail-fast"], &TESTED[..], targets].concat();
    let mut environment = environment.to_vec();
    if is_nightly() {
        arguments.extend(["--", "--include-ignored"]);
        environment.push(CASES_AT_NIGHT);
    }
    process::run("cargo", &arguments, &environment)
}
