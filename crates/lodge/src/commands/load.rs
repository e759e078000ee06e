//! `lodge load`.

use std::process::ExitCode;

use anyhow::Result;

/// Puts load on a server; 1 if what it acknowledged is not there.
pub(crate) fn run(command: &lodge_load::LoadCommand) -> Result<ExitCode> {
    Ok(ExitCode::from(lodge_load::run(command)?.exit_code()))
}
