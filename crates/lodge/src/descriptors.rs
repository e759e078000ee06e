//! File descriptors: a connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that are kept for everything but public connections: the database, the second listener,
/// administrators, logs.
const RESERVED: u64 = 256;

/// Raises the soft limit to the hard one, and returns how many connections there can be at most.
pub(crate) fn connections_max(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let open_max = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = usize::try_from(open_max.saturating_sub(RESERVED).max(1)).unwrap_or(usize::MAX);
    if room < wanted {
        tracing::warn!(
            open_max,
            connections_max = room,
            "http.connections_max is more than the limit of open files allows"
        );
    }
    room.min(wanted)
}
