//! Pictures of accounts.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;

use super::{Account, AccountsClient, Backend, Call, Reply, SessionDigest, SignedIn};
use crate::{
    Result, Tasks,
    pictures::{
        Picture, PictureId, PictureKeeper, PictureSize, PictureStore, Pictured, Shape, remove,
        to_its_end,
    },
};

/// Pictures of accounts. Clones share it.
#[derive(Clone)]
pub struct Pictures {
    accounts: AccountsClient,
    keeper: PictureKeeper,
}

impl Pictures {
    /// Of these accounts, made and kept by `keeper`.
    pub fn new(accounts: AccountsClient, keeper: PictureKeeper) -> Self {
        Self { accounts, keeper }
    }

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
        Ok(self.keeper.keep(me.account.id.0, picture, name).await?.0)
    }

    /// Takes somebody's picture away.
    pub async fn take_away(&self, session: SessionDigest) -> Result<Account> {
        Ok(self.accounts.set_picture(session, None).await?.0)
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

#[cfg(test)]
#[path = "pictures_tests.rs"]
mod tests;
