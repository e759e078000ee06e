//! Clients of four kinds that work at once, and remember what they were told.

mod editor;
mod follower;
mod ledger;
mod maker;
mod repeater;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use lodge_testbed::{Cluster, Deployment, Kind, Member};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

use self::ledger::{Fate, Ledger};
pub(crate) use self::{
    editor::WORK as EDIT,
    follower::{KNOWN, NEW},
    ledger::{Expected, Tally},
    maker::WORK as MAKE,
    repeater::WORK as REPEAT,
};
use crate::http::{Answer, Http};

/// How long there must have been no trouble for the cluster to be called well.
const CALM: Duration = Duration::from_secs(2);

/// How long it may take to become so after a fault's end.
const RECOVERY: Duration = Duration::from_mins(1);

/// Links that are known before anything fails.
const ENOUGH: usize = 100;

/// A way to the cluster: a web process, or the balancer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) member: Member,
    pub(crate) address: SocketAddr,
}

/// What every client knows.
pub(crate) struct Common {
    pub(crate) http: Http,
    pub(crate) routes: Vec<Route>,
    /// The key of whoever repeats, so that what is theirs can be listed.
    pub(crate) api_key: String,
    /// What the links of this run are tagged with; their shorts begin with it.
    pub(crate) tag: String,
    /// Whether a `PUT` puts a link over its former self.
    replaces: bool,
    stop: AtomicBool,
    has_failed: AtomicBool,
    ledger: Ledger,
}

/// The clients, until they are told to stop.
pub(crate) struct Workload {
    common: Arc<Common>,
    clients: Vec<JoinHandle<()>>,
}

/// One client.
struct Client {
    common: Arc<Common>,
    number: usize,
    random: StdRng,
    /// How many links it has begun.
    turn: u64,
}

impl Common {
    pub(crate) fn new(cluster: &Cluster, api_key: &str, tag: String) -> Self {
        let members = Member::of(Kind::Web).chain(Member::of(Kind::Haproxy));
        let route = |member| Route { member, address: cluster.layout().address(member) };
        Self {
            http: Http::new(),
            routes: members.map(route).collect(),
            api_key: api_key.to_owned(),
            tag,
            replaces: cluster.deployment() == Deployment::WriteBehind,
            stop: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            ledger: Ledger::default(),
        }
    }

    /// The ways to web processes alone.
    pub(crate) fn webs(&self) -> impl Iterator<Item = Route> {
        self.routes.iter().filter(|route| route.member.kind == Kind::Web).copied()
    }
}

impl Workload {
    /// Starts the clients: one that makes and two that follow on every route, two that edit, two that
    /// repeat.
    pub(crate) fn start(common: Arc<Common>, seed: u64) -> Self {
        let mut work: Vec<Box<dyn FnOnce(Client) + Send>> = Vec::new();
        for route in common.routes.clone() {
            work.push(Box::new(move |client| maker::work(client, route)));
            work.push(Box::new(move |client| follower::follow_new(client, route)));
            work.push(Box::new(move |client| follower::follow_known(client, route)));
        }
        for _ in 0..2 {
            work.push(Box::new(editor::work));
            work.push(Box::new(repeater::work));
        }
        let clients = work.into_iter().enumerate().map(|(number, work)| {
            let random = StdRng::seed_from_u64(seed.wrapping_mul(1_000) + number as u64);
            let client = Client { common: Arc::clone(&common), number, random, turn: 0 };
            common.ledger.enter(number);
            thread::spawn(move || work(client))
        });
        let clients = clients.collect();
        Self { common, clients }
    }

    /// Lets the clients work until enough is known, and at least for `time`.
    pub(crate) fn warm_up(&self, time: Duration) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < time || self.common.ledger.links() < ENOUGH {
            if began.elapsed() > RECOVERY {
                bail!("the clients made only {} links in a minute", self.common.ledger.links());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Says that something is about to fail. What is asked of `victims` themselves is not expected to
    /// be answered from now on.
    pub(crate) fn strike(&self, victims: &[Member]) {
        self.common.ledger.strike(victims);
        self.common.has_failed.store(true, Ordering::Release);
    }

    /// Waits until everything that is asked has been answered well for a while; how long after `healed`
    /// that began. Nothing if it did not come about.
    pub(crate) fn wait_calm(&self, healed: Instant) -> Option<Duration> {
        let deadline = Instant::now() + RECOVERY;
        loop {
            if self.common.ledger.has_been_well(CALM) {
                self.common.ledger.strike(&[]);
                let trouble = self.common.ledger.last_trouble();
                return Some(trouble.map_or(Duration::ZERO, |last| last.duration_since(healed)));
            }
            if Instant::now() > deadline {
                return None;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the clients; what they counted, and what must be there now.
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

impl Client {
    fn is_to_stop(&self) -> bool {
        self.common.stop.load(Ordering::Acquire)
    }

    /// Another name than any before.
    fn fresh(&mut self) -> String {
        self.turn += 1;
        format!("{}-{}-{}", self.common.tag, self.number, self.turn)
    }

    /// A while in which another client may have the machine: this shows faults, and is no load test.
    fn pause(&mut self, longest_ms: u64) {
        thread::sleep(Duration::from_millis(self.random.random_range(longest_ms / 2..=longest_ms)));
    }

    /// Any route but those to processes that are known to be struck, and but `other_than`.
    fn any_route(&mut self, other_than: Option<Route>) -> Route {
        let routes = &self.common.routes;
        let usable: Vec<Route> = routes
            .iter()
            .filter(|route| !self.common.ledger.is_struck(route.member))
            .filter(|route| other_than.is_none_or(|other| other.member != route.member))
            .copied()
            .collect();
        usable.choose(&mut self.random).or(routes.choose(&mut self.random)).copied().unwrap_or(
            // There is always one.
            routes[0],
        )
    }

    fn note(&self, work: &'static str, route: Route, began: Instant, fate: Fate) {
        self.common.ledger.note(self.number, work, route.member, began, fate);
    }
}

/// What a write's answer says, if `good` is the status of one that was done.
fn fate_of(answer: Option<&Answer>, good: u16) -> Fate {
    match answer.map(|answer| answer.status) {
        Some(status) if status == good => Fate::Good,
        Some(status) if status >= 500 => Fate::Unknown(status.to_string()),
        Some(status) => Fate::Wrong(status.to_string()),
        None => Fate::Unknown("no answer".to_owned()),
    }
}
