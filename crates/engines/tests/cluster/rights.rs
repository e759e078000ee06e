//! The rights of Lodge's users at the servers.

use std::fs;

use crate::testbed::workspace;

/// Every test on the cluster runs with these rights, so they suffice.
#[test]
fn the_documented_rights_are_those_of_the_cluster() {
    let operating = fs::read_to_string(workspace().join("docs/operating.md")).unwrap();
    for command in lodge_testbed::rights() {
        assert!(operating.contains(&command), "{command}");
    }
}
