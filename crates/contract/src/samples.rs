//! Links and other things to test with.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Attempt,
    keys::KeyId,
    links::{Candidate, Claim, Link, LinkId, LinkStore, Owner, Refusal, Short, Target},
};
use uuid::Uuid;

/// How long shorts stay reserved in these tests.
pub const RESERVED: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The time at which these tests begin.
pub const BEGIN: Timestamp = Timestamp::constant(1_790_000_000, 0);

/// `BEGIN` and so many seconds.
pub fn at(seconds: i64) -> Timestamp {
    BEGIN + SignedDuration::from_secs(seconds)
}

/// A short that starts with `name` and that no other test has.
pub fn fresh(name: &str) -> Short {
    Short::parse(&format!("{name}-{}", Uuid::now_v7().simple())).unwrap()
}

/// An owner that no other test has.
pub fn fresh_owner() -> Owner {
    static NEXT: AtomicI64 = AtomicI64::new(0);
    let now = Timestamp::now().as_microsecond();
    Owner::Key(KeyId(now * 1_000 + NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// A plain, anonymous link, made at `BEGIN`.
pub fn link(short: &Short) -> Link {
    Link::new(LinkId(Uuid::now_v7()), short.clone(), target("https://example.com/"), BEGIN)
}

/// A target.
pub fn target(url: &str) -> Target {
    Target::parse(url).unwrap()
}

/// What comes of this many tasks that run at the same time.
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

/// All pages, each of at most `limit` and asked for by the place of the last before it.
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

/// What a caller does who chose the link's short.
pub fn chosen(link: Link) -> Result<Candidate, Refusal> {
    Ok(Candidate { link, spares: Vec::new() })
}

/// An attempt with a key and a body.
pub fn attempt(key: &Short, body: &str, seconds: i64) -> Attempt {
    Attempt::new(&["test"], key.as_str(), body.as_bytes(), at(seconds)).unwrap()
}

/// Claims the link's short and says what came of it.
pub async fn claim(store: &dyn LinkStore, link: Link) -> Claim {
    let done = store.claim(vec![chosen(link)], RESERVED, None).await.unwrap();
    assert_eq!((done.replayed, done.outcome.len()), (false, 1));
    done.outcome.into_iter().next().unwrap()
}

/// Claims the link's short, which is free.
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

/// Stores a change that nothing stands against.
pub async fn change(store: &dyn LinkStore, link: &Link, apply: impl FnOnce(&mut Link)) -> Link {
    store.change(changed(link, apply), None).await.unwrap().unwrap().outcome
}

/// The link that has the short.
pub async fn found(store: &dyn LinkStore, short: &Short) -> Link {
    (*store.find(short).await.unwrap().unwrap()).clone()
}
