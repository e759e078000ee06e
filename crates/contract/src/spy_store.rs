//! A link store that counts, delays and fails its calls.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Error, IdempotencyKey, Idempotent, Result,
    links::{
        Candidate, Claim, Link, LinkId, LinkQuery, LinkStore, Refusal, Replaced, Short,
        StoredLinkOutcome, TakenClick,
    },
};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Counts lookups and replacements of a link store. Its answers can be delayed after the store has acted, or lost;
/// replacements can be delayed before they begin.
pub struct SpyLinkStore {
    store: Arc<dyn LinkStore>,
    lookups: AtomicUsize,
    replacements: AtomicUsize,
    held_answers: Holds,
    held_replacements: Holds,
    loses_answers: AtomicBool,
}

type Holds = Mutex<VecDeque<oneshot::Receiver<()>>>;

impl SpyLinkStore {
    /// Wraps `store`.
    pub fn new(store: Arc<dyn LinkStore>) -> Arc<Self> {
        Arc::new(Self {
            store,
            lookups: AtomicUsize::new(0),
            replacements: AtomicUsize::new(0),
            held_answers: Holds::default(),
            held_replacements: Holds::default(),
            loses_answers: AtomicBool::new(false),
        })
    }

    /// The wrapped store.
    pub fn store(&self) -> &dyn LinkStore {
        &*self.store
    }

    /// Delays the next answer to a lookup or a write until the returned sender is used, behind earlier delays.
    pub fn hold_next_answer(&self) -> oneshot::Sender<()> {
        hold_next(&self.held_answers)
    }

    /// Whether every delay of an answer has been used up.
    pub fn holds_all(&self) -> bool {
        self.held_answers.lock().is_empty()
    }

    /// Delays the next replacement before it begins, until the returned sender is used.
    pub fn hold_next_replacement(&self) -> oneshot::Sender<()> {
        hold_next(&self.held_replacements)
    }

    /// Makes answers get lost from now on, or no longer.
    pub fn lose_answers(&self, are_lost: bool) {
        self.loses_answers.store(are_lost, Ordering::SeqCst);
    }

    /// The number of lookups so far.
    pub fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }

    /// The number of replacements so far.
    pub fn replacements(&self) -> usize {
        self.replacements.load(Ordering::SeqCst)
    }

    async fn answer<T>(&self, answer: Result<T>) -> Result<T> {
        wait(&self.held_answers).await;
        if self.loses_answers.load(Ordering::SeqCst) {
            return Err(Error::unavailable("the answer was lost"));
        }
        answer
    }
}

fn hold_next(holds: &Holds) -> oneshot::Sender<()> {
    let (release, held) = oneshot::channel();
    holds.lock().push_back(held);
    release
}

async fn wait(holds: &Holds) {
    let held = holds.lock().pop_front();
    if let Some(held) = held {
        // Dropping the sender releases the answer, too.
        drop(held.await);
    }
}

#[async_trait]
impl LinkStore for SpyLinkStore {
    async fn stored_outcome(
        &self,
        idempotency: &IdempotencyKey,
    ) -> Result<Option<StoredLinkOutcome>> {
        self.store.stored_outcome(idempotency).await
    }
    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Vec<Claim>>> {
        let answer = self.store.claim(candidates, reserved, idempotency).await;
        self.answer(answer).await
    }
    async fn replace(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Replaced>> {
        self.replacements.fetch_add(1, Ordering::SeqCst);
        wait(&self.held_replacements).await;
        let answer = self.store.replace(link, idempotency).await;
        self.answer(answer).await
    }
    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        let answer = self.store.find(short).await;
        self.lookups.fetch_add(1, Ordering::SeqCst);
        self.answer(answer).await
    }
    async fn change(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Option<Idempotent<Link>>> {
        let answer = self.store.change(link, idempotency).await;
        self.answer(answer).await
    }
    async fn take_click(&self, short: &Short, id: LinkId, at: Timestamp) -> Result<TakenClick> {
        self.store.take_click(short, id, at).await
    }
    async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        self.store.list(query).await
    }
    async fn page(&self, after: Option<Short>, limit: usize) -> Result<Vec<Arc<Link>>> {
        self.store.page(after, limit).await
    }
}
