//! `cargo xtask test`: everything that must hold before a change lands.

use std::{
    net::{Ipv4Addr, TcpListener},
    ops::RangeInclusive,
};

use anyhow::{Context, Result};

use crate::{
    check, process,
    system::{self, FOR_CLUSTERS, FOR_TESTS},
};

/// The tests' own cluster is on 127.N.*.* with the first N of these that nobody uses: a developer has
/// one up at 77, and two checkouts may be tested at once.
const BLOCKS: RangeInclusive<u8> = 78..=99;

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
    let block = free_block()?.to_string();
    let block = [("TESTBED_BLOCK", block.as_str())];
    // What an earlier run may have left; its processes are gone.
    process::run("cargo", &["xtask", "cluster", "down"], &block)?;
    let tested = process::run("cargo", &["xtask", "cluster", "up"], &block)
        .and_then(|()| process::run("cargo", &["test", "--workspace", "--no-fail-fast"], &block));
    let gone = process::run("cargo", &["xtask", "cluster", "down"], &block);
    tested.and(gone)
}

/// A block in which the first Redis server's address is free.
fn free_block() -> Result<u8> {
    let is_free = |block: &u8| TcpListener::bind((Ipv4Addr::new(127, *block, 1, 1), 6379)).is_ok();
    BLOCKS.into_iter().find(is_free).context("every block of addresses for a cluster is in use")
}
