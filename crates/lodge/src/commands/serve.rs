//! `lodge serve`.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};

use crate::{
    config::{
        options::ConfigOptions,
        sources::{self, BadConfig},
    },
    lifecycle, telemetry, wiring,
};

/// The timeout for threads to end, after all data is stored.
const LAST_THREADS: Duration = Duration::from_secs(1);

/// Serves until SIGTERM or SIGINT.
pub(crate) fn run(options: &ConfigOptions) -> Result<ExitCode> {
    let config = sources::load(options)?;
    let _logs = telemetry::start_logs(&config.log).context(BadConfig)?;
    // Before any port is opened and any data changed.
    wiring::probe_logo(&config).transpose()?;
    let metrics = telemetry::start_metrics()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(lifecycle::serve(config, metrics));
    // A thread may still wait for an unresponsive disk; the process does not.
    runtime.shutdown_timeout(LAST_THREADS);
    served?;
    Ok(ExitCode::SUCCESS)
}
