//! Clients that make links and follow them, and remember what they were told.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    client::{Ask, Wire},
    testbed::fresh,
};

/// Clients that make links, and as many that follow them.
const CLIENTS: usize = 6;

/// The clients, until they are told to stop.
pub(crate) struct Workload {
    webs: Vec<SocketAddr>,
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    told: Mutex<Told>,
}

/// What the clients were told.
#[derive(Default)]
struct Told {
    acknowledged: Vec<String>,
    unknown: usize,
    followed: usize,
    failed_follows: usize,
    false_404s: usize,
    longest_gap: Duration,
}

/// What came of it.
#[derive(Debug)]
#[expect(dead_code, reason = "read where it is printed")]
pub(crate) struct Report {
    pub(crate) acknowledged: usize,
    pub(crate) unknown: usize,
    pub(crate) followed: usize,
    pub(crate) failed_follows: usize,
    pub(crate) false_404s: usize,
    pub(crate) lost: usize,
    /// The longest time between two acknowledgements of one client.
    pub(crate) longest_gap: Duration,
}

impl Workload {
    /// Starts the clients, spread over `webs`.
    pub(crate) fn start(webs: Vec<SocketAddr>) -> Self {
        let shared = Arc::new(Shared::default());
        let clients = (0..CLIENTS).flat_map(|client| {
            let (web, maker) = (webs[client % webs.len()], Arc::clone(&shared));
            let (others, follower) = (webs.clone(), Arc::clone(&shared));
            [
                thread::spawn(move || make(web, &maker)),
                thread::spawn(move || follow(client, &others, &follower)),
            ]
        });
        let clients = clients.collect();
        Self { webs, shared, clients }
    }

    /// Lets them work for a while.
    #[expect(clippy::unused_self, reason = "there must be a load that goes on")]
    pub(crate) fn go_on_for(&self, time: Duration) {
        thread::sleep(time);
    }

    /// Stops the clients, and asks for every link that was acknowledged.
    pub(crate) fn finish(self) -> Report {
        self.shared.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().unwrap();
        }
        let told = std::mem::take(&mut *self.shared.told.lock().unwrap());
        let share = told.acknowledged.len().div_ceil(CLIENTS).max(1);
        let lost = thread::scope(|scope| {
            let shares = told.acknowledged.chunks(share).zip(self.webs.iter().cycle());
            let checks: Vec<_> =
                shares.map(|(share, web)| scope.spawn(|| lost_of(share, *web))).collect();
            checks.into_iter().map(|check| check.join().unwrap()).sum()
        });
        Report {
            lost,
            acknowledged: told.acknowledged.len(),
            unknown: told.unknown,
            followed: told.followed,
            failed_follows: told.failed_follows,
            false_404s: told.false_404s,
            longest_gap: told.longest_gap,
        }
    }
}

fn target(short: &str) -> String {
    format!("https://example.org/{short}")
}

/// Of links that were acknowledged, those that do not lead where they should.
fn lost_of(shorts: &[String], web: SocketAddr) -> usize {
    let mut wire = Wire::connect(web).unwrap();
    let mut leads = |short: &str| {
        let answer = Ask::new(web, "GET", &format!("/{short}")).on(&mut wire).unwrap();
        answer.leads() == (307, Some(target(short).as_str()))
    };
    shorts.iter().filter(|short| !leads(short)).count()
}

/// Makes links at one process, one after the other.
fn make(web: SocketAddr, shared: &Shared) {
    let mut last = Instant::now();
    while !shared.stop.load(Ordering::Relaxed) {
        let short = fresh("f");
        let put = format!("/?short={short}&long={}", target(&short));
        let answer = Ask::new(web, "PUT", &put).try_send();
        let mut told = shared.told.lock().unwrap();
        if answer.is_ok_and(|answer| answer.status == 201) {
            told.longest_gap = told.longest_gap.max(last.elapsed());
            last = Instant::now();
            told.acknowledged.push(short);
        } else {
            told.unknown += 1;
        }
    }
}

/// Follows links that were acknowledged, at every process in turn.
fn follow(client: usize, webs: &[SocketAddr], shared: &Shared) {
    for turn in client.. {
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        let short = {
            let told = shared.told.lock().unwrap();
            // The newest one first: what was just acknowledged must be there.
            let place = told.acknowledged.len().checked_sub(1 + turn * 7 % 20);
            place.map(|place| told.acknowledged[place].clone())
        };
        let Some(short) = short else {
            thread::yield_now();
            continue;
        };
        let answer = Ask::new(webs[turn % webs.len()], "GET", &format!("/{short}")).try_send();
        let mut told = shared.told.lock().unwrap();
        match answer.map(|answer| answer.status) {
            Ok(307) => told.followed += 1,
            Ok(404) => told.false_404s += 1,
            _ => told.failed_follows += 1,
        }
    }
}
