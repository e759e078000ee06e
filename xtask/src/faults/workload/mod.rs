//! Concurrent clients, which record the answers.

mod client;
mod ledger;
mod list;
mod metrics;

use std::{
    sync::{Arc, atomic::Ordering},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use lodge_testbed::{Cluster, Member, wait_until};
use rand::{SeedableRng as _, rngs::StdRng};

pub(crate) use self::{
    client::{Client, Route, SharedState},
    ledger::{RequestKind, RequestOutcome, Tally, Wait},
    list::List,
    metrics::{metric, stale},
};

/// What a client does until it is to stop.
pub(crate) type Work<A> = Box<dyn FnOnce(Client<A>) + Send>;

/// The clients of an app, and what was acknowledged to them.
pub(crate) trait App: Default + Send + Sync + 'static {
    /// Prepares the clients, before they start.
    fn prepare(&self, common: &SharedState, cluster: &Cluster) -> Result<()>;

    /// Returns the work of each client.
    fn clients(common: &SharedState) -> Vec<Work<Self>>;

    /// Whether enough is acknowledged to begin a fault.
    fn has_enough(&self) -> bool;

    /// Checks at the end, when the clients have stopped, what was acknowledged.
    fn check(&self, common: &SharedState, cluster: &Cluster) -> Result<Loss>;
}

/// What is lost or duplicated at the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
}

/// Time without failed or slow requests after which the cluster counts as recovered.
const CALM: Duration = Duration::from_secs(2);

/// How long recovery may take after the end of a fault.
const RECOVERY: Duration = Duration::from_mins(1);

/// The running clients.
pub(crate) struct Workload {
    common: Arc<SharedState>,
    clients: Vec<JoinHandle<()>>,
}

/// Lets the clients work for `time` at least, and until enough is acknowledged.
pub(crate) fn warm_up(time: Duration, has_enough: impl Fn() -> bool) -> Result<()> {
    let began = Instant::now();
    wait_until("enough acknowledged writes", RECOVERY, || began.elapsed() >= time && has_enough())
}

impl Workload {
    /// Starts the clients.
    pub(crate) fn start<A: App>(common: Arc<SharedState>, app: &Arc<A>, seed: u64) -> Self {
        let clients = A::clients(&common).into_iter().enumerate().map(|(number, work)| {
            let random = StdRng::seed_from_u64(seed.wrapping_mul(1_000) + number as u64);
            let (common, app) = (Arc::clone(&common), Arc::clone(app));
            common.ledger.add_client(number);
            let client = Client { common, app, number, random, turn: 0 };
            thread::spawn(move || work(client))
        });
        let clients = clients.collect();
        Self { common, clients }
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

    /// Stops the clients; returns their counts.
    pub(crate) fn finish(mut self) -> Result<Tally> {
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
