//! Metrics of the web processes.

use lodge_testbed::{Cluster, Kind, Member};

use super::SharedState;

/// Returns the web processes' counts of redirects that may be out of date.
pub(crate) fn stale(common: &SharedState, cluster: &Cluster) -> Vec<u64> {
    let counts = metric(common, cluster, "lodge_links_stale_total");
    counts.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns a metric of each web process; `None` if the process does not answer or lacks the metric.
pub(crate) fn metric(common: &SharedState, cluster: &Cluster, name: &str) -> Vec<Option<u64>> {
    let read = |web| {
        let metrics = common.http.send("GET", cluster.layout().ops(web), "/metrics")?.body;
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
        metrics.lines().find_map(value)
    };
    Member::of(Kind::Web).map(read).collect()
}
