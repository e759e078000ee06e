//! Faults, one at a time, on a real cluster under load: nothing that was acknowledged is lost, and
//! nothing that is there is said not to be.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking")]

#[path = "../it/client.rs"]
#[expect(dead_code, reason = "one machine is asked for more")]
mod client;
#[path = "../cluster/testbed.rs"]
mod testbed;
mod workload;

use std::{sync::Mutex, time::Duration};

use lodge_testbed::{Cluster, Kind, Member};

use crate::workload::Workload;

/// Faults come one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// How long the load goes on before and after a fault.
const PHASE: Duration = Duration::from_secs(3);

/// How long a fault lasts: longer than any deadline, so that none is only waited out.
const FAULT: Duration = Duration::from_secs(10);

/// Runs the load through a fault and its end.
fn row(fault: impl FnOnce(&Cluster), end: impl FnOnce(&Cluster)) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let cluster = testbed::cluster();
    let load = Workload::start(testbed::webs(&cluster));
    load.go_on_for(PHASE);
    fault(&cluster);
    load.go_on_for(FAULT);
    end(&cluster);
    load.go_on_for(PHASE);
    let report = load.finish();
    println!("{report:?}");
    assert!(report.acknowledged > 100, "{report:?}");
    assert_eq!((report.lost, report.false_404s), (0, 0), "{report:?}");
    assert!(report.longest_gap < Duration::from_secs(6), "{report:?}");
    assert_eq!((report.unknown, report.failed_follows), (0, 0), "refused: {report:?}");
}

const NODE: Member = Member { kind: Kind::Cassandra, number: 2 };

#[test]
fn a_killed_cassandra_node_loses_nothing() {
    row(|cluster| cluster.kill(NODE).unwrap(), |cluster| cluster.start(NODE).unwrap());
}

#[test]
fn a_hung_cassandra_node_loses_nothing() {
    row(|cluster| cluster.pause(NODE).unwrap(), |cluster| cluster.resume(NODE).unwrap());
}
