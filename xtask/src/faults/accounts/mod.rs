//! Clients of accounts, what they check, and the rows with them.

mod acknowledged;
mod changes;
mod check;
mod kinds;
mod pictures;
mod reads;
mod requests;
mod rows;
mod same_names;
mod session_ends;
mod sign_ups;
mod table;
mod verdict;

use std::process::Command;

use anyhow::{Context as _, Result};
use lodge_testbed::{Cluster, Kind, Member};

use self::acknowledged::Person;
pub(crate) use self::{
    acknowledged::Acknowledged,
    rows::{AccountsPromise, ROWS},
    table::{HEAD, cells},
    verdict::broken_promises,
};
use super::{
    row::Row,
    workload::{App, Loss, SharedState, Work},
};
use crate::process;

/// Accounts that are acknowledged before a fault.
const ENOUGH: usize = 30;

impl App for Acknowledged {
    fn prepare(&self, common: &SharedState, cluster: &Cluster) -> Result<()> {
        self.admin.push(admin(common, cluster)?);
        Ok(())
    }

    /// Sign-ups and reads on every route, and two clients of each other kind.
    fn clients(common: &SharedState) -> Vec<Work<Self>> {
        let mut work: Vec<Work<Self>> = Vec::new();
        for route in common.routes.clone() {
            work.push(Box::new(move |client| sign_ups::work(client, route)));
            work.push(Box::new(move |client| reads::work(client, route)));
        }
        for _ in 0..2 {
            work.push(Box::new(changes::work));
            work.push(Box::new(session_ends::work));
            work.push(Box::new(pictures::work));
            work.push(Box::new(same_names::work));
        }
        work
    }

    fn has_enough(&self) -> bool {
        self.people.len() >= ENOUGH
    }

    fn check(&self, common: &SharedState, cluster: &Cluster) -> Result<Loss> {
        check::check(common, self, cluster)
    }
}

/// Returns the rows without their promises.
pub(crate) fn rows() -> Vec<&'static Row> {
    ROWS.iter().map(|(row, _)| row).collect()
}

/// Creates an admin, who bans people; returns the token of a session.
fn admin(common: &SharedState, cluster: &Cluster) -> Result<String> {
    let web = common.webs().next().context("no web process")?;
    let admin = Person::new(format!("{}-admin", common.tag));
    let made = requests::ask_sign_up(&common.http, web.address, &admin);
    made.filter(|answer| answer.status == 201).context("an admin cannot be created")?;
    let layout = cluster.layout();
    let data = layout.folder(Member { kind: Kind::Accounts, number: 1 });
    let mut command = Command::new(cluster.lodge());
    command.args(["admin", "user", "role", &admin.username, "admin", "--data"]).arg(data);
    process::printed(command.envs(layout.accounts_tier_settings()))?;
    let session = requests::ask_sign_in(&common.http, web.address, &admin);
    session.and_then(|session| session.text("token")).context("an admin cannot sign in")
}
