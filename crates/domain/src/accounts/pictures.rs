//! Pictures where the public is answered: decoded and kept there, while whoever has one, as the accounts tier, learns
//! no more of it than its name.

use std::{collections::HashSet, future::Future, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures_channel::oneshot;
use futures_util::{FutureExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};

use super::{
    Account, AccountsClient, Backend, Call, PICTURES_ASKED, Picture, PictureDecoder, PictureId,
    PictureSize, PictureStore, Pictured, Reply, SessionDigest, Shape, SignedIn,
};
use crate::{Error, Random, Result, Tasks};

/// How old a picture is that nobody has, before it is taken for one that nobody will have. It is kept
/// before it is named, some seconds at most.
const UNNAMED: SignedDuration = SignedDuration::from_hours(1);

/// Makes pictures and keeps them. Clones share it.
#[derive(Clone)]
pub struct PictureKeeper {
    /// Makes them.
    pub decoder: Arc<dyn PictureDecoder>,
    /// Keeps them.
    pub store: Arc<dyn PictureStore>,
    /// Makes their names.
    pub random: Arc<dyn Random>,
    /// What goes on when somebody who has sent one goes away.
    pub tasks: Arc<dyn Tasks>,
}

impl PictureKeeper {
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

/// Pictures of accounts. Clones share it.
#[derive(Clone)]
pub struct Pictures {
    /// Whose they are.
    pub accounts: AccountsClient,
    /// Makes and keeps them.
    pub keeper: PictureKeeper,
}

impl Pictures {
    /// Makes a picture of somebody of what they sent, which is let go of then.
    pub async fn decoded(&self, upload: Bytes) -> Result<Picture> {
        self.keeper.decoded(upload, Shape::Square).await
    }

    /// Sets the picture of somebody who is signed in by `session`.
    pub async fn set(
        &self,
        session: SessionDigest,
        me: &SignedIn,
        picture: Picture,
    ) -> Result<Account> {
        let accounts = self.accounts.clone();
        let name = async move |id| accounts.set_picture(session, Some(id)).await;
        self.keeper.keep(me.account.id.0, picture, name).await
    }

    /// Takes somebody's picture away.
    pub async fn take_away(&self, session: SessionDigest) -> Result<Account> {
        self.accounts.set_picture(session, None).await
    }

    /// A picture in one size, if there is such a one.
    pub async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>> {
        self.keeper.get(id, size).await
    }

    /// Removes what no account has, and none will have at `now`; how many pictures that were.
    pub async fn sweep(&self, now: Timestamp) -> Result<usize> {
        self.keeper.sweep(&self.accounts, now).await
    }
}

#[async_trait]
impl Pictured for AccountsClient {
    async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>> {
        AccountsClient::pictured(self, pictures).await
    }
}

/// Whether it is known that nothing was done; what nobody knows may have been.
fn was_not_done(error: &Error) -> bool {
    !matches!(error, Error::Unavailable { .. } | Error::Internal(_))
}

/// A [`Backend`] beside which pictures are kept: what an account has no more, because it has another one or
/// is deleted, is removed when that is acknowledged.
pub struct WithPictures {
    /// The backend.
    pub backend: Arc<dyn Backend>,
    /// Keeps the pictures.
    pub store: Arc<dyn PictureStore>,
    /// What goes on when whoever has called goes away.
    pub tasks: Arc<dyn Tasks>,
}

#[async_trait]
impl Backend for WithPictures {
    async fn call(&self, call: Call) -> Result<Reply> {
        if !call.may_take_a_picture() {
            return self.backend.call(call).await;
        }
        let (backend, store) = (Arc::clone(&self.backend), Arc::clone(&self.store));
        let called = async move {
            let reply = backend.call(call).await?;
            if let Some(id) = gone(&reply) {
                remove(&*store, id).await;
            }
            Ok(reply)
        };
        to_its_end(&*self.tasks, called).await
    }
}

/// The picture that is nobody's any more.
fn gone(reply: &Reply) -> Option<PictureId> {
    match reply {
        Reply::PictureSet { account, former } => {
            former.filter(|former| account.picture != Some(*former))
        }
        Reply::Deleted { picture } => *picture,
        _ => None,
    }
}

/// Best effort: nothing names it any more, whoever keeps it notes a failure, and what stays is swept up.
async fn remove(store: &dyn PictureStore, id: PictureId) {
    drop(store.remove(id).await);
}

/// What comes of work that goes on also if nobody waits for it any more.
async fn to_its_end<T: Send + 'static>(
    tasks: &dyn Tasks,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let (done, receiver) = oneshot::channel();
    tasks.spawn(async move { drop(done.send(work.await)) }.boxed());
    receiver.await.unwrap_or_else(|dropped| Err(Error::internal(dropped)))
}

#[cfg(test)]
#[path = "pictures_tests.rs"]
mod tests;
