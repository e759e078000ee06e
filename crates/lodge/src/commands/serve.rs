//! `lodge serve`.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::{cli::ConfigOptions, config, lifecycle, telemetry};

/// Serves until a signal.
pub(crate) fn run(options: &ConfigOptions) -> Result<ExitCode> {
    let config = config::load(options)?;
    let _logs = telemetry::start_logs(&config.log).context(config::BadConfig)?;
    let metrics = telemetry::start_metrics()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(lifecycle::serve(config, metrics))?;
    Ok(ExitCode::SUCCESS)
}
