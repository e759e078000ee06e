//! The process's own limits and costs.

use std::time::Duration;

use anyhow::Result;

/// Makes room for `wanted` open files, as far as the system lets an ordinary process.
#[cfg(unix)]
pub(crate) fn raise_file_limit(wanted: u64) -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    anyhow::ensure!(
        limit.maximum.is_none_or(|maximum| maximum >= wanted),
        "{wanted} open files are needed, the system allows {}: lower --connections or raise `ulimit -Hn`",
        limit.maximum.unwrap_or_default(),
    );
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum })?;
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn raise_file_limit(_wanted: u64) -> Result<()> {
    Ok(())
}

/// CPU time that this process has used, all threads.
#[cfg(unix)]
pub(crate) fn cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(not(unix))]
pub(crate) fn cpu_time() -> Option<Duration> {
    None
}
