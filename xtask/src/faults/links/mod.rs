//! Clients of links, what they check, and the rows with them.

mod check;
mod editor;
mod expected;
mod follower;
mod kinds;
mod maker;
mod repeater;
mod rows;
mod table;
mod verdict;

use anyhow::Result;
use lodge_testbed::Cluster;

use self::kinds::{KNOWN, NEW};
pub(crate) use self::{
    expected::Links,
    rows::{LinksPromise, ROWS},
    table::{HEAD, cells},
    verdict::broken_promises,
};
use super::{
    row::Row,
    workload::{App, Loss, SharedState, Work},
};

/// Links that are acknowledged before a fault.
const ENOUGH: usize = 100;

impl App for Links {
    fn prepare(&self, common: &SharedState, _: &Cluster) -> Result<()> {
        check::wait_complete(common)
    }

    /// One maker and two followers on every route, two editors, two repeaters.
    fn clients(common: &SharedState) -> Vec<Work<Self>> {
        let mut work: Vec<Work<Self>> = Vec::new();
        for route in common.routes.clone() {
            work.push(Box::new(move |client| maker::work(client, route)));
            for kind in [NEW, KNOWN] {
                work.push(Box::new(move |client| follower::work(client, route, kind)));
            }
        }
        for _ in 0..2 {
            work.push(Box::new(editor::work));
            work.push(Box::new(repeater::work));
        }
        work
    }

    fn has_enough(&self) -> bool {
        self.0.len() >= ENOUGH
    }

    fn check(&self, common: &SharedState, cluster: &Cluster) -> Result<Loss> {
        check::check(common, &self.0.take(), cluster)
    }
}

/// Returns the rows without their promises.
pub(crate) fn rows() -> Vec<&'static Row> {
    ROWS.iter().map(|(row, _)| row).collect()
}
