//! The file descriptor limit. Each connection takes one descriptor, also one that is refused, until it is closed.

use lodge_web::edge::server::CONNECTIONS_PER_REFUSED;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors reserved for everything but public connections: the database, the ops listener,
/// admin sessions, logs.
const RESERVED: u64 = 256;

/// Raises the soft limit to the hard limit. Returns the number of connections that fit, at most `wanted`.
pub(crate) fn connections_max(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let open_max = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let available = usize::try_from(open_max.saturating_sub(RESERVED)).unwrap_or(usize::MAX);
    let available = (available / (CONNECTIONS_PER_REFUSED + 1) * CONNECTIONS_PER_REFUSED).max(1);
    if available < wanted {
        tracing::warn!(
            open_max,
            connections_max = available,
            "http.connections_max is lowered to fit the limit of open files; raise LimitNOFILE (ulimit -n)"
        );
    }
    available.min(wanted)
}
