//! How long a session that has ended elsewhere is believed here, by a clock that the tests move.

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
    accounts::{AccountId, Backend, Call, Changed, FeedPlace, Reply, SessionDigest, SignedIn},
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

use crate::support::{accounts_stores, open};

/// How exactly it is looked.
const STEP: Duration = Duration::from_millis(10);

/// Sessions and their feed in memory, which answer at once.
struct Elsewhere {
    known: Vec<(SessionDigest, SignedIn)>,
    ended: Mutex<HashSet<SessionDigest>>,
    feed: Mutex<Vec<AccountId>>,
    asked: AtomicUsize,
    /// As many as a pool of connections carries at once.
    turns: Semaphore,
    /// Leaves for those who ask about sessions to be answered.
    leaves: Semaphore,
    /// Whether nothing is heard of the feed.
    is_silent: AtomicBool,
}

#[async_trait]
impl Backend for Elsewhere {
    async fn call(&self, call: Call) -> Result<Reply> {
        let _turn = self.turns.acquire().await.unwrap();
        match call {
            Call::Who(session) => {
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
                let feed = self.feed.lock();
                let from = place.map_or(feed.len(), |place| usize::try_from(place.at).unwrap());
                let place = FeedPlace { feed: Uuid::nil(), at: i64::try_from(feed.len()).unwrap() };
                let accounts = feed[from..].to_vec();
                Ok(Reply::Changed(Changed { accounts, place, more: false, begins_anew: false }))
            }
            call => Err(Error::internal(format!("{call:?}"))),
        }
    }
}

/// A cache before sessions elsewhere, at a time that stands still.
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
    /// With one session each of so many accounts.
    async fn new(accounts: usize) -> Self {
        Self::keeping(accounts, Duration::from_mins(1)).await
    }

    /// The same, where somebody is remembered for so long.
    async fn keeping(accounts: usize, kept: Duration) -> Self {
        let stores = accounts_stores(open());
        let mut known = Vec::new();
        for _ in 0..accounts {
            let account = stores.sign_up().await;
            let digest = begun(&stores, &account).await.digest;
            known.push((digest, stores.sessions.find(digest, at(1)).await.unwrap().unwrap()));
        }
        pause();
        let elsewhere = Arc::new(Elsewhere {
            known,
            ended: Mutex::default(),
            feed: Mutex::default(),
            asked: AtomicUsize::default(),
            turns: Semaphore::new(256),
            leaves: Semaphore::new(1),
            is_silent: AtomicBool::default(),
        });
        let backend = Arc::clone(&elsewhere) as Arc<dyn Backend>;
        let clock = Arc::new(ManualClock::at(at(1)));
        let cache = Arc::new(CachedAccounts::new(backend, clock).keeping(kept));
        let following = Arc::clone(&cache);
        let following = tokio::spawn(async move { following.follow().await });
        let fixture = Self { elsewhere, cache, following };
        // Until the feed was asked first.
        for _ in 0..3 {
            fixture.pass(STEP).await;
        }
        fixture
    }

    /// Lets time pass, and whatever is due happen.
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
        self.cache.call(Call::Who(self.session(number))).await.is_ok()
    }

    /// Asks by so many tokens at once that nobody answers for.
    async fn asked_by_strangers(&self, count: usize) -> JoinSet<Result<Reply>> {
        self.elsewhere.leaves.forget_permits(1);
        let mut asking = JoinSet::new();
        for number in 0..count {
            let cache = Arc::clone(&self.cache);
            let session = SessionDigest::of(&format!("made up {number}"));
            asking.spawn(async move { cache.call(Call::Who(session)).await });
        }
        self.pass(STEP).await;
        asking
    }

    /// Whether it opens, and nobody was asked.
    async fn is_remembered(&self, number: usize) -> bool {
        let before = self.elsewhere.asked.load(Ordering::SeqCst);
        self.opens(number).await && self.elsewhere.asked.load(Ordering::SeqCst) == before
    }

    /// Ends a session elsewhere; how long it is believed here.
    async fn believed_after_its_end(&self, number: usize) -> Duration {
        assert!(self.opens(number).await && self.is_remembered(number).await);
        let (session, me) = &self.elsewhere.known[number];
        self.elsewhere.ended.lock().insert(*session);
        self.elsewhere.feed.lock().push(me.account.id);
        let ended = Instant::now();
        while self.opens(number).await {
            self.pass(STEP).await;
        }
        ended.elapsed()
    }

    /// So many changes of accounts that nobody remembers.
    fn others_change(&self, count: usize) {
        let mut feed = self.elsewhere.feed.lock();
        let next = i64::try_from(feed.len()).unwrap();
        feed.extend((0..).take(count).map(|number: i64| AccountId(1_000_000 + next + number)));
    }
}

/// Wherever between two questions to the feed it ends.
#[tokio::test]
async fn a_session_that_has_ended_elsewhere_is_believed_for_a_third_of_a_second_at_most() {
    let mut longest = Duration::ZERO;
    for phase in 0..31 {
        let fixture = Fixture::new(1).await;
        fixture.pass(STEP * phase).await;
        longest = longest.max(fixture.believed_after_its_end(0).await);
    }
    assert!(longest <= Duration::from_millis(310), "{longest:?}");
    assert!(longest >= Duration::from_millis(200), "it was looked at the wrong moments");
}

/// The feed fails at the very moment at which the session ends.
#[tokio::test]
async fn whoever_hears_nothing_believes_nothing_after_800_ms() {
    for phase in 0..31 {
        let fixture = Fixture::new(2).await;
        assert!(fixture.opens(1).await);
        fixture.pass(STEP * phase).await;
        fixture.elsewhere.is_silent.store(true, Ordering::SeqCst);
        let believed = fixture.believed_after_its_end(0).await;
        assert!(believed <= Duration::from_millis(800), "{believed:?}");
        assert!(fixture.opens(1).await && !fixture.is_remembered(1).await, "it is asked for");
        fixture.elsewhere.is_silent.store(false, Ordering::SeqCst);
        fixture.pass(Duration::from_millis(300)).await;
        assert!(fixture.opens(1).await && fixture.is_remembered(1).await);
    }
}

#[tokio::test]
async fn a_session_is_remembered_for_a_minute() {
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
async fn a_session_is_remembered_for_as_long_as_it_is_told() {
    let fixture = Fixture::keeping(1, Duration::from_secs(10)).await;
    assert!(fixture.opens(0).await);
    for _ in 0..33 {
        fixture.pass(Duration::from_millis(300)).await;
        assert!(fixture.is_remembered(0).await);
    }
    fixture.pass(Duration::from_millis(100)).await;
    assert!(!fixture.is_remembered(0).await, "ten seconds have passed");
    assert!(fixture.is_remembered(0).await, "it was asked for anew");
}

#[tokio::test]
async fn where_no_time_is_told_nobody_is_remembered() {
    let fixture = Fixture::keeping(1, Duration::ZERO).await;
    for _ in 0..10 {
        assert!(fixture.opens(0).await && !fixture.is_remembered(0).await);
    }
    assert_eq!(fixture.elsewhere.asked.load(Ordering::SeqCst), 20);
}

#[tokio::test]
async fn others_changes_however_many_make_nothing_be_forgotten() {
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
async fn past_the_bound_too_much_is_forgotten_and_never_too_little() {
    let fixture = Fixture::new(2).await;
    assert!(fixture.opens(0).await && fixture.is_remembered(0).await);
    let (session, me) = &fixture.elsewhere.known[0];
    fixture.elsewhere.ended.lock().insert(*session);
    fixture.elsewhere.feed.lock().push(me.account.id);
    fixture.others_change(100_000);
    fixture.pass(Duration::from_millis(300)).await;
    assert!(!fixture.opens(0).await);
    // What is read after all that is remembered, though more comes.
    assert!(fixture.opens(1).await);
    fixture.others_change(50_000);
    fixture.pass(Duration::from_millis(300)).await;
    assert!(fixture.is_remembered(1).await);
}

/// They would take all that a pool of connections carries, and the feed would wait behind them.
#[tokio::test]
async fn however_many_ask_by_tokens_of_nobodys_who_is_remembered_stays_so() {
    let fixture = Fixture::new(1).await;
    assert!(fixture.opens(0).await);
    let mut strangers = fixture.asked_by_strangers(1_300).await;
    for _ in 0..10 {
        fixture.pass(Duration::from_millis(300)).await;
        let remembered = timeout(STEP, fixture.is_remembered(0)).await;
        assert!(remembered.is_ok_and(|it_is| it_is));
    }
    fixture.elsewhere.leaves.add_permits(1);
    let (mut refused, mut unknown) = (0, 0);
    while let Some(answer) = strangers.join_next().await {
        match answer.unwrap() {
            Err(Error::Unavailable { .. }) => refused += 1,
            Err(Error::Unauthenticated(_)) => unknown += 1,
            answer => panic!("{answer:?}"),
        }
    }
    assert_eq!((refused, unknown), (1_300 - 128, 128));
    let answer = fixture.cache.call(Call::Who(SessionDigest::of("another"))).await;
    assert!(matches!(answer, Err(Error::Unauthenticated(_))), "there is room again: {answer:?}");
}

#[tokio::test]
async fn those_who_ask_for_the_same_session_at_once_share_the_answer() {
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

/// What was asked before the end may be answered long after it, as if it were still so.
#[tokio::test]
async fn where_nothing_is_heard_nobody_shares_what_was_asked_before() {
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
