//! The process's resource limits and CPU time.

use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Files that the process opens besides connections.
const FILES_BESIDES: u64 = 64;

/// Raises the soft limit on open files for `count` connections, up to the hard limit. Fails if that is too low.
pub fn allow_connections(count: u32) -> Result<()> {
    let wanted = u64::from(count) + FILES_BESIDES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    ensure!(
        limit.maximum.is_none_or(|maximum| maximum >= wanted),
        "{wanted} open files are needed, but the limit is {}: lower --connections or raise `ulimit -Hn`",
        limit.maximum.unwrap_or_default(),
    );
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum })?;
    Ok(())
}

/// Returns the CPU time used by all threads of this process.
pub(crate) fn cpu_time() -> Option<Duration> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}
