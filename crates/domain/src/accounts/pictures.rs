//! The service of profile pictures, and the removal of those that no account has any more.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;

use super::{Account, AccountsClient, Backend, Call, Reply, SessionDigest, SignedIn};
use crate::{
    Result, Tasks,
    pictures::{
        Picture, PictureId, PictureKeeper, PictureOwners, PictureSize, PictureStore, Shape, remove,
        run_to_completion,
    },
};

/// The service of profile pictures. Clones share it.
#[derive(Clone)]
pub struct Pictures {
    accounts: AccountsClient,
    keeper: PictureKeeper,
}

impl Pictures {
    /// Creates the service for `accounts`; `keeper` decodes and stores the pictures.
    pub fn new(accounts: AccountsClient, keeper: PictureKeeper) -> Self {
        Self { accounts, keeper }
    }

    /// Decodes an uploaded profile picture; the upload is freed afterwards.
    pub async fn decoded(&self, upload: Bytes) -> Result<Picture> {
        self.keeper.decoded(upload, Shape::Square).await
    }

    /// Stores `picture` and sets it as that of the account signed in by `session`.
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

    /// Removes the picture of the account signed in by `session`.
    pub async fn take_away(&self, session: SessionDigest) -> Result<Account> {
        Ok(self.accounts.set_picture(session, None).await?.0)
    }

    /// Returns a picture in one size, if it exists.
    pub async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>> {
        self.keeper.get(id, size).await
    }

    /// Deletes stored pictures that no account has, if at `now` they are too old to be assigned still; returns
    /// their number.
    pub async fn sweep(&self, now: Timestamp) -> Result<usize> {
        self.keeper.sweep(&self.accounts, now).await
    }
}

#[async_trait]
impl PictureOwners for AccountsClient {
    async fn assigned(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>> {
        AccountsClient::pictured(self, pictures).await
    }
}

/// A [`Backend`] with a picture store: a picture that a call replaces or removes, or whose account it deletes, is
/// deleted before the call is acknowledged.
pub struct WithPictures {
    /// The inner backend.
    pub backend: Arc<dyn Backend>,
    /// The picture store.
    pub store: Arc<dyn PictureStore>,
    /// Completes calls whose callers disconnect.
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
        run_to_completion(&*self.tasks, called).await
    }
}

/// Returns the picture that no account has after the call.
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
