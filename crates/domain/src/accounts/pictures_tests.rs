//! Under concurrent changes and disconnects, the picture in use is stored and no other one is.

use std::{collections::HashMap, ops::RangeInclusive, pin::pin};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream, stream::BoxStream};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::*;
use crate::{
    Error, OsRandom,
    accounts::{AccountId, Nickname, OwnAccountCall, Role, Session, SessionId, Username},
    pictures::{PICTURES_PER_CALL_MAX, PictureDecoder},
};

/// A decoder that returns the upload.
struct Copies;

#[async_trait]
impl PictureDecoder for Copies {
    async fn decode(&self, upload: Bytes, shape: Shape) -> Result<Picture> {
        Ok(Picture::new(shape, [upload.clone(), upload]))
    }
}

/// A picture store in memory, whose removals wait for permits.
struct Kept {
    pictures: Mutex<HashMap<PictureId, Picture>>,
    leave_to_remove: Semaphore,
    /// The pictures that cannot be removed.
    stuck: Mutex<Vec<PictureId>>,
    /// The times in which a sweep counted as recent; empty when the last one was forgotten.
    recent: Mutex<Vec<RangeInclusive<Timestamp>>>,
}

#[async_trait]
impl PictureStore for Kept {
    async fn put(&self, id: PictureId, picture: Picture) -> Result<()> {
        self.pictures.lock().insert(id, picture);
        Ok(())
    }

    async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>> {
        Ok(self.pictures.lock().get(&id).and_then(|picture| picture.of(size).cloned()))
    }

    async fn remove(&self, id: PictureId) -> Result<()> {
        self.leave_to_remove.acquire().await.unwrap().forget();
        if self.stuck.lock().contains(&id) {
            return Err(Error::unavailable("read-only"));
        }
        self.pictures.lock().remove(&id);
        Ok(())
    }

    async fn begin_sweep(&self, recent: RangeInclusive<Timestamp>) -> Result<bool> {
        self.recent.lock().push(recent);
        Ok(true)
    }

    async fn forget_sweep(&self) -> Result<()> {
        self.recent.lock().clear();
        Ok(())
    }

    fn put_before(&self, _: Timestamp) -> BoxStream<'_, Result<PictureId>> {
        let all: Vec<_> = self.pictures.lock().keys().copied().map(Ok).collect();
        stream::iter(all).boxed()
    }
}

/// One account. Setting its picture waits for a permit, and fails with the queued errors.
struct One {
    account: Mutex<Account>,
    refusals: Mutex<Vec<Error>>,
    leave_to_set: Semaphore,
}

#[async_trait]
impl Backend for One {
    async fn call(&self, call: Call) -> Result<Reply> {
        match call {
            Call::Own { call: OwnAccountCall::SetPicture(picture), .. } => {
                self.leave_to_set.acquire().await.unwrap().forget();
                if let Some(refused) = self.refusals.lock().pop() {
                    return Err(refused);
                }
                let mut account = self.account.lock();
                let former = std::mem::replace(&mut account.picture, picture);
                Ok(Reply::PictureSet { account: account.clone(), former })
            }
            Call::Pictured(asked) => {
                let named = self.account.lock().picture;
                Ok(Reply::Pictured(asked.into_iter().filter(|id| named == Some(*id)).collect()))
            }
            call => panic!("{call:?}"),
        }
    }
}

/// Tasks on the test's runtime.
struct Spawned;

impl Tasks for Spawned {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

struct Scene {
    one: Arc<One>,
    kept: Arc<Kept>,
    pictures: Pictures,
    me: SignedIn,
}

const SESSION: SessionDigest = SessionDigest([0; 32]);

/// Creates a scene with these numbers of permits.
fn scene(sets: usize, removals: usize) -> Scene {
    let username = Username::parse("ada").unwrap();
    let account = Account {
        id: AccountId(1),
        nickname: Nickname::from(&username),
        username,
        email: None,
        role: Role::Member,
        has_password: true,
        epoch: 1,
        created_at: Timestamp::UNIX_EPOCH,
        banned_at: None,
        picture: None,
    };
    let session = Session {
        id: SessionId(uuid::Uuid::nil()),
        account: account.id,
        created_at: Timestamp::UNIX_EPOCH,
        expires_at: Timestamp::MAX,
        agent: String::new(),
        authenticated_at: None,
    };
    let me = SignedIn { account: account.clone(), session };
    let one = Arc::new(One {
        account: Mutex::new(account),
        refusals: Mutex::default(),
        leave_to_set: Semaphore::new(sets),
    });
    let kept = Arc::new(Kept {
        pictures: Mutex::default(),
        leave_to_remove: Semaphore::new(removals),
        stuck: Mutex::default(),
        recent: Mutex::default(),
    });
    let (backend, store): (Arc<dyn Backend>, Arc<dyn PictureStore>) = (one.clone(), kept.clone());
    let tasks: Arc<dyn Tasks> = Arc::new(Spawned);
    let with = WithPictures { backend, store: store.clone(), tasks: tasks.clone() };
    let accounts = AccountsClient::new(Arc::new(with));
    let (decoder, random) = (Arc::new(Copies), Arc::new(OsRandom));
    let keeper = PictureKeeper::new(decoder, store, random, tasks);
    let pictures = Pictures::new(accounts, keeper);
    Scene { one, kept, pictures, me }
}

impl Scene {
    async fn set(&self, upload: &'static str) -> Result<Account> {
        let picture = self.pictures.decoded(Bytes::from_static(upload.as_bytes())).await?;
        self.pictures.set(SESSION, &self.me, picture).await
    }

    /// Whether the account's picture is this one, is stored, and is the only one stored.
    fn shows(&self, upload: &str) -> bool {
        let named = self.one.account.lock().picture;
        let kept = self.kept.pictures.lock();
        let is_there = named.is_some_and(|id| {
            kept.get(&id).is_some_and(|it| it.of(PictureSize::Large).unwrap() == upload)
        });
        is_there && kept.len() == 1
    }

    /// Stores pictures that are not assigned.
    async fn unused_pictures(&self, count: usize) -> Vec<PictureId> {
        let picture = self.pictures.decoded(Bytes::from_static(b"unused")).await.unwrap();
        let ids: Vec<_> = (0..count).map(|_| PictureId::draw(2, &picture, &OsRandom)).collect();
        for id in &ids {
            self.kept.put(*id, picture.clone()).await.unwrap();
        }
        ids
    }

    /// Waits until all running tasks are blocked.
    async fn settled(&self) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_picture_that_was_set_again_survives_the_late_removal_of_its_first_setting() {
    let scene = scene(9, 0);
    scene.set("x").await.unwrap();
    // The removals of the previous pictures, x and then y, wait while x is set again.
    let mut y = pin!(scene.set("y"));
    assert!((&mut y).now_or_never().is_none());
    scene.settled().await;
    let mut x = pin!(scene.set("x"));
    assert!((&mut x).now_or_never().is_none());
    scene.settled().await;
    assert_eq!(scene.kept.pictures.lock().len(), 3);
    scene.kept.leave_to_remove.add_permits(2);
    y.await.unwrap();
    x.await.unwrap();
    assert!(scene.shows("x"));
}

#[tokio::test]
async fn of_two_uploads_of_one_file_the_failure_of_one_leaves_the_other() {
    for fails_first in [true, false] {
        let scene = scene(0, 9);
        let (mut first, mut second) = (pin!(scene.set("x")), pin!(scene.set("x")));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        scene.settled().await;
        for fails in [fails_first, !fails_first] {
            if fails {
                scene.one.refusals.lock().push(Error::conflict("changed elsewhere"));
            }
            scene.one.leave_to_set.add_permits(1);
            scene.settled().await;
        }
        let outcomes = [first.await.is_ok(), second.await.is_ok()];
        assert_eq!(outcomes.iter().filter(|is_ok| **is_ok).count(), 1);
        assert!(scene.shows("x"), "{outcomes:?}");
    }
}

#[tokio::test]
async fn a_picture_change_completes_after_its_caller_disconnects() {
    let scene = scene(0, 0);
    assert!(scene.set("x").now_or_never().is_none());
    scene.one.leave_to_set.add_permits(1);
    scene.settled().await;
    assert!(scene.shows("x"));
    // The caller disconnects before the account is changed.
    assert!(scene.set("y").now_or_never().is_none());
    scene.settled().await;
    assert_eq!(scene.kept.pictures.lock().len(), 2);
    scene.one.leave_to_set.add_permits(1);
    scene.settled().await;
    scene.kept.leave_to_remove.add_permits(1);
    scene.settled().await;
    assert!(scene.shows("y"));
    // A refused picture is removed.
    assert!(scene.set("z").now_or_never().is_none());
    scene.one.refusals.lock().push(Error::conflict("changed elsewhere"));
    scene.one.leave_to_set.add_permits(1);
    scene.kept.leave_to_remove.add_permits(1);
    scene.settled().await;
    assert!(scene.shows("y"));
}

#[tokio::test]
async fn a_picture_stays_stored_while_the_outcome_of_setting_it_is_unknown() {
    let scene = scene(9, 9);
    scene.one.refusals.lock().push(Error::unavailable("gone"));
    assert!(scene.set("x").await.is_err());
    assert_eq!(scene.kept.pictures.lock().len(), 1);
    assert_eq!(scene.pictures.sweep(Timestamp::UNIX_EPOCH).await.unwrap(), 1);
    assert_eq!(scene.kept.pictures.lock().len(), 0);
}

#[tokio::test]
async fn a_sweep_keeps_the_picture_in_use() {
    let scene = scene(9, 9_999);
    scene.set("x").await.unwrap();
    scene.unused_pictures(3 * PICTURES_PER_CALL_MAX).await;
    assert_eq!(
        scene.pictures.sweep(Timestamp::UNIX_EPOCH).await.unwrap(),
        3 * PICTURES_PER_CALL_MAX
    );
    assert!(scene.shows("x"));
}

#[tokio::test]
async fn a_sweep_passes_over_a_picture_that_cannot_be_removed() {
    let scene = scene(9, 9);
    let unused = scene.unused_pictures(3).await;
    scene.kept.stuck.lock().push(unused[0]);
    assert_eq!(scene.pictures.sweep(Timestamp::UNIX_EPOCH).await.unwrap(), 2);
    assert_eq!(scene.kept.pictures.lock().len(), 1);
}

#[tokio::test]
async fn a_sweep_that_fails_leaves_no_record() {
    let scene = scene(9, 99);
    let all = scene.unused_pictures(30).await;
    scene.kept.stuck.lock().extend(all);
    assert!(scene.pictures.sweep(Timestamp::UNIX_EPOCH).await.is_err());
    assert_eq!(*scene.kept.recent.lock(), []);
    let tried = 99 - scene.kept.leave_to_remove.available_permits();
    assert!(tried < 12, "it tried to remove {tried} pictures");
}

#[tokio::test]
async fn a_sweep_that_is_dated_in_the_future_is_not_recent() {
    let scene = scene(9, 9);
    scene.pictures.sweep(Timestamp::UNIX_EPOCH).await.unwrap();
    let recent = scene.kept.recent.lock().pop().unwrap();
    let minute = SignedDuration::from_mins(1);
    for (minutes, is_recent) in [(-50, false), (-40, true), (10, true), (20, false)] {
        assert_eq!(recent.contains(&(Timestamp::UNIX_EPOCH + minute * minutes)), is_recent);
    }
}
