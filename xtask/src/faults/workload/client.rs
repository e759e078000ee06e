//! What the clients share, and what each of them does.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lodge_testbed::{Cluster, Deployment, Kind, Member};
use rand::{RngExt as _, rngs::StdRng, seq::IndexedRandom as _};

use super::ledger::{Fate, Ledger};
use crate::http::{Answer, Http};

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
    pub(super) replaces: bool,
    pub(super) stop: AtomicBool,
    pub(super) has_failed: AtomicBool,
    pub(super) ledger: Ledger,
}

/// One client.
pub(super) struct Client {
    pub(super) common: Arc<Common>,
    pub(super) number: usize,
    pub(super) random: StdRng,
    /// How many links it has begun.
    pub(super) turn: u64,
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

impl Client {
    pub(super) fn is_to_stop(&self) -> bool {
        self.common.stop.load(Ordering::Acquire)
    }

    /// Another name than any before.
    pub(super) fn fresh(&mut self) -> String {
        self.turn += 1;
        format!("{}-{}-{}", self.common.tag, self.number, self.turn)
    }

    /// A while in which another client may have the machine: this shows faults, and is no load test.
    pub(super) fn pause(&mut self, longest_ms: u64) {
        thread::sleep(Duration::from_millis(self.random.random_range(longest_ms / 2..=longest_ms)));
    }

    /// Any route but those to processes that are known to be struck, and but `other_than`.
    pub(super) fn any_route(&mut self, other_than: Option<Route>) -> Route {
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

    /// Sends a write, which is done if the status is `good`, and notes what became of it; the answer if it
    /// was done.
    pub(super) fn write(
        &self,
        work: &'static str,
        route: Route,
        good: u16,
        send: impl FnOnce(&Http, SocketAddr) -> Option<Answer>,
    ) -> Option<Answer> {
        let began = Instant::now();
        let answer = send(&self.common.http, route.address);
        let fate = Fate::of(answer.as_ref(), |answer| answer.status == good);
        self.note(work, route, began, fate);
        answer.filter(|answer| answer.status == good)
    }

    /// Makes a link by `PUT`, or puts it over its former self; whether it was acknowledged.
    pub(super) fn put(&self, work: &'static str, route: Route, short: &str, target: &str) -> bool {
        let put = format!("/?short={short}&long={target}");
        self.write(work, route, 201, |http, at| http.send("PUT", at, &put)).is_some()
    }

    pub(super) fn note(&self, work: &'static str, route: Route, began: Instant, fate: Fate) {
        self.common.ledger.note(self.number, work, route.member, began, fate);
    }
}
