//! A store under observation.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Attempt, Done, Result,
    links::{
        Candidate, Claim, Link, LinkId, LinkQuery, LinkStore, Outcome, Refusal, Replaced, Short,
        TakenClick,
    },
};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// A store that counts how often it is asked for a link and told to replace one, and can be made to hold
/// the one's answer or the other's beginning back.
pub(crate) struct Watched {
    store: Arc<dyn LinkStore>,
    lookups: AtomicUsize,
    replacements: AtomicUsize,
    answer: Hold,
    replacement: Hold,
}

type Hold = Mutex<Option<oneshot::Receiver<()>>>;

impl Watched {
    pub(crate) fn new(store: Arc<dyn LinkStore>) -> Self {
        Self {
            store,
            lookups: AtomicUsize::new(0),
            replacements: AtomicUsize::new(0),
            answer: Hold::default(),
            replacement: Hold::default(),
        }
    }

    /// The next link that is asked for waits for the returned sender when it is found.
    pub(crate) fn hold_next_answer(&self) -> oneshot::Sender<()> {
        hold_next(&self.answer)
    }

    /// The next replacement waits for the returned sender before it begins.
    pub(crate) fn hold_next_replacement(&self) -> oneshot::Sender<()> {
        hold_next(&self.replacement)
    }

    pub(crate) fn lookups(&self) -> usize {
        self.lookups.load(Ordering::Relaxed)
    }

    pub(crate) fn replacements(&self) -> usize {
        self.replacements.load(Ordering::Relaxed)
    }
}

fn hold_next(hold: &Hold) -> oneshot::Sender<()> {
    let (release, released) = oneshot::channel();
    *hold.lock() = Some(released);
    release
}

async fn wait(hold: &Hold) {
    let released = hold.lock().take();
    if let Some(released) = released {
        released.await.unwrap();
    }
}

#[async_trait]
impl LinkStore for Watched {
    async fn recall(&self, attempt: &Attempt) -> Result<Option<Outcome>> {
        self.store.recall(attempt).await
    }
    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        attempt: Option<Attempt>,
    ) -> Result<Done<Vec<Claim>>> {
        self.store.claim(candidates, reserved, attempt).await
    }
    async fn replace(&self, link: Link, attempt: Option<Attempt>) -> Result<Done<Replaced>> {
        self.replacements.fetch_add(1, Ordering::Relaxed);
        wait(&self.replacement).await;
        self.store.replace(link, attempt).await
    }
    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        let found = self.store.find(short).await;
        self.lookups.fetch_add(1, Ordering::Relaxed);
        wait(&self.answer).await;
        found
    }
    async fn change(&self, link: Link, attempt: Option<Attempt>) -> Result<Option<Done<Link>>> {
        self.store.change(link, attempt).await
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
