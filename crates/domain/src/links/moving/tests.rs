//! Interrupted moves, between a source and a destination in memory.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;
use proptest::prelude::*;
use uuid::Uuid;

use super::{
    Checkpoint, Clicks, Destination, DestinationState, Differences, Extent, Move, Moved,
    MovingLink, Pace, ReadBack, Source, StoredKey, StoredOutcome,
};
use crate::{
    Error, IdempotencyKey, Result,
    keys::{ApiKey, KeyId},
    links::{Device, Link, LinkId, Short, StoredLinkOutcome, Target},
    secret::InstallationSecret,
};

const NOW: Timestamp = Timestamp::constant(1_790_000_000, 0);

struct Memory {
    secret: [u8; 32],
    links: Vec<MovingLink>,
    keys: Vec<StoredKey>,
    outcomes: Vec<StoredOutcome>,
}

impl Memory {
    fn of(secret: u8, links: usize, keys: usize, outcomes: usize) -> Self {
        let mut links: Vec<_> = (0..links).map(link).collect();
        links.sort_by(|one, other| one.link.short.cmp(&other.link.short));
        let keys = (0..keys).map(key).collect();
        let outcomes = (0..outcomes).map(|place| outcome(place, &link(0).link)).collect();
        Self { secret: [secret; 32], links, keys, outcomes }
    }
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap()
}

fn link(number: usize) -> MovingLink {
    let id = LinkId(Uuid::from_u128(number as u128));
    let short = Short::parse(&format!("s{number}")).unwrap();
    let target = Target::parse("https://example.com/").unwrap();
    let deleted_at = (number % 7 == 1).then_some(NOW);
    let link = Link { deleted_at, ..Link::new(id, short, target, NOW) };
    let mut clicks = Clicks::default();
    if number.is_multiple_of(3) {
        clicks.days.insert((20_000, Device::Bot), 1 + number as u64);
        // Long past the retention of every store.
        clicks.hours.insert((20_000 * 24, Device::Bot), 1 + number as u64);
    }
    MovingLink { link, clicks }
}

fn key(number: usize) -> StoredKey {
    let (id, name) = (KeyId(signed(number)), format!("k{number}"));
    let key = ApiKey { id, name, created_at: NOW, revoked_at: None };
    StoredKey { key, digest: [u8::try_from(number).unwrap(); 32] }
}

fn outcome(place: usize, link: &Link) -> StoredOutcome {
    let attempt = IdempotencyKey::new(&["test"], &place.to_string(), b"", NOW).unwrap();
    StoredOutcome {
        place: signed(place),
        attempt,
        outcome: StoredLinkOutcome::Changed(link.clone()),
    }
}

#[async_trait]
impl Source for Memory {
    async fn secret(&self) -> Result<InstallationSecret> {
        Ok(InstallationSecret::new(self.secret))
    }

    async fn extent(&self) -> Result<Extent> {
        let clicks = self.links.iter().map(|link| link.clicks.total()).sum();
        let (links, keys) = (self.links.len() as u64, self.keys.len() as u64);
        Ok(Extent { links, keys, clicks, marks: vec![signed(self.outcomes.len())] })
    }

    async fn keys(&self) -> Result<Vec<StoredKey>> {
        Ok(self.keys.clone())
    }

    async fn links(&self, after: Option<Short>, limit: usize) -> Result<Vec<MovingLink>> {
        let later =
            |link: &&MovingLink| after.as_ref().is_none_or(|after| link.link.short > *after);
        Ok(self.links.iter().filter(later).take(limit).cloned().collect())
    }

    async fn find(&self, shorts: Vec<Short>) -> Result<Vec<Option<MovingLink>>> {
        let find = |short| self.links.iter().find(|link| link.link.short == short).cloned();
        Ok(shorts.into_iter().map(find).collect())
    }

    async fn outcomes(
        &self,
        after: i64,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredOutcome>> {
        assert!(since < NOW);
        let later = |outcome: &&StoredOutcome| outcome.place > after;
        Ok(self.outcomes.iter().filter(later).take(limit).cloned().collect())
    }
}

/// The content of a destination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct State {
    secret: Option<[u8; 32]>,
    record: Option<Checkpoint>,
    links: BTreeMap<Short, Link>,
    clicks: BTreeMap<(LinkId, Uuid), Clicks>,
    keys: BTreeMap<String, StoredKey>,
    outcomes: BTreeMap<[u8; 32], StoredOutcome>,
}

/// A destination that fails after a number of steps.
#[derive(Default)]
struct Failing {
    state: Mutex<State>,
    steps_left: AtomicUsize,
    links_put: AtomicUsize,
}

impl Failing {
    fn step(&self) -> Result<()> {
        let left = self.steps_left.load(Ordering::Relaxed);
        self.steps_left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left > 0 { Ok(()) } else { Err(Error::unavailable("gone")) }
    }
}

#[async_trait]
impl Destination for Failing {
    async fn state(&self) -> Result<DestinationState> {
        let state = self.state.lock();
        let is_used = !state.links.is_empty() || !state.keys.is_empty();
        let secret = state.secret.map(InstallationSecret::new);
        Ok(DestinationState { secret, record: state.record.clone(), is_used })
    }

    async fn begin(&self, secret: &InstallationSecret, record: &Checkpoint) -> Result<()> {
        self.step()?;
        self.state.lock().secret.get_or_insert(*secret.reveal());
        self.step()?;
        self.state.lock().record.get_or_insert(record.clone());
        Ok(())
    }

    async fn save_checkpoint(&self, record: &Checkpoint) -> Result<()> {
        self.step()?;
        self.state.lock().record = Some(record.clone());
        Ok(())
    }

    async fn put_key(&self, key: &StoredKey) -> Result<()> {
        self.step()?;
        self.state.lock().keys.entry(key.key.name.clone()).or_insert_with(|| key.clone());
        Ok(())
    }

    async fn put_link(&self, moving: &MovingLink, incarnation: Uuid) -> Result<()> {
        let (link, clicks) = (moving.link.clone(), moving.clicks.clone());
        self.links_put.fetch_add(1, Ordering::Relaxed);
        self.step()?;
        self.state.lock().links.entry(link.short.clone()).or_insert_with(|| link.clone());
        self.step()?;
        self.state.lock().clicks.insert((link.id, incarnation), clicks);
        Ok(())
    }

    async fn put_outcome(&self, outcome: &StoredOutcome) -> Result<()> {
        self.step()?;
        self.state.lock().outcomes.insert(outcome.attempt.id, outcome.clone());
        Ok(())
    }
}

#[async_trait]
impl ReadBack for Failing {
    async fn keys(&self) -> Result<Vec<StoredKey>> {
        Ok(self.state.lock().keys.values().cloned().collect())
    }

    async fn links(&self, after: Option<Short>, limit: usize) -> Result<Vec<Link>> {
        let state = self.state.lock();
        let later = |link: &&Link| after.as_ref().is_none_or(|after| link.short > *after);
        Ok(state.links.values().filter(later).take(limit).cloned().collect())
    }

    async fn find(&self, short: &Short) -> Result<Option<Link>> {
        Ok(self.state.lock().links.get(short).cloned())
    }

    async fn clicks(&self, link: LinkId) -> Result<Clicks> {
        let state = self.state.lock();
        let mut sum = Clicks::default();
        for ((_, _), clicks) in state.clicks.iter().filter(|((of, _), _)| *of == link) {
            for (cell, count) in &clicks.days {
                *sum.days.entry(*cell).or_default() += count;
            }
        }
        Ok(sum)
    }

    async fn clicks_total(&self) -> Result<u64> {
        Ok(self.state.lock().clicks.values().map(Clicks::total).sum())
    }
}

fn run(source: &Arc<Memory>, to: &Arc<Failing>, pace: Pace, steps: usize) -> Result<Moved> {
    to.steps_left.store(steps, Ordering::Relaxed);
    let moving = Move {
        source: Arc::clone(source) as Arc<dyn Source>,
        destination: Arc::clone(to) as Arc<dyn Destination>,
        read_back: Arc::clone(to) as Arc<dyn ReadBack>,
        pace,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(moving.run(NOW, &|_| {}))
}

fn whole(source: &Arc<Memory>, pace: Pace) -> Arc<Failing> {
    let to = Arc::default();
    assert_eq!(run(source, &to, pace, usize::MAX).unwrap().differences, Differences::default());
    to
}

fn paces() -> impl Strategy<Value = Pace> {
    (1..8_usize, 1..5_usize, 1..12_usize).prop_map(|(page, at_once, note_every)| Pace {
        page,
        at_once,
        note_every,
    })
}

proptest! {
    #[test]
    fn an_interrupted_move_ends_like_an_uninterrupted_one(
        (links, keys, outcomes) in (0..60_usize, 0..4_usize, 0..30_usize),
        pace in paces(),
        breaks in proptest::collection::vec(0..80_usize, 0..6),
    ) {
        let (source, to) = (Arc::new(Memory::of(1, links, keys, outcomes)), Arc::default());
        let mut broken_off = 0;
        for steps in breaks {
            broken_off += usize::from(run(&source, &to, pace, steps).is_err());
        }
        let moved = run(&source, &to, pace, usize::MAX).unwrap();
        prop_assert_eq!(moved.differences, Differences::default());
        let (is, should_be) = (to.state.lock().clone(), whole(&source, pace).state.lock().clone());
        prop_assert_eq!(is, should_be);
        // Only rows written after the last checkpoint are written again.
        let again = broken_off * (pace.note_every + pace.page);
        prop_assert!(to.links_put.load(Ordering::Relaxed) <= links + again);
    }
}

#[test]
fn a_foreign_destination_or_a_changed_source_is_refused_before_any_write() {
    let pace = Pace::default();
    let source = Arc::new(Memory::of(1, 5, 1, 2));
    let refused = |to: &Arc<Failing>, source: &Arc<Memory>| {
        let before = to.state.lock().clone();
        assert!(matches!(run(source, to, pace, usize::MAX), Err(Error::Conflict(_))));
        assert_eq!(*to.state.lock(), before);
    };
    let moved = whole(&source, pace);
    refused(&moved, &Arc::new(Memory::of(2, 5, 1, 2)));
    refused(&moved, &Arc::new(Memory::of(1, 6, 1, 2)));
    moved.state.lock().record = None;
    refused(&moved, &source);
    moved.state.lock().secret = None;
    refused(&moved, &source);
}

#[test]
fn every_difference_is_counted_and_the_first_are_listed() {
    let source = Arc::new(Memory::of(1, 60, 1, 0));
    let to = whole(&source, Pace::default());
    to.state.lock().links.retain(|short, _| short.as_str() == "s1" || short.as_str() == "s3");
    to.state.lock().links.get_mut("s1").unwrap().version += 1;
    to.state.lock().clicks.clear();
    to.state.lock().keys.clear();
    let differences = run(&source, &to, Pace::default(), usize::MAX).unwrap().differences;
    // One key, 58 links missing, one different, one not followed, and the sums of links and clicks.
    assert_eq!((differences.count, differences.shown.len()), (63, 20));
    let told = ["API key k0: missing", "link s1: different version", "link s3: different clicks"];
    assert_eq!(differences.shown[..3], told);
    assert_eq!(differences.shown[3], "link s0: missing");
}
