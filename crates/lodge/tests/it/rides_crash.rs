//! Every scan is counted once, whatever happens to the process that counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::json;
use uuid::Uuid;

use crate::{
    client::{Answer, Wire},
    server::{Lodge, Server},
};

const KILLS: usize = 20;
const GATES: usize = 40;
const SKIERS: u32 = 60;

/// Of how many acknowledged rides one is sent again.
const AGAIN: usize = 10;

/// A ride as a gate knows it.
#[derive(Debug, Clone)]
struct Scan {
    id: String,
    day: u32,
    skier: u32,
    lift: u32,
}

impl Scan {
    fn new(gate: usize, number: usize) -> Self {
        let number = u32::try_from(gate * 7_919 + number).unwrap();
        let (day, skier, lift) = (number % 2 + 1, number % SKIERS + 1, number % 40 + 1);
        Self { id: Uuid::now_v7().to_string(), day, skier, lift }
    }

    fn send(&self, server: &Server, wire: &mut Wire) -> std::io::Result<Answer> {
        let path = format!("/skiers/3/seasons/2025/days/{}/skiers/{}", self.day, self.skier);
        let ride = json!({ "time": 100, "liftID": self.lift });
        server.ask("POST", &path).once(&self.id).json(&ride).on(wire)
    }
}

/// A gate: what it has not heard of yet it sends again, to the next server.
#[derive(Default)]
struct Gate {
    acknowledged: Vec<Scan>,
    unheard: Option<Scan>,
    sent: usize,
}

/// Whether a gate sends a ride again under the id that it had.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    Kept,
    MadeAnew,
}

#[test]
fn twenty_kills_under_retrying_gates_count_every_acknowledged_ride_once() {
    let lodge = Lodge::new().with("LODGE_APPS", "rides");
    let acknowledged = ride_through_kills(&lodge, KILLS, Ids::Kept);
    assert!(acknowledged.len() > KILLS * 100, "{}", acknowledged.len());
    assert_eq!(miscounted(&lodge, &acknowledged), Vec::<String>::new());
}

#[test]
fn the_count_is_seen_to_be_wrong_where_rides_are_not_deduplicated() {
    let lodge = Lodge::new().with("LODGE_APPS", "rides");
    let acknowledged = ride_through_kills(&lodge, 1, Ids::MadeAnew);
    assert_ne!(miscounted(&lodge, &acknowledged), Vec::<String>::new());
}

/// Kills one server after the other while gates send to it; then lets them send what they have not heard of.
/// What was acknowledged, all of it.
fn ride_through_kills(lodge: &Lodge, kills: usize, ids: Ids) -> Vec<Scan> {
    let gates: Vec<_> = (0..GATES).map(|_| Mutex::new(Gate::default())).collect();
    for round in 0..=kills {
        let server = lodge.start();
        // Each time at another moment of the writer's groups; the last one lives.
        let left = (round < kills).then(|| AtomicUsize::new(110 + 37 * round));
        thread::scope(|scope| {
            for (number, gate) in gates.iter().enumerate() {
                let (server, left) = (&server, left.as_ref());
                scope.spawn(move || gate.lock().unwrap().send(number, server, left, ids));
            }
        });
        match left {
            Some(_) => server.kill(),
            None => assert_eq!(server.stop(), Some(0)),
        }
    }
    gates.into_iter().flat_map(|gate| gate.into_inner().unwrap().acknowledged).collect()
}

impl Gate {
    /// Sends rides until the server dies, which the last of those that are `left` brings about; where none
    /// are, only what is unheard of.
    fn send(&mut self, number: usize, server: &Server, left: Option<&AtomicUsize>, ids: Ids) {
        let Ok(mut wire) = Wire::connect(server.address) else { return };
        loop {
            let mut scan = match (self.unheard.take(), left) {
                (Some(scan), _) => scan,
                (None, Some(_)) => {
                    self.sent += 1;
                    Scan::new(number, self.sent)
                }
                (None, None) => return,
            };
            let Ok(answer) = scan.send(server, &mut wire) else {
                if ids == Ids::MadeAnew {
                    scan.id = Uuid::now_v7().to_string();
                }
                self.unheard = Some(scan);
                return;
            };
            assert_eq!(answer.status, 201, "{answer:?}");
            self.acknowledged.push(scan.clone());
            if self.acknowledged.len().is_multiple_of(AGAIN) {
                if ids == Ids::MadeAnew {
                    scan.id = Uuid::now_v7().to_string();
                }
                let again = scan.send(server, &mut wire);
                let replayed = |answer: &Answer| answer.header("idempotency-replayed").is_some();
                assert!(
                    again.is_err() || ids == Ids::MadeAnew || again.is_ok_and(|a| replayed(&a))
                );
            }
            if left.is_some_and(|left| left.fetch_sub(1, Ordering::SeqCst) == 1) {
                server.signal(Signal::KILL);
            }
        }
    }
}

/// What the server counts otherwise than the gates do.
fn miscounted(lodge: &Lodge, acknowledged: &[Scan]) -> Vec<String> {
    let mut wrong = Vec::new();
    let server = lodge.start();
    let mut verticals: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for scan in acknowledged {
        *verticals.entry((scan.day, scan.skier)).or_default() += scan.lift * 10;
    }
    let mut compare = |path: &str, expected: &str| {
        let said = server.get(path).text();
        if said != expected {
            wrong.push(format!("{path}: {said} instead of {expected}"));
        }
    };
    for ((day, skier), vertical) in &verticals {
        let path = format!("/skiers/3/seasons/2025/days/{day}/skiers/{skier}");
        compare(&path, &vertical.to_string());
    }
    for skier in 1..=SKIERS {
        let of_skier = verticals.iter().filter(|((_, whose), _)| *whose == skier);
        let total: u32 = of_skier.map(|(_, vertical)| vertical).sum();
        compare(&format!("/skiers/{skier}/vertical"), &total.to_string());
    }
    let ledger = server.get("/api/rides/ledger").json();
    if ledger["for_ever"]["stored"] != json!(acknowledged.len()) {
        wrong.push(format!("{ledger}"));
    }
    assert_eq!(server.stop(), Some(0));
    let ids: BTreeSet<_> = acknowledged.iter().map(|scan| scan.id.clone()).collect();
    if ids_stored(&lodge.database()) != ids {
        wrong.push("other events are stored than were acknowledged".to_owned());
    }
    let rebuilt = lodge.run(&["admin", "rebuild", "rides"]);
    if rebuilt.code != 0 || !rebuilt.out.contains("nothing differed") {
        wrong.push(format!("{rebuilt:?}"));
    }
    wrong
}

fn ids_stored(database: &Connection) -> BTreeSet<String> {
    let mut statement = database.prepare("SELECT event FROM rides").unwrap();
    let read = |row: &rusqlite::Row<'_>| row.get::<_, Vec<u8>>(0);
    let ids = statement.query_map([], read).unwrap();
    ids.map(|id| Uuid::from_slice(&id.unwrap()).unwrap().to_string()).collect()
}
