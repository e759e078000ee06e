//! A client, and the state that all clients share.

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

use super::ledger::{AnswerLog, RequestKind, RequestOutcome};
use crate::http::{Answer, Http};

/// A server of the cluster for clients: a web process, or the balancer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) member: Member,
    pub(crate) address: SocketAddr,
}

/// The state that all clients share.
pub(crate) struct SharedState {
    pub(crate) http: Http,
    pub(crate) routes: Vec<Route>,
    /// The API key of the repeaters, so that their links can be listed.
    pub(crate) api_key: String,
    /// The tag of the links of this run, and the prefix of their shorts.
    pub(crate) tag: String,
    /// Whether a `PUT` replaces a link.
    pub(crate) replaces: bool,
    pub(super) stop: AtomicBool,
    pub(crate) has_failed: AtomicBool,
    pub(crate) ledger: AnswerLog,
}

/// A client of an app.
pub(crate) struct Client<A> {
    pub(crate) common: Arc<SharedState>,
    /// What the clients of the app share.
    pub(crate) app: Arc<A>,
    pub(super) number: usize,
    pub(crate) random: StdRng,
    /// The number of names that it has used.
    pub(super) turn: u64,
}

impl SharedState {
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
            ledger: AnswerLog::default(),
        }
    }

    /// The routes to web processes.
    pub(crate) fn webs(&self) -> impl Iterator<Item = Route> {
        self.routes.iter().filter(|route| route.member.kind == Kind::Web).copied()
    }
}

impl<A> Client<A> {
    pub(crate) fn is_to_stop(&self) -> bool {
        self.common.stop.load(Ordering::Acquire)
    }

    /// Returns a new unique name.
    pub(crate) fn fresh(&mut self) -> String {
        self.turn += 1;
        format!("{}-{}-{}", self.common.tag, self.number, self.turn)
    }

    /// Sleeps, to leave the CPU to other clients: this tests faults, not load.
    pub(crate) fn pause(&mut self, longest_ms: u64) {
        thread::sleep(Duration::from_millis(self.random.random_range(longest_ms / 2..=longest_ms)));
    }

    /// Returns a random route, except to victims of the fault and to `other_than`.
    pub(crate) fn any_route(&mut self, other_than: Option<Route>) -> Route {
        let routes = &self.common.routes;
        let usable: Vec<Route> = routes
            .iter()
            .filter(|route| !self.common.ledger.is_struck(route.member))
            .filter(|route| other_than.is_none_or(|other| other.member != route.member))
            .copied()
            .collect();
        usable.choose(&mut self.random).or(routes.choose(&mut self.random)).copied().unwrap_or(
            // There is always a route.
            routes[0],
        )
    }

    /// Sends a write, and records its outcome. Returns the answer if its status is `good`.
    pub(crate) fn write(
        &self,
        work: RequestKind,
        route: Route,
        good: u16,
        send: impl FnOnce(&Http, SocketAddr) -> Option<Answer>,
    ) -> Option<Answer> {
        let began = Instant::now();
        let answer = send(&self.common.http, route.address);
        let fate = RequestOutcome::of_answer(answer.as_ref(), |answer| answer.status == good);
        self.record(work, route, began, fate);
        answer.filter(|answer| answer.status == good)
    }

    pub(crate) fn record(
        &self,
        work: RequestKind,
        route: Route,
        began: Instant,
        fate: RequestOutcome,
    ) {
        self.common.ledger.record(self.number, work, route.member, began, fate);
    }
}
