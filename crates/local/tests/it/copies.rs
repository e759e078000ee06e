//! When a copy of a session answers, with a clock that the tests advance.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use lodge_contract::{samples::at, sessions::begun};
use lodge_domain::{
    accounts::{
        Backend, Call, FeedPosition, Nickname, OwnAccountCall, ProfileChange, Reply, SessionCopies,
        SessionDigest,
    },
    clock::ManualClock,
    secret::InstallationSecret,
};
use lodge_local::{Argon2Pool, CachedAccounts, CopiedSessions};
use parking_lot::Mutex;
use tokio::{
    task::JoinSet,
    time::{advance, pause},
};

use crate::{
    support::{account_stores, accounts, open, until},
    trust::{Elsewhere, STEP},
};

const POLL: Duration = Duration::from_millis(300);

/// Copies in memory.
#[derive(Default)]
struct Copies(Mutex<HashMap<SessionDigest, Vec<u8>>>);

#[async_trait]
impl SessionCopies for Copies {
    async fn find(&self, digest: SessionDigest) -> Option<Vec<u8>> {
        self.0.lock().get(&digest).cloned()
    }

    async fn keep(&self, digest: SessionDigest, copy: Vec<u8>) {
        self.0.lock().insert(digest, copy);
    }
}

/// Processes that share copies and a store.
struct Fixture {
    store: Arc<Elsewhere>,
    copies: Arc<Copies>,
    clock: Arc<ManualClock>,
    followers: JoinSet<()>,
}

impl Fixture {
    /// Creates the store with one session for each of this many accounts.
    async fn new(accounts: usize) -> Self {
        let store = Elsewhere::with(accounts).await;
        pause();
        let clock = Arc::new(ManualClock::at(at(1)));
        Self { store, copies: Arc::default(), clock, followers: JoinSet::new() }
    }

    /// Starts a process.
    async fn process(&mut self) -> Arc<CopiedSessions> {
        self.process_with([7; 32]).await
    }

    async fn process_with(&mut self, secret: [u8; 32]) -> Arc<CopiedSessions> {
        let store = Arc::clone(&self.store) as Arc<dyn Backend>;
        let copies = Arc::clone(&self.copies) as Arc<dyn SessionCopies>;
        let (secret, clock) = (InstallationSecret::new(secret), Arc::clone(&self.clock));
        let process = Arc::new(CopiedSessions::new(store, copies, secret, clock));
        let following = Arc::clone(&process);
        self.followers.spawn(async move { following.follow().await });
        // Until the first poll of the feed.
        for _ in 0..3 {
            self.pass(STEP).await;
        }
        process
    }

    async fn pass(&self, time: Duration) {
        advance(time).await;
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
    }

    /// Looks up a session; returns whether it is valid, and whether the store was asked.
    async fn who(
        &self,
        process: &CopiedSessions,
        number: usize,
        since: Option<FeedPosition>,
    ) -> (bool, bool) {
        let before = self.store.asked.load(Ordering::SeqCst);
        let call = Call::Who { session: self.store.known[number].0, since };
        let is_valid = process.call(call).await.is_ok();
        (is_valid, self.store.asked.load(Ordering::SeqCst) > before)
    }

    fn copy(&self, number: usize) -> Vec<u8> {
        self.copies.0.lock()[&self.store.known[number].0].clone()
    }

    fn put(&self, number: usize, copy: Vec<u8>) {
        self.copies.0.lock().insert(self.store.known[number].0, copy);
    }
}

const VALID_FROM_STORE: (bool, bool) = (true, true);
const VALID_FROM_COPY: (bool, bool) = (true, false);
const ENDED: (bool, bool) = (false, true);

#[tokio::test]
async fn a_session_that_one_process_has_looked_up_another_finds_without_the_store() {
    let mut fixture = Fixture::new(1).await;
    let (one, other) = (fixture.process().await, fixture.process().await);
    let place = Some(fixture.store.place());
    assert_eq!(fixture.who(&one, 0, place).await, VALID_FROM_STORE);
    assert_eq!(fixture.who(&one, 0, place).await, VALID_FROM_COPY);
    assert_eq!(fixture.who(&other, 0, place).await, VALID_FROM_COPY);
}

/// Whenever it ends between two polls of the feed.
#[tokio::test]
async fn a_copy_answers_for_at_most_a_third_of_a_second_after_its_session_has_ended() {
    for phase in 0..31 {
        let mut fixture = Fixture::new(1).await;
        let (one, other) = (fixture.process().await, fixture.process().await);
        let place = Some(fixture.store.place());
        assert_eq!(fixture.who(&one, 0, place).await, VALID_FROM_STORE);
        fixture.pass(STEP * phase).await;
        fixture.store.end(0);
        fixture.pass(POLL + STEP).await;
        assert_eq!(fixture.who(&one, 0, place).await, ENDED);
        assert_eq!(fixture.who(&other, 0, place).await, ENDED);
        tokio::time::resume();
    }
}

/// The caller's cache would hold the old state from then on.
#[tokio::test]
async fn no_copy_answers_a_caller_that_knows_of_a_later_change() {
    let mut fixture = Fixture::new(2).await;
    let process = fixture.process().await;
    let before = Some(fixture.store.place());
    assert_eq!(fixture.who(&process, 0, before).await, VALID_FROM_STORE);
    fixture.store.end(0);
    let after = Some(fixture.store.place());
    assert_eq!(fixture.who(&process, 0, before).await, VALID_FROM_COPY, "not polled yet");
    assert_eq!(fixture.who(&process, 0, after).await, ENDED);
    assert_eq!(fixture.who(&process, 0, None).await, ENDED);
}

/// As after a failover to a server that missed the last writes.
#[tokio::test]
async fn an_old_copy_that_comes_back_answers_no_more() {
    let mut fixture = Fixture::new(1).await;
    let process = fixture.process().await;
    assert_eq!(fixture.who(&process, 0, None).await, VALID_FROM_STORE);
    let old = fixture.copy(0);
    fixture.store.end(0);
    fixture.pass(POLL).await;
    let place = Some(fixture.store.place());
    fixture.put(0, old.clone());
    assert_eq!(fixture.who(&process, 0, place).await, ENDED);
    fixture.pass(Duration::from_mins(2)).await;
    fixture.pass(POLL).await;
    assert_eq!(fixture.who(&process, 0, place).await, ENDED, "the change is not tracked any more");
    let started = fixture.process().await;
    assert_eq!(fixture.who(&started, 0, place).await, ENDED, "the change was never seen");
}

#[tokio::test]
async fn a_forged_copy_does_not_answer() {
    let mut fixture = Fixture::new(2).await;
    let process = fixture.process().await;
    let foreign = fixture.process_with([8; 32]).await;
    let place = Some(fixture.store.place());
    for number in 0..2 {
        assert_eq!(fixture.who(&process, number, place).await, VALID_FROM_STORE);
    }
    let good = fixture.copy(0);
    let mut forged = vec![fixture.copy(1), good[..good.len() - 1].to_vec(), good[1..].to_vec()];
    forged.extend([vec![], vec![0; 32], vec![0; 33]]);
    for at in [0, 31, 32, good.len() / 2, good.len() - 1] {
        let mut copy = good.clone();
        copy[at] ^= 1;
        forged.push(copy);
    }
    for copy in forged {
        fixture.put(0, copy.clone());
        assert_eq!(fixture.who(&process, 0, place).await, VALID_FROM_STORE, "{copy:?}");
    }
    fixture.put(0, good);
    assert_eq!(fixture.who(&process, 0, place).await, VALID_FROM_COPY);
    assert_eq!(fixture.who(&foreign, 0, place).await, VALID_FROM_STORE, "of another secret");
}

#[tokio::test]
async fn without_the_feed_the_store_answers() {
    let mut fixture = Fixture::new(1).await;
    let process = fixture.process().await;
    let place = Some(fixture.store.place());
    assert_eq!(fixture.who(&process, 0, place).await, VALID_FROM_STORE);
    fixture.store.is_silent.store(true, Ordering::SeqCst);
    fixture.pass(Duration::from_millis(800)).await;
    assert_eq!(fixture.who(&process, 0, place).await, VALID_FROM_STORE);
}

#[tokio::test]
async fn a_copy_of_an_expired_session_does_not_answer() {
    let mut fixture = Fixture::new(1).await;
    let process = fixture.process().await;
    let place = Some(fixture.store.place());
    assert_eq!(fixture.who(&process, 0, place).await, VALID_FROM_STORE);
    fixture.clock.advance_seconds(3_600);
    assert!(fixture.who(&process, 0, place).await.1);
}

/// Neither process has read the change from the feed by then.
#[tokio::test]
async fn a_process_reads_its_own_change_although_there_is_an_older_copy() {
    let (engine, _folder) = open();
    let (clock, copies) = (Arc::new(ManualClock::at(at(10))), Arc::<Copies>::default());
    let hasher = Arc::new(Argon2Pool::new(1, 100).unwrap());
    let service = accounts(&engine, hasher, &clock, &Arc::default());
    let accounts_process = Arc::new(CopiedSessions::new(
        Arc::new(service),
        Arc::clone(&copies) as Arc<dyn SessionCopies>,
        InstallationSecret::new([7; 32]),
        Arc::clone(&clock) as Arc<_>,
    ));
    let cache = CachedAccounts::new(Arc::clone(&accounts_process) as Arc<dyn Backend>, clock);
    let cache = Arc::new(cache);
    let mut followers = JoinSet::new();
    let (following, below) = (Arc::clone(&cache), Arc::clone(&accounts_process));
    followers.spawn(async move { tokio::join!(following.follow(), below.follow()).0 });
    let stores = account_stores(&engine);
    let account = stores.sign_up().await;
    for turn in 0..20 {
        let sessions =
            [begun(&stores, &account).await.digest, begun(&stores, &account).await.digest];
        for session in sessions {
            until("a copy is made", async || {
                accounts_process.call(Call::who(session)).await.unwrap();
                copies.0.lock().contains_key(&session)
            })
            .await;
        }
        // Every other time the first session is in the cache, so that both ways to the copy are tried.
        if turn % 2 == 0 {
            cache.call(Call::who(sessions[0])).await.unwrap();
        }
        let nickname = format!("turn {turn}");
        let edit = OwnAccountCall::Edit(ProfileChange {
            nickname: Some(Nickname::parse(&nickname).unwrap()),
            ..ProfileChange::default()
        });
        cache.call(Call::Own { session: sessions[0], call: edit }).await.unwrap();
        for session in sessions {
            let Reply::Who(me) = cache.call(Call::who(session)).await.unwrap() else { panic!() };
            assert_eq!(me.account.nickname.as_str(), nickname);
        }
    }
}
