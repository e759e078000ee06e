//! Concurrent clients of four kinds, which record the answers.

mod client;
mod editor;
mod follower;
mod ledger;
mod maker;
mod repeater;

use std::{
    sync::{Arc, atomic::Ordering},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use lodge_testbed::{Member, wait_until};
use rand::{SeedableRng as _, rngs::StdRng};

use self::{client::Client, ledger::RequestOutcome};
pub(crate) use self::{
    client::{Route, SharedState},
    ledger::{EDIT, Expected, KNOWN, MAKE, NEW, REPEAT, Tally},
};

/// Time without failed or slow requests after which the cluster counts as recovered.
const CALM: Duration = Duration::from_secs(2);

/// How long recovery may take after the end of a fault.
const RECOVERY: Duration = Duration::from_mins(1);

/// Links that are acknowledged before a fault.
const ENOUGH: usize = 100;

/// The running clients.
pub(crate) struct Workload {
    common: Arc<SharedState>,
    clients: Vec<JoinHandle<()>>,
}

impl Workload {
    /// Starts the clients: one maker and two followers on every route, two editors, two repeaters.
    pub(crate) fn start(common: Arc<SharedState>, seed: u64) -> Self {
        let mut work: Vec<Box<dyn FnOnce(Client) + Send>> = Vec::new();
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
        let clients = work.into_iter().enumerate().map(|(number, work)| {
            let random = StdRng::seed_from_u64(seed.wrapping_mul(1_000) + number as u64);
            let client = Client { common: Arc::clone(&common), number, random, turn: 0 };
            common.ledger.add_client(number);
            thread::spawn(move || work(client))
        });
        let clients = clients.collect();
        Self { common, clients }
    }

    /// Lets the clients work for `time` at least, and until [`ENOUGH`] links are acknowledged.
    pub(crate) fn warm_up(&self, time: Duration) -> Result<()> {
        let began = Instant::now();
        wait_until(&format!("the creation of {ENOUGH} links"), RECOVERY, || {
            began.elapsed() >= time && self.common.ledger.links() >= ENOUGH
        })
    }

    /// Announces a fault. From now on no answers are expected from `victims`.
    pub(crate) fn announce_fault(&self, victims: &[Member]) {
        self.common.ledger.strike(victims);
        self.common.has_failed.store(true, Ordering::Release);
    }

    /// Waits until all requests have succeeded for a while. Returns the time from `healed` to the last
    /// trouble; `None` if the cluster does not recover.
    pub(crate) fn wait_calm(&self, healed: Instant) -> Option<Duration> {
        let ledger = &self.common.ledger;
        wait_until("the cluster's recovery", RECOVERY, || ledger.is_calm(CALM)).ok()?;
        ledger.strike(&[]);
        Some(ledger.last_trouble().map_or(Duration::ZERO, |last| last.duration_since(healed)))
    }

    /// Stops the clients; returns their counts and the links that must exist.
    pub(crate) fn finish(mut self) -> Result<(Tally, Vec<Expected>)> {
        self.common.stop.store(true, Ordering::Release);
        for client in self.clients.drain(..) {
            client.join().ok().context("a client panicked")?;
        }
        Ok(self.common.ledger.take())
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.common.stop.store(true, Ordering::Release);
    }
}
