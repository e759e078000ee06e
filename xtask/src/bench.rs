//! `cargo xtask bench`.
use anyhow::Result;
#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// x
    Links,
}
pub(crate) fn run(_: &Bench) -> Result<()> {
    Ok(())
}
