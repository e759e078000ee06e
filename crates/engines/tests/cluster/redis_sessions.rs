//! Copies of sessions in Redis.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use lodge_domain::accounts::{SessionCopies, SessionDigest};
use lodge_engines::redis::Redis;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    redis::{redis, within},
    redis_server::OwnRedis,
};

const KEPT: Duration = Duration::from_mins(1);

/// The copies of one process, and the task that follows the masters.
struct Process {
    copies: Arc<dyn SessionCopies>,
    _follower: JoinSet<()>,
}

impl Process {
    /// Starts a process, and waits until it keeps copies.
    async fn start(redis: Redis, kept: Duration) -> Self {
        let (copies, mut follower) = (redis.session_copies(kept), JoinSet::new());
        follower.spawn(async move { redis.follow().await });
        let process = Self { copies, _follower: follower };
        let first = fresh();
        within(Duration::from_secs(30), async || {
            process.copies.keep(first, b"first".to_vec()).await;
            process.find(first).await.is_some()
        })
        .await;
        process
    }

    async fn find(&self, session: SessionDigest) -> Option<Vec<u8>> {
        self.copies.find(session).await
    }
}

fn fresh() -> SessionDigest {
    SessionDigest::of(&Uuid::new_v4().to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_one_process_keeps_another_finds() {
    let one = Process::start(redis("lodge-sessions"), KEPT).await;
    let other = Process::start(redis("lodge-sessions"), KEPT).await;
    let stranger = Process::start(redis("lodge-sessions-of-another"), KEPT).await;
    let (session, copy) = (fresh(), b"\x00\xffbytes".to_vec());
    assert_eq!(other.find(session).await, None);
    one.copies.keep(session, copy.clone()).await;
    // By any replica.
    within(Duration::from_secs(5), async || {
        join_all((0..8).map(|_| other.find(session))).await.iter().all(Option::is_some)
    })
    .await;
    assert_eq!(other.find(session).await, Some(copy));
    assert_eq!(stranger.find(session).await, None, "of another deployment");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_expires() {
    let process = Process::start(redis("lodge-sessions"), Duration::from_millis(500)).await;
    let session = fresh();
    within(Duration::from_secs(5), async || {
        process.copies.keep(session, b"copy".to_vec()).await;
        process.find(session).await.is_some()
    })
    .await;
    within(Duration::from_secs(5), async || process.find(session).await.is_none()).await;
}

/// Each of two masters has copies; the loss of one loses only its own, and no lookup waits for it for long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_master_takes_only_its_copies_with_it() {
    let mut servers = OwnRedis::start(&["one", "two"], false);
    let redis = Redis::new(servers.options("lodge")).unwrap();
    let process = Process::start(redis, KEPT).await;
    let sessions: Vec<_> = (0..100).map(|_| fresh()).collect();
    let found = async || {
        join_all(sessions.iter().map(|session| process.find(*session)))
            .await
            .iter()
            .flatten()
            .count()
    };
    within(Duration::from_secs(30), async || {
        join_all(sessions.iter().map(|session| process.copies.keep(*session, b"copy".to_vec())))
            .await;
        found().await == sessions.len()
    })
    .await;
    servers.kill(0);
    let began = Instant::now();
    let left = found().await;
    // The deadline of an answer in this test is 500 ms.
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!((20..=80).contains(&left), "{left} of 100");
}
