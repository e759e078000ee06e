//! Pictures where the public is answered: decoded and kept there, while whoever has one, as the accounts tier, learns
//! no more of it than its name.

use std::{collections::HashSet, future::Future, sync::Arc};

use bytes::Bytes;
use futures_channel::oneshot;
use futures_util::{FutureExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};

use super::{
    PICTURES_ASKED, Picture, PictureDecoder, PictureId, PictureSize, PictureStore, Pictured, Shape,
};
use crate::{Error, Random, Result, Tasks};

/// How old a picture is that nobody has, before it is taken for one that nobody will have. It is kept
/// before it is named, some seconds at most.
const UNNAMED: SignedDuration = SignedDuration::from_hours(1);

/// Makes pictures and keeps them. Clones share it.
#[derive(Clone)]
pub struct PictureKeeper {
    decoder: Arc<dyn PictureDecoder>,
    store: Arc<dyn PictureStore>,
    random: Arc<dyn Random>,
    tasks: Arc<dyn Tasks>,
}

impl PictureKeeper {
    /// Keeps in `store` what `decoder` makes, under names that `random` makes; `tasks` go on when somebody who has sent
    /// one goes away.
    pub fn new(
        decoder: Arc<dyn PictureDecoder>,
        store: Arc<dyn PictureStore>,
        random: Arc<dyn Random>,
        tasks: Arc<dyn Tasks>,
    ) -> Self {
        Self { decoder, store, random, tasks }
    }

    /// Makes a picture of what somebody sent, which is let go of then.
    pub async fn decoded(&self, upload: Bytes, shape: Shape) -> Result<Picture> {
        self.decoder.decode(upload, shape).await
    }

    /// Keeps a picture of the account, or the bot, of that number, and then has it named: nothing names what is not
    /// there. What is known not to be named is removed.
    pub async fn keep<T, F>(
        &self,
        owner: i64,
        picture: Picture,
        name: impl FnOnce(PictureId) -> F + Send + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        let id = PictureId::draw(owner, &picture, &*self.random);
        let store = Arc::clone(&self.store);
        let kept = async move {
            store.put(id, picture).await?;
            let named = name(id).await;
            if named.as_ref().is_err_and(was_not_done) {
                remove(&*store, id).await;
            }
            named
        };
        to_its_end(&*self.tasks, kept).await
    }

    /// Removes a picture that nothing names any more.
    pub async fn remove(&self, id: PictureId) {
        let store = Arc::clone(&self.store);
        let removed = async move {
            remove(&*store, id).await;
            Ok(())
        };
        drop(to_its_end(&*self.tasks, removed).await);
    }

    /// A picture in one size, if there is such a one.
    pub async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>> {
        self.store.get(id, size).await
    }

    /// Removes what none of `owners` has and nobody will have at `now`; how many pictures that were. They are there
    /// because a process was stopped between keeping one and naming it, or because the store did not
    /// answer when one was to be removed.
    pub async fn sweep(&self, owners: &dyn Pictured, now: Timestamp) -> Result<usize> {
        let before = now.saturating_sub(UNNAMED).unwrap_or(Timestamp::MIN);
        let old = self.store.put_before(before);
        let mut pages = old.try_chunks(PICTURES_ASKED).map_err(|failed| failed.1);
        let mut removed = 0;
        while let Some(page) = pages.try_next().await? {
            let mut unnamed: HashSet<PictureId> = page.iter().copied().collect();
            for named in owners.pictured(page).await? {
                unnamed.remove(&named);
            }
            for id in unnamed {
                self.store.remove(id).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Whether it is known that nothing was done; what nobody knows may have been.
fn was_not_done(error: &Error) -> bool {
    !matches!(error, Error::Unavailable { .. } | Error::Internal(_))
}

/// Best effort: nothing names it any more, whoever keeps it notes a failure, and what stays is swept up.
pub(crate) async fn remove(store: &dyn PictureStore, id: PictureId) {
    drop(store.remove(id).await);
}

/// What comes of work that goes on also if nobody waits for it any more.
pub(crate) async fn to_its_end<T: Send + 'static>(
    tasks: &dyn Tasks,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let (done, receiver) = oneshot::channel();
    tasks.spawn(async move { drop(done.send(work.await)) }.boxed());
    receiver.await.unwrap_or_else(|dropped| Err(Error::internal(dropped)))
}
