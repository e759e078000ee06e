//! Pictures where the public is answered: decoded and kept there, while the accounts tier learns no more
//! of one than its name.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    Account, AccountsClient, Backend, Call, PictureDecoder, PictureId, PictureSize, PictureStore,
    Reply, SessionDigest,
};
use crate::{Error, Result};

/// The service. Clones share it.
#[derive(Clone)]
pub struct Pictures {
    /// Whose they are.
    pub accounts: AccountsClient,
    /// Makes squares of them.
    pub decoder: Arc<dyn PictureDecoder>,
    /// Keeps them.
    pub store: Arc<dyn PictureStore>,
}

impl Pictures {
    /// Sets somebody's picture. It is kept before the account is told of it, so that no account names a
    /// picture that is not there.
    pub async fn set(&self, session: SessionDigest, upload: Bytes) -> Result<Account> {
        let me = self.accounts.who(session).await?.account;
        let squares = self.decoder.squares(upload).await?;
        let id = PictureId::of(me.id, &squares);
        self.store.put(id, squares).await?;
        let set = self.accounts.set_picture(session, Some(id)).await;
        let is_nobodys = set.as_ref().is_err_and(was_not_done) && me.picture != Some(id);
        if is_nobodys {
            remove(&*self.store, id).await;
        }
        set
    }

    /// Takes somebody's picture away.
    pub async fn take_away(&self, session: SessionDigest) -> Result<Account> {
        self.accounts.set_picture(session, None).await
    }

    /// A picture in one size, if there is such a one.
    pub async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>> {
        self.store.get(id, size).await
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
}

#[async_trait]
impl Backend for WithPictures {
    async fn call(&self, call: Call) -> Result<Reply> {
        let reply = self.backend.call(call).await?;
        let gone = match &reply {
            Reply::PictureSet { account, former } => {
                former.filter(|former| account.picture != Some(*former))
            }
            Reply::Deleted { picture } => *picture,
            _ => None,
        };
        if let Some(id) = gone {
            remove(&*self.store, id).await;
        }
        Ok(reply)
    }
}

/// Best effort: nothing names it any more, and whoever keeps it notes a failure.
async fn remove(store: &dyn PictureStore, id: PictureId) {
    drop(store.remove(id).await);
}
