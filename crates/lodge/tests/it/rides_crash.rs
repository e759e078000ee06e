//! Every scan is counted once, even if the server process is killed.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use lodge_testbed::by_depth;
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{HttpConnection, Lodge, Response, Server};

const SENDERS: usize = 40;
const SKIERS: u32 = 60;

/// One sender in this many has no gate's key.
const WITHOUT_KEY: usize = 4;

/// One parcel in `BATCH` is a batch; one acknowledged parcel in `AGAIN` is sent again.
const BATCH: usize = 3;
const AGAIN: usize = 10;

/// Rides of a batch.
const RIDES: usize = 6;

/// The content of an event.
#[derive(Debug, Clone)]
enum EventKind {
    Ride { day: u32, skier: u32, lift: u32 },
    Void(String),
}

/// An event as its sender knows it. In a batch with a key it may have no id until it is acknowledged.
#[derive(Debug, Clone)]
struct Event {
    id: Option<String>,
    what: EventKind,
}

/// The events of one request: a ride by the published API, or a batch.
#[derive(Debug, Clone)]
enum Parcel {
    Ride(Event),
    Batch { key: String, events: Vec<Event> },
}

/// The server's response to a parcel.
struct Said {
    /// Acknowledged events, with their ids.
    acknowledged: Vec<Event>,
    /// Whether all events were answered as replayed.
    known: bool,
    refused: Vec<String>,
}

impl Event {
    fn ride(sender: usize, number: usize) -> Self {
        let number = u32::try_from(sender * 7_919 + number).unwrap();
        let (day, skier, lift) = (number % 2 + 1, number % SKIERS + 1, number % 40 + 1);
        Self { id: Some(new_id()), what: EventKind::Ride { day, skier, lift } }
    }

    fn line(&self) -> String {
        let mut line = match &self.what {
            EventKind::Ride { day, skier, lift } => {
                json!({ "resortID": 3, "seasonID": "2025", "dayID": day, "skierID": skier, "time": 100, "liftID": lift })
            }
            EventKind::Void(of) => json!({ "void": of }),
        };
        if let Some(id) = &self.id {
            line["id"] = json!(id);
        }
        line.to_string()
    }
}

fn new_id() -> String {
    Uuid::now_v7().to_string()
}

impl Parcel {
    fn send(
        &self,
        server: &Server,
        key: Option<&str>,
        wire: &mut HttpConnection,
    ) -> io::Result<Said> {
        let ask = |path: &str, once: &str| server.post(path).idempotency_key(once).bearer_if(key);
        match self {
            Self::Ride(event) => {
                let EventKind::Ride { day, skier, lift } = event.what else { panic!("{event:?}") };
                let path = format!("/skiers/3/seasons/2025/days/{day}/skiers/{skier}");
                let ask = ask(&path, event.id.as_ref().unwrap());
                let answer = ask.json(json!({ "time": 100, "liftID": lift })).on(wire)?;
                let known = answer.header("idempotency-replayed").is_some();
                let (acknowledged, refused) = match answer.status {
                    201 => (vec![event.clone()], Vec::new()),
                    _ => (Vec::new(), vec![format!("{answer:?}")]),
                };
                Ok(Said { acknowledged, known, refused })
            }
            Self::Batch { key, events } => {
                let lines = events.iter().map(Event::line).collect::<Vec<_>>().join("\n");
                let answer = ask("/api/rides", key).body(lines).on(wire)?;
                Ok(said(&answer, events))
            }
        }
    }
}

fn said(answer: &Response, events: &[Event]) -> Said {
    let text = answer.text();
    let lines: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), events.len(), "{answer:?}");
    let known = lines.iter().all(|line| line["status"] == 200);
    let mut said = Said { acknowledged: Vec::new(), known, refused: Vec::new() };
    for (event, line) in events.iter().zip(&lines) {
        match line["id"].as_str() {
            Some(id) => {
                let id = Some(id.to_owned());
                said.acknowledged.push(Event { id, ..event.clone() });
            }
            None => said.refused.push(line.to_string()),
        }
    }
    said
}

/// A sender, which repeats unacknowledged parcels to the next server.
#[derive(Default)]
struct Sender {
    key: Option<String>,
    acknowledged: Vec<Event>,
    parcels: usize,
    sent: usize,
    /// Ids of acknowledged rides that may be voided.
    standing: Vec<String>,
    unacknowledged: Option<Parcel>,
    /// Unexpected responses.
    wrong: Vec<String>,
}

#[test]
fn every_acknowledged_event_is_counted_once_despite_kills_and_retries() {
    let kills = by_depth(5, 20);
    // Skiers' sums are written so often that some kills hit such a write.
    let lodge = Lodge::new().with("LODGE_APPS", "rides").with("LODGE_RIDES_UNWRITTEN_MAX", "90");
    let senders = ride_through_kills(&lodge, kills);
    let events: Vec<_> = senders.iter().flat_map(|sender| &sender.acknowledged).collect();
    let voids = events.iter().filter(|event| matches!(event.what, EventKind::Void(_))).count();
    assert!(events.len() > kills * 200 && voids > kills, "{} and {voids}", events.len());
    let wrong: Vec<_> = senders.iter().flat_map(|sender| &sender.wrong).collect();
    assert_eq!(wrong, Vec::<&String>::new());
    assert_eq!(miscounted(&lodge, &events), Vec::<String>::new());
}

/// A trigger replaces each event id after it is stored, so that no repeat is recognised.
#[test]
fn the_crash_test_detects_a_server_that_does_not_recognise_repeats() {
    let lodge = Lodge::new().with("LODGE_APPS", "rides");
    assert_eq!(lodge.start().stop(), Some(0));
    let forgets = "CREATE TRIGGER forgets AFTER INSERT ON rides
        BEGIN UPDATE rides SET event = randomblob(16) WHERE row = new.row; END";
    lodge.database().execute_batch(forgets).unwrap();
    let senders = ride_through_kills(&lodge, 1);
    let events: Vec<_> = senders.iter().flat_map(|sender| &sender.acknowledged).collect();
    let wrong = miscounted(&lodge, &events);
    let stored: usize = lodge.query("SELECT count(*) FROM rides");
    assert!(stored > events.len(), "{stored} stored, {} acknowledged", events.len());
    assert!(wrong.iter().any(|wrong| wrong.starts_with("/skiers/")), "{wrong:?}");
}

/// Kills one server after another while senders send events; then lets them send what is unacknowledged.
fn ride_through_kills(lodge: &Lodge, kills: usize) -> Vec<Sender> {
    assert_eq!(lodge.start().stop(), Some(0), "creates the data folder");
    let key = lodge.admin(&["gate", "create", "north"]).trim().to_owned();
    let sender = |number: usize| {
        let key = (!number.is_multiple_of(WITHOUT_KEY)).then(|| key.clone());
        Mutex::new(Sender { key, ..Sender::default() })
    };
    let senders: Vec<_> = (0..SENDERS).map(sender).collect();
    for round in 0..=kills {
        let server = lodge.start();
        // Each kill comes at another moment of the group commits; the last server is not killed.
        let left = (round < kills).then(|| AtomicUsize::new(110 + 37 * round));
        thread::scope(|scope| {
            for (number, sender) in senders.iter().enumerate() {
                let (server, left) = (&server, left.as_ref());
                scope.spawn(move || sender.lock().unwrap().send(number, server, left));
            }
        });
        match left {
            Some(_) => server.kill(),
            None => assert_eq!(server.stop(), Some(0)),
        }
    }
    senders.into_iter().map(|sender| sender.into_inner().unwrap()).collect()
}

impl Sender {
    /// Sends parcels until the server dies; the sender that brings `left` to 0 kills it. With `None`, sends
    /// only the unacknowledged parcel.
    fn send(&mut self, number: usize, server: &Server, left: Option<&AtomicUsize>) {
        let Ok(mut wire) = HttpConnection::connect(server.address) else { return };
        loop {
            let parcel = match (self.unacknowledged.take(), left) {
                (Some(parcel), _) => parcel,
                (None, Some(_)) => self.next(number),
                (None, None) => return,
            };
            let Ok(said) = parcel.send(server, self.key.as_deref(), &mut wire) else {
                self.unacknowledged = Some(parcel);
                return;
            };
            self.keep(said.acknowledged);
            self.wrong.extend(said.refused);
            self.parcels += 1;
            if (self.parcels + number).is_multiple_of(AGAIN) {
                let again = parcel.send(server, self.key.as_deref(), &mut wire);
                if again.is_ok_and(|said| !said.known) {
                    self.wrong.push(format!("not known again: {parcel:?}"));
                }
            }
            if left.is_some_and(|left| left.fetch_sub(1, Ordering::SeqCst) == 1) {
                server.signal(Signal::KILL);
            }
        }
    }

    /// Returns a ride, or a batch of rides and, with a key, voids of earlier rides; every other batch has no
    /// ids.
    fn next(&mut self, number: usize) -> Parcel {
        let mut ride = || {
            self.sent += 1;
            Event::ride(number, self.sent)
        };
        if !(self.parcels + number).is_multiple_of(BATCH) {
            return Parcel::Ride(ride());
        }
        let mut events: Vec<_> = (0..RIDES).map(|_| ride()).collect();
        if self.key.is_some() {
            let voids = self.standing.drain(..self.standing.len().min(2));
            events.extend(voids.map(|of| Event { id: Some(new_id()), what: EventKind::Void(of) }));
        }
        if self.parcels.is_multiple_of(2) {
            for event in &mut events {
                event.id = None;
            }
        }
        Parcel::Batch { key: new_id(), events }
    }

    fn keep(&mut self, events: Vec<Event>) {
        let rides = events.iter().filter(|event| matches!(event.what, EventKind::Ride { .. }));
        self.standing.extend(rides.filter_map(|event| event.id.clone()));
        self.acknowledged.extend(events);
    }
}

/// Returns the differences between the server's counts and the senders'.
fn miscounted(lodge: &Lodge, acknowledged: &[&Event]) -> Vec<String> {
    let mut wrong = Vec::new();
    let server = lodge.start();
    let void: BTreeSet<_> = acknowledged
        .iter()
        .filter_map(|event| match &event.what {
            EventKind::Void(of) => Some(of),
            EventKind::Ride { .. } => None,
        })
        .collect();
    let mut verticals: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for event in acknowledged {
        if let EventKind::Ride { day, skier, lift } = event.what
            && !event.id.as_ref().is_some_and(|id| void.contains(id))
        {
            *verticals.entry((day, skier)).or_default() += lift * 10;
        }
    }
    let mut compare = |path: &str, expected: Option<u32>| {
        let answer = server.get(path);
        let said = (answer.status == 200).then(|| answer.text());
        if said != expected.map(|vertical| vertical.to_string()) {
            wrong.push(format!("{path}: {answer:?} instead of {expected:?}"));
        }
    };
    for skier in 1..=SKIERS {
        let of_day = |day| verticals.get(&(day, skier)).copied();
        for day in 1..=2 {
            let path = format!("/skiers/3/seasons/2025/days/{day}/skiers/{skier}");
            compare(&path, of_day(day));
        }
        let total = [1, 2].into_iter().filter_map(of_day).reduce(|one, other| one + other);
        compare(&format!("/skiers/{skier}/vertical"), total);
    }
    let ledger = server.get("/api/rides/ledger").json();
    if ledger["for_ever"]["stored"] != json!(acknowledged.len()) {
        wrong.push(format!("{ledger}"));
    }
    assert_eq!(server.stop(), Some(0));
    let ids: BTreeSet<_> = acknowledged.iter().filter_map(|event| event.id.clone()).collect();
    if ids_stored(&lodge.database()) != ids {
        wrong.push("other events are stored than were acknowledged".to_owned());
    }
    let rebuilt = lodge.run(&["admin", "rebuild", "rides"]);
    if rebuilt.code != 0 || !rebuilt.out.contains("all totals are correct") {
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
