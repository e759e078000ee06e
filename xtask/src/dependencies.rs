//! `cargo xtask dependencies`.

use anyhow::Result;

use crate::{process, system};

/// Checks the licences, sources and known vulnerabilities of all dependencies by `deny.toml`. The list of
/// vulnerabilities is fetched each time: if it cannot be, the check fails.
pub(crate) fn run() -> Result<()> {
    system::provide_deny()?;
    process::run("cargo", &["deny", "check"], &[])
}
