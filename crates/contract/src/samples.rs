//! Sample links and helpers.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    IdempotencyKey,
    keys::KeyId,
    links::{Candidate, Claim, Link, LinkId, LinkStore, Owner, Refusal, Short, Target},
};
use uuid::Uuid;

/// How long shorts stay reserved in these tests.
pub const RESERVED: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The start time of these tests.
pub const BEGIN: Timestamp = Timestamp::constant(1_790_000_000, 0);

/// `seconds` after `BEGIN`.
pub fn at(seconds: i64) -> Timestamp {
    BEGIN + SignedDuration::from_secs(seconds)
}

/// A short that starts with `name` and that no other test uses.
pub fn fresh(name: &str) -> Short {
    Short::parse(&format!("{name}-{}", Uuid::now_v7().simple())).unwrap()
}

/// An owner that no other test uses.
pub fn fresh_owner() -> Owner {
    static NEXT: AtomicI64 = AtomicI64::new(0);
    let now = Timestamp::now().as_microsecond();
    Owner::Key(KeyId(now * 1_000 + NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// A plain, anonymous link, created at `BEGIN`.
pub fn link(short: &Short) -> Link {
    Link::new(LinkId(Uuid::now_v7()), short.clone(), target("https://example.com/"), BEGIN)
}

/// Parses a target.
pub fn target(url: &str) -> Target {
    Target::parse(url).unwrap()
}

/// Runs `count` tasks concurrently and returns their outputs.
pub(crate) async fn at_once<T>(count: usize, task: impl FnMut(usize) -> T) -> Vec<T::Output>
where
    T: Future<Output: Send + 'static> + Send + 'static,
{
    let tasks: Vec<_> = (0..count).map(task).map(tokio::spawn).collect();
    let mut outcomes = Vec::with_capacity(count);
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    outcomes
}

/// Reads all pages of at most `limit`; each starts after the position of the last item of the page before.
pub(crate) async fn all_pages<T, P>(
    limit: usize,
    page: impl AsyncFn(Option<P>) -> Vec<T>,
    place: impl Fn(&T) -> P,
) -> Vec<T> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = page(after).await;
        assert!(page.len() <= limit);
        let Some(last) = page.last() else { return all };
        after = Some(place(last));
        all.extend(page);
    }
}

/// A candidate with a short that the caller chose.
pub fn chosen(link: Link) -> Result<Candidate, Refusal> {
    Ok(Candidate { link, spares: Vec::new() })
}

/// An idempotency key for a request with this body.
pub fn idempotency_key(key: &Short, body: &str, seconds: i64) -> IdempotencyKey {
    IdempotencyKey::new(&["test"], key.as_str(), body.as_bytes(), at(seconds)).unwrap()
}

/// Claims a link's short and returns the outcome.
pub async fn claim(store: &dyn LinkStore, link: Link) -> Claim {
    let done = store.claim(vec![chosen(link)], RESERVED, None).await.unwrap();
    assert_eq!((done.replayed, done.outcome.len()), (false, 1));
    done.outcome.into_iter().next().unwrap()
}

/// Claims a link's short, which must be free.
pub async fn create(store: &dyn LinkStore, link: Link) -> Link {
    match claim(store, link).await {
        Claim::Created(link) => link,
        other => panic!("not created, but {other:?}"),
    }
}

/// The link with a change applied and the next version.
pub fn changed(link: &Link, apply: impl FnOnce(&mut Link)) -> Link {
    let mut next = link.clone();
    next.version += 1;
    next.changed_at = link.changed_at + SignedDuration::from_secs(1);
    apply(&mut next);
    next
}

/// Stores a change, which must succeed.
pub async fn change(store: &dyn LinkStore, link: &Link, apply: impl FnOnce(&mut Link)) -> Link {
    store.change(changed(link, apply), None).await.unwrap().unwrap().outcome
}

/// Finds the link with this short, which must exist.
pub async fn found(store: &dyn LinkStore, short: &Short) -> Link {
    (*store.find(short).await.unwrap().unwrap()).clone()
}
