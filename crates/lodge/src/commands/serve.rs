//! `lodge serve`.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};

use crate::{
    config::{
        options::ConfigOptions,
        sources::{self, BadConfig},
    },
    lifecycle, telemetry,
};

/// How long threads may take to end, when everything is stored.
const LAST_THREADS: Duration = Duration::from_secs(1);

/// Serves until a signal.
pub(crate) fn run(options: &ConfigOptions) -> Result<ExitCode> {
    let config = sources::load(options)?;
    let _logs = telemetry::start_logs(&config.log).context(BadConfig)?;
    let metrics = telemetry::start_metrics()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(lifecycle::serve(config, metrics));
    // Where a disk does not answer, a thread still waits for it; nobody else does any more.
    runtime.shutdown_timeout(LAST_THREADS);
    served?;
    Ok(ExitCode::SUCCESS)
}
