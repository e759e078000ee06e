//! `cargo xtask test`: everything that must hold before a change lands.

use anyhow::Result;

use crate::{
    check, process,
    system::{self, FOR_TESTS},
};

/// Runs every check, the quick ones first.
pub(crate) fn run() -> Result<()> {
    system::provide(&FOR_TESTS)?;
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
    process::run("cargo", &["test", "--workspace", "--no-fail-fast"], &[])
}
