//! How long the cache trusts a session that another process has ended, with a clock that the tests advance.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::{join, join_all};
use lodge_contract::{samples::at, sessions::begun};
use lodge_domain::{
    Error, Result,
    accounts::{AccountId, Backend, Call, FeedPage, FeedPosition, Reply, SessionDigest, SignedIn},
    clock::ManualClock,
};
use lodge_local::CachedAccounts;
use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
    time::{Instant, advance, pause, resume, timeout},
};
use uuid::Uuid;

use crate::support::{account_stores, open};

/// The resolution of the measurements.
pub(crate) const STEP: Duration = Duration::from_millis(10);

/// A backend with sessions and their feed in memory, which answers at once.
pub(crate) struct Elsewhere {
    pub(crate) known: Vec<(SessionDigest, SignedIn)>,
    ended: Mutex<HashSet<SessionDigest>>,
    feed: Mutex<Vec<AccountId>>,
    pub(crate) asked: AtomicUsize,
    /// The concurrent calls of a connection pool.
    turns: Semaphore,
    /// Permits for session lookups to be answered.
    leaves: Semaphore,
    /// Whether polls of the feed fail.
    pub(crate) is_silent: AtomicBool,
}

impl Elsewhere {
    /// Creates the backend with one session for each of this many accounts.
    pub(crate) async fn with(accounts: usize) -> Arc<Self> {
        let (engine, _folder) = open();
        let stores = account_stores(&engine);
        let mut known = Vec::new();
        for _ in 0..accounts {
            let account = stores.sign_up().await;
            let digest = begun(&stores, &account).await.digest;
            known.push((digest, stores.sessions.find(digest, at(1)).await.unwrap().unwrap()));
        }
        Arc::new(Self {
            known,
            ended: Mutex::default(),
            feed: Mutex::default(),
            asked: AtomicUsize::default(),
            turns: Semaphore::new(256),
            leaves: Semaphore::new(1),
            is_silent: AtomicBool::default(),
        })
    }

    /// Ends a session.
    pub(crate) fn end(&self, number: usize) {
        let (session, me) = &self.known[number];
        self.ended.lock().insert(*session);
        self.feed.lock().push(me.account.id);
    }

    /// The position of the last change.
    pub(crate) fn place(&self) -> FeedPosition {
        FeedPosition { feed: Uuid::nil(), at: i64::try_from(self.feed.lock().len()).unwrap() }
    }
}

#[async_trait]
impl Backend for Elsewhere {
    async fn call(&self, call: Call) -> Result<Reply> {
        let _turn = self.turns.acquire().await.unwrap();
        match call {
            Call::Who { session, .. } => {
                self.asked.fetch_add(1, Ordering::SeqCst);
                let _leave = self.leaves.acquire().await.unwrap();
                let known = self.known.iter().find(|(digest, _)| *digest == session);
                let known = known.filter(|_| !self.ended.lock().contains(&session));
                known.map(|(_, me)| Reply::Who(me.clone())).ok_or(Error::unauthenticated("ended"))
            }
            Call::ChangedSince(_) if self.is_silent.load(Ordering::SeqCst) => {
                Err(Error::unavailable("silent"))
            }
            Call::ChangedSince(place) => {
                let from = place.unwrap_or_else(|| self.place());
                let (from, place) = (usize::try_from(from.at).unwrap(), self.place());
                let feed = self.feed.lock();
                let accounts = feed[from..].to_vec();
                Ok(Reply::Changed(FeedPage { accounts, place, more: false, begins_anew: false }))
            }
            call => Err(Error::internal(format!("{call:?}"))),
        }
    }
}

/// A cache in front of the backend, with a paused clock.
struct Fixture {
    elsewhere: Arc<Elsewhere>,
    cache: Arc<CachedAccounts>,
    following: JoinHandle<()>,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.following.abort();
        resume();
    }
}

impl Fixture {
    /// Creates a fixture with one session for each of this many accounts.
    async fn new(accounts: usize) -> Self {
        Self::keeping(accounts, Duration::from_mins(1)).await
    }

    /// As [`Self::new`], with this time for which sessions are cached.
    async fn keeping(accounts: usize, kept: Duration) -> Self {
        let elsewhere = Elsewhere::with(accounts).await;
        pause();
        let backend = Arc::clone(&elsewhere) as Arc<dyn Backend>;
        let clock = Arc::new(ManualClock::at(at(1)));
        let cache = Arc::new(CachedAccounts::new(backend, clock).with_ttl(kept));
        let following = Arc::clone(&cache);
        let following = tokio::spawn(async move { following.follow().await });
        let fixture = Self { elsewhere, cache, following };
        // Until the first poll of the feed.
        for _ in 0..3 {
            fixture.pass(STEP).await;
        }
        fixture
    }

    /// Advances the clock and runs what is due.
    async fn pass(&self, time: Duration) {
        advance(time).await;
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
    }

    fn session(&self, number: usize) -> SessionDigest {
        self.elsewhere.known[number].0
    }

    async fn opens(&self, number: usize) -> bool {
        self.cache.call(Call::who(self.session(number))).await.is_ok()
    }

    /// Spawns lookups of this many invalid tokens, which wait for an answer.
    async fn asked_without_session(&self, count: usize) -> JoinSet<Result<Reply>> {
        self.elsewhere.leaves.forget_permits(1);
        let mut asking = JoinSet::new();
        for number in 0..count {
            let cache = Arc::clone(&self.cache);
            let session = SessionDigest::of(&format!("made up {number}"));
            asking.spawn(async move { cache.call(Call::who(session)).await });
        }
        self.pass(STEP).await;
        asking
    }

    /// Whether the session is valid without a call to the backend.
    async fn is_remembered(&self, number: usize) -> bool {
        let before = self.elsewhere.asked.load(Ordering::SeqCst);
        self.opens(number).await && self.elsewhere.asked.load(Ordering::SeqCst) == before
    }

    /// Ends a session at the backend; returns how long the cache still accepts it.
    async fn believed_after_its_end(&self, number: usize) -> Duration {
        assert!(self.opens(number).await && self.is_remembered(number).await);
        self.elsewhere.end(number);
        let ended = Instant::now();
        while self.opens(number).await {
            self.pass(STEP).await;
        }
        ended.elapsed()
    }

    /// Adds this many changes of accounts that are not cached.
    fn others_change(&self, count: usize) {
        let mut feed = self.elsewhere.feed.lock();
        let next = i64::try_from(feed.len()).unwrap();
        feed.extend((0..).take(count).map(|number: i64| AccountId(1_000_000 + next + number)));
    }
}

/// Whenever it ends between two polls of the feed.
#[tokio::test]
async fn a_session_ended_by_another_process_is_trusted_for_at_most_a_third_of_a_second() {
    let mut longest = Duration::ZERO;
    for phase in 0..31 {
        let fixture = Fixture::new(1).await;
        fixture.pass(STEP * phase).await;
        longest = longest.max(fixture.believed_after_its_end(0).await);
    }
    assert!(longest <= Duration::from_millis(310), "{longest:?}");
    assert!(
        longest >= Duration::from_millis(200),
        "the moments do not cover the interval of polls"
    );
}

/// The feed fails at the moment at which the session ends.
#[tokio::test]
async fn without_the_feed_no_session_is_trusted_after_800_ms() {
    for phase in 0..31 {
        let fixture = Fixture::new(2).await;
        assert!(fixture.opens(1).await);
        fixture.pass(STEP * phase).await;
        fixture.elsewhere.is_silent.store(true, Ordering::SeqCst);
        let believed = fixture.believed_after_its_end(0).await;
        assert!(believed <= Duration::from_millis(800), "{believed:?}");
        assert!(fixture.opens(1).await && !fixture.is_remembered(1).await, "it is looked up");
        fixture.elsewhere.is_silent.store(false, Ordering::SeqCst);
        fixture.pass(Duration::from_millis(300)).await;
        assert!(fixture.opens(1).await && fixture.is_remembered(1).await);
    }
}

#[tokio::test]
async fn a_session_is_cached_for_a_minute() {
    let fixture = Fixture::new(1).await;
    assert!(fixture.opens(0).await);
    for _ in 0..199 {
        fixture.pass(Duration::from_millis(300)).await;
        assert!(fixture.is_remembered(0).await);
    }
    fixture.pass(Duration::from_millis(300)).await;
    assert!(!fixture.is_remembered(0).await);
}

#[tokio::test]
async fn a_session_is_cached_for_the_configured_time() {
    let fixture = Fixture::keeping(1, Duration::from_secs(10)).await;
    assert!(fixture.opens(0).await);
    for _ in 0..33 {
        fixture.pass(Duration::from_millis(300)).await;
        assert!(fixture.is_remembered(0).await);
    }
    fixture.pass(Duration::from_millis(100)).await;
    assert!(!fixture.is_remembered(0).await, "ten seconds have passed");
    assert!(fixture.is_remembered(0).await, "it was looked up again");
}

#[tokio::test]
async fn with_a_time_of_zero_no_session_is_cached() {
    let fixture = Fixture::keeping(1, Duration::ZERO).await;
    for _ in 0..10 {
        assert!(fixture.opens(0).await && !fixture.is_remembered(0).await);
    }
    assert_eq!(fixture.elsewhere.asked.load(Ordering::SeqCst), 20);
}

#[tokio::test]
async fn changes_of_other_accounts_invalidate_nothing() {
    let fixture = Fixture::new(1).await;
    assert!(fixture.opens(0).await);
    let ticks_a_minute = 200;
    for _ in 0..10 * ticks_a_minute {
        fixture.others_change(210);
        fixture.pass(Duration::from_millis(300)).await;
        assert!(fixture.opens(0).await);
    }
    let asked = fixture.elsewhere.asked.load(Ordering::SeqCst);
    assert!(asked <= 12, "once a minute, not {asked} times in ten");
}

#[tokio::test]
async fn past_the_limit_too_much_is_invalidated_and_never_too_little() {
    let fixture = Fixture::new(2).await;
    assert!(fixture.opens(0).await && fixture.is_remembered(0).await);
    fixture.elsewhere.end(0);
    fixture.others_change(100_000);
    fixture.pass(Duration::from_millis(300)).await;
    assert!(!fixture.opens(0).await);
    // An entry that is newer than all tracked changes stays valid.
    assert!(fixture.opens(1).await);
    fixture.others_change(50_000);
    fixture.pass(Duration::from_millis(300)).await;
    assert!(fixture.is_remembered(1).await);
}

/// Otherwise they would use all calls of the connection pool, and the feed would wait behind them.
#[tokio::test]
async fn a_flood_of_invalid_tokens_does_not_affect_cached_sessions() {
    let fixture = Fixture::new(1).await;
    assert!(fixture.opens(0).await);
    let mut requests = fixture.asked_without_session(1_300).await;
    for _ in 0..10 {
        fixture.pass(Duration::from_millis(300)).await;
        let remembered = timeout(STEP, fixture.is_remembered(0)).await;
        assert!(remembered.is_ok_and(|it_is| it_is));
    }
    fixture.elsewhere.leaves.add_permits(1);
    let (mut refused, mut unknown) = (0, 0);
    while let Some(answer) = requests.join_next().await {
        match answer.unwrap() {
            Err(Error::Unavailable { .. }) => refused += 1,
            Err(Error::Unauthenticated(_)) => unknown += 1,
            answer => panic!("{answer:?}"),
        }
    }
    assert_eq!((refused, unknown), (1_300 - 128, 128));
    let answer = fixture.cache.call(Call::who(SessionDigest::of("another"))).await;
    assert!(
        matches!(answer, Err(Error::Unauthenticated(_))),
        "lookups are allowed again: {answer:?}"
    );
}

#[tokio::test]
async fn concurrent_lookups_of_one_session_share_the_answer() {
    let fixture = Fixture::new(1).await;
    fixture.elsewhere.leaves.forget_permits(1);
    let all = join_all((0..200).map(|_| fixture.opens(0)));
    let answer = async {
        fixture.pass(STEP).await;
        fixture.elsewhere.leaves.add_permits(1);
    };
    assert!(join(all, answer).await.0.into_iter().all(|opens| opens));
    assert_eq!(fixture.elsewhere.asked.load(Ordering::SeqCst), 1);
}

/// A lookup from before the end of a session may be answered long after it, as if the session were valid.
#[tokio::test]
async fn without_the_feed_lookups_are_not_shared() {
    let fixture = Fixture::new(1).await;
    fixture.elsewhere.is_silent.store(true, Ordering::SeqCst);
    fixture.pass(Duration::from_secs(1)).await;
    fixture.elsewhere.leaves.forget_permits(1);
    let both = join(fixture.opens(0), async {
        fixture.pass(STEP).await;
        fixture.opens(0).await
    });
    let answer = async {
        fixture.pass(STEP * 2).await;
        fixture.elsewhere.leaves.add_permits(1);
    };
    assert_eq!(join(both, answer).await.0, (true, true));
    assert_eq!(fixture.elsewhere.asked.load(Ordering::SeqCst), 2);
}
