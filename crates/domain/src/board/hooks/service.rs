//! Adding and removing hooks.

use std::sync::Arc;

use super::{
    super::{BoardLog, Reach, Slug},
    Deliver, Hook, HookId, HookSecret, HookStore, HookUrl, NewHook,
};
use crate::{Clock, Error, Random, Result};

/// The service, for admins.
pub struct Hooks {
    /// Keeps them.
    pub store: Arc<dyn HookStore>,
    /// What happens in channels.
    pub log: Arc<dyn BoardLog>,
    /// Knows where nothing is sent.
    pub deliver: Arc<dyn Deliver>,
    /// Says what time it is.
    pub clock: Arc<dyn Clock>,
    /// Where secrets come from.
    pub random: Arc<dyn Random>,
}

impl Hooks {
    /// Adds a hook that is told what happens from now on; its secret can be had this once. [`Error::NotFound`] if there
    /// is no such channel.
    pub async fn add(&self, channel: Slug, url: HookUrl) -> Result<(Hook, HookSecret)> {
        self.deliver.check(&url)?;
        let present = self.log.events(channel.clone(), Reach::Tail, 1).await?.cursor;
        let secret = HookSecret::draw(&*self.random);
        let created_at = self.clock.now();
        let new = NewHook { channel, url, secret: secret.clone(), cursor: present, created_at };
        Ok((self.store.add(new).await?, secret))
    }

    /// Every hook, oldest first.
    pub async fn list(&self) -> Result<Vec<Hook>> {
        Ok(self.store.list().await?.into_iter().map(|(hook, _)| hook).collect())
    }

    /// Removes a hook; what is on its way to its receiver may still arrive.
    pub async fn remove(&self, id: HookId) -> Result<()> {
        if self.store.remove(id).await? {
            return Ok(());
        }
        Err(Error::not_found("there is no such hook"))
    }
}
