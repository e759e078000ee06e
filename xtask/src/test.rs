//! `cargo xtask test`: everything that must hold before a change lands.

use anyhow::Result;

use crate::{
    check, process,
    system::{self, FOR_CLUSTERS, FOR_TESTS},
};

/// The tests' own cluster is on 127.78.*.*.
const BLOCK: &str = "78";

/// Runs every check, the quick ones first.
pub(crate) fn run() -> Result<()> {
    system::provide(&FOR_TESTS)?;
    system::provide(&FOR_CLUSTERS)?;
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
    process::run("cargo", &["test", "--workspace", "--no-run"], &[])?;
    process::run("cargo", &["build", "--release", "--locked", "--package", "lodge"], &[])?;
    let block = [("TESTBED_BLOCK", BLOCK)];
    // Not the one that a developer may have up: it is made anew, and goes in the end.
    process::run("cargo", &["xtask", "cluster", "down"], &block)?;
    let tested = process::run("cargo", &["xtask", "cluster", "up"], &block)
        .and_then(|()| process::run("cargo", &["test", "--workspace", "--no-fail-fast"], &block));
    let gone = process::run("cargo", &["xtask", "cluster", "down"], &block);
    tested.and(gone)
}
