//! `cargo xtask test`: everything that must hold before a change lands.

use anyhow::Result;

use crate::{
    check, cluster, faults, process,
    system::{self, FOR_CLUSTERS, FOR_TESTS},
};

/// Tests of all crates, also when some fail.
const TESTS: [&str; 3] = ["test", "--workspace", "--no-fail-fast"];

/// Runs every check, the quick ones first.
pub(crate) fn run() -> Result<()> {
    system::provide(&FOR_TESTS)?;
    system::provide(&FOR_CLUSTERS)?;
    system::provide_geckodriver()?;
    check::file_lengths()?;
    process::run("cargo", &["fmt", "--all", "--check"], &[])?;
    process::run(
        "cargo",
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &[],
    )?;
    process::run(
        "cargo",
        &["doc", "--workspace", "--no-deps", "--document-private-items"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    process::run("cargo", &["test", "--workspace", "--all-targets", "--no-run"], &[])?;
    let alone = cluster::while_lodge_is_built(|| {
        let targets = ["--lib", "--bins", "--test", "it", "--test", "browser"];
        process::run("cargo", &[&TESTS[..], &targets].concat(), &[])
    });
    let lodge = cluster::built_lodge()?;
    let on_cluster = cluster::with_own(lodge.clone(), |cluster| {
        let block = cluster.layout().block().to_string();
        let block = [("TESTBED_BLOCK", block.as_str())];
        process::run("cargo", &[&TESTS[..], &["--test", "cluster"]].concat(), &block)
    });
    alone.and(on_cluster)?;
    // On another one: a node that starts again reads what the tests left in hundreds of tables first.
    cluster::with_own(lodge, faults::run_in_test)
}
