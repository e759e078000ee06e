//! Pictures in the web tier, which decodes and stores them; the owners' apps, such as the accounts tier, know only
//! their ids.

use std::{collections::HashSet, future::Future, sync::Arc};

use bytes::Bytes;
use futures_channel::oneshot;
use futures_util::{FutureExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};

use super::{
    PICTURES_PER_CALL_MAX, Picture, PictureDecoder, PictureId, PictureOwners, PictureSize,
    PictureStore, Shape,
};
use crate::{Error, Random, Result, Tasks, security};

/// The age at which a picture without an owner counts as abandoned. A picture is stored before it is assigned, by
/// some seconds at most.
const UNNAMED: SignedDuration = SignedDuration::from_hours(1);

/// The shortest time between the beginnings of two sweeps. Each process would sweep every hour.
const SWEEP_SPACING: SignedDuration = SignedDuration::from_mins(45);

/// How far the clocks of processes and stores may differ. A sweep that began later than this in the future was recorded
/// by a clock that was wrong.
const CLOCK_ERROR_MAX: SignedDuration = SignedDuration::from_mins(15);

/// The failed removals after which a sweep fails.
const FAILURES_MAX: usize = 10;

/// Decodes, stores and removes pictures. Clones share it.
#[derive(Clone)]
pub struct PictureKeeper {
    decoder: Arc<dyn PictureDecoder>,
    store: Arc<dyn PictureStore>,
    random: Arc<dyn Random>,
    tasks: Arc<dyn Tasks>,
}

impl PictureKeeper {
    /// Creates a keeper that stores in `store` what `decoder` makes, under ids drawn from `random`; `tasks`
    /// completes the work of callers that disconnect.
    pub fn new(
        decoder: Arc<dyn PictureDecoder>,
        store: Arc<dyn PictureStore>,
        random: Arc<dyn Random>,
        tasks: Arc<dyn Tasks>,
    ) -> Self {
        Self { decoder, store, random, tasks }
    }

    /// Decodes an upload, which is freed afterwards.
    pub async fn decoded(&self, upload: Bytes, shape: Shape) -> Result<Picture> {
        self.decoder.decode(upload, shape).await
    }

    /// Stores a picture of the account or bot numbered `owner` and then has `name` assign it, so that an assigned
    /// picture always exists. It is removed if the assignment is known to have failed.
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
        run_to_completion(&*self.tasks, kept).await
    }

    /// Removes a picture that is no longer assigned.
    pub async fn remove(&self, id: PictureId) {
        let store = Arc::clone(&self.store);
        let removed = async move {
            remove(&*store, id).await;
            Ok(())
        };
        drop(run_to_completion(&*self.tasks, removed).await);
    }

    /// Returns a picture in one size, if it exists.
    pub async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>> {
        self.store.get(id, size).await
    }

    /// Removes pictures that `owners` do not have and that are abandoned at `now`; returns their number. They
    /// remain when a process stops between storing and assigning one, or when the store fails to remove one. Does
    /// nothing if a process that shares the store began a sweep within [`SWEEP_SPACING`], unless that one failed.
    pub async fn sweep(&self, owners: &dyn PictureOwners, now: Timestamp) -> Result<usize> {
        let ago = |age| now.saturating_sub(age).unwrap_or(Timestamp::MIN);
        let until = now.saturating_add(CLOCK_ERROR_MAX).unwrap_or(Timestamp::MAX);
        if !self.store.begin_sweep(ago(SWEEP_SPACING)..=until).await? {
            return Ok(0);
        }
        let removed = self.remove_unassigned(owners, ago(UNNAMED)).await;
        if removed.is_err() {
            // If this fails as well, the next sweep begins later.
            drop(self.store.forget_sweep().await);
        }
        removed
    }

    async fn remove_unassigned(
        &self,
        owners: &dyn PictureOwners,
        before: Timestamp,
    ) -> Result<usize> {
        let old = self.store.put_before(before);
        let mut pages = old.try_chunks(PICTURES_PER_CALL_MAX).map_err(|failed| failed.1);
        let (mut removed, mut failures) = (0, 0);
        while let Some(page) = pages.try_next().await? {
            let mut unassigned: HashSet<PictureId> = page.iter().copied().collect();
            for assigned in owners.assigned(page).await? {
                unassigned.remove(&assigned);
            }
            for id in unassigned {
                match self.store.remove(id).await {
                    Ok(()) => removed += 1,
                    Err(error) if failures == FAILURES_MAX => return Err(error),
                    Err(_) => failures += 1,
                }
            }
        }
        Ok(removed)
    }
}

/// Whether the error says that nothing was done; otherwise the outcome is unknown.
fn was_not_done(error: &Error) -> bool {
    !matches!(error, Error::Unavailable { .. } | Error::Internal(_))
}

/// Removes an unassigned picture, best effort: the store logs a failure, and a sweep removes the rest.
pub(crate) async fn remove(store: &dyn PictureStore, id: PictureId) {
    drop(store.remove(id).await);
}

/// Runs `work` to completion even if the caller is dropped, and returns its result.
pub(crate) async fn run_to_completion<T: Send + 'static>(
    tasks: &dyn Tasks,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let (done, receiver) = oneshot::channel();
    let work = security::carried(work);
    tasks.spawn(async move { drop(done.send(work.await)) }.boxed());
    receiver.await.unwrap_or_else(|dropped| Err(Error::internal(dropped)))
}
